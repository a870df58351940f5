from __future__ import annotations

import contextlib
import json
import stat
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from assay.engine import deadline_executor as deadlines
from assay.sources.open_cache import close_all
from tests.permissions import allow_test_servers

__all__ = ["allow_test_servers"]

ROWS = [
    {
        "docid": "#aaaaaa",
        "score": 0.9,
        "file": "qmd://notes/keys.md",
        "line": 3,
        "title": "Keys",
        "context": "Notes of the team",
        "snippet": "rotate the key",
    },
    {"docid": "#bbbbbb", "score": 0.52, "file": "qmd://notes/zeta.md", "line": 1, "title": "Zeta", "snippet": "second"},
    {
        "docid": "#cccccc",
        "score": 0.52,
        "file": "qmd://notes/alpha.md",
        "line": 1,
        "title": "Alpha",
        "snippet": "third",
    },
]
"""What QMD prints: scores to two decimals, so they tie."""

QMD = """
import json, os, subprocess, sys, time
arguments = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(arguments) + "\\n")
mode, text, rest, options = arguments[0], arguments[1], arguments[2:], {{}}
if mode not in ("search", "vsearch", "query") or text.startswith("-"):
    sys.exit("Unknown command: " + mode)
while rest:
    name = rest.pop(0)
    if name not in ("-n", "-c", "--json"):
        sys.exit("Unknown option " + name)
    options[name] = True if name == "--json" else rest.pop(0)
if options.get("-c", "notes") != "notes":
    sys.exit("Collection not found: " + options["-c"])
assert options["--json"]
how = {how!r}
if how in ("slow", "deaf"):
    open({log!r} + ".pid", "w").write(str(os.getpid()))
    if how == "deaf":
        os.close(1), os.close(2)
    time.sleep(600)
if how == "crash":
    print("Error: no such collection", file=sys.stderr)
    sys.exit(3)
if how == "killed":
    os.kill(os.getpid(), 9)
if how == "bad":
    print("Loading model ...")
    sys.exit(0)
if how == "endless":
    while True:
        sys.stdout.write("[1, 2, 3]\\n" * 1000)
if how == "rubbish":
    sys.stdout.write("\\n[" * 500_000)
    sys.exit(0)
if how == "bytes":
    sys.stdout.buffer.write(bytes(range(256)) * 100)
    sys.exit(0)
if how == "noisy":
    print("Loading model ...")
    print("[1/3] tokens")
    print("complaining " * 100_000, file=sys.stderr)
if how in ("orphan", "orphaned slow"):
    child = subprocess.Popen(["sleep", "600"])
    open({log!r} + ".pid", "w").write(str(child.pid))
    if how == "orphaned slow":
        time.sleep(600)
rows = json.loads({rows!r})
print(json.dumps(rows[:int(options["-n"])] if isinstance(rows, list) else rows, indent=2))
"""


@pytest.fixture
def qmd(tmp_path: Path) -> Callable[..., str]:
    """A real program that takes QMD's flags, no others, and prints its JSON; `how` says how it behaves."""

    def made(how: str = "good", rows: Any = None) -> str:
        log, script = tmp_path / "calls", tmp_path / f"qmd-{how}"
        body = textwrap.dedent(QMD).format(log=str(log), how=how, rows=json.dumps(ROWS if rows is None else rows))
        script.write_text(f"#!{sys.executable}\n{body}")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return str(script)

    return made


class Server(ThreadingHTTPServer):
    """A loopback server with QMD's `POST /query`; `how` says how it behaves."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.how = "good"
        self.asked: list[dict[str, Any]] = []
        self.release = threading.Event()
        self.hung_up = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, **body})
        how = self.server.how
        if how == "slow":
            self.connection.settimeout(30)
            if not self.connection.recv(1):  # the client hangs up when it is cancelled
                self.server.hung_up.set()
            return
        if how == "trickle":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):  # the client hangs up
                while not self.server.release.wait(0.05):
                    self.wfile.write(b" ")
            self.server.hung_up.set()
            return
        if how == "crash":
            self.close_connection = True
            return
        if how == "bad":
            self._send(200, b"<html>")
        elif how == "error":
            self._send(500, b'{"error": "no such collection"}')
        elif how == "list":
            self._send(200, b"[]")
        else:
            self._send(200, json.dumps({"results": ROWS[: body["limit"]]}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.release.set()
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancelled search is waited for until its thread is gone, also on a busy machine; only one that does not heed
    its cancelling is still under way then."""
    monkeypatch.setattr(deadlines, "GRACE_S", 30.0)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_all()
