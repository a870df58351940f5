"""Hostile files and messages: readers, chunker, filters, configs, NPZ files, receipts, recordings, MCP and HTTP."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import numpy as np

import assay
from assay import replay as recordings
from assay import where
from assay.bench import receipt as receipts
from assay.cascade.bank.bank import open_bank, write_bank
from assay.config import load as config
from assay.errors import AssayError
from assay.ingest.chunk_worker import ChunkSetup, FileTask
from assay.ingest.chunker import PROFILES
from assay.ingest.file_reader import MODULE
from assay.ingest.reader_limits import STALL_SECONDS, explain_crash
from assay.memory import service
from assay.store.rows import encode_row
from assay.util.worker_pool import SingleWorker, WorkerCrashed
from benchmarks.torture._mutations import mutate
from benchmarks.torture.task import Task, summarise

ABOUT = "hostile files and messages: every parser answers or refuses with a reason, no reader passes its memory"
COUNTS = {
    "files": (4_000, 60),
    "filters": (1_500, 60),
    "configs": (1_000, 40),
    "npz": (500, 20),
    "receipts": (700, 20),
    "recordings": (500, 20),
    "mcp": (900, 20),
    "http": (900, 20),
}
"""Target → trials in the full and in the short form."""
MEMORY_MB = 256
_ROOT = Path(__file__).parents[2]
_FAILED = ("crashed", "an exception", "no answer", "a server error", "over its memory")


def _pdf() -> bytes:
    content = b"BT /F 9 Tf (a page about keys) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F<</Type/Font/Subtype/Type1"
        b"/BaseFont/Helvetica>>>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>"


def _docx() -> bytes:
    from io import BytesIO

    import docx

    document = docx.Document()
    document.add_heading("Keys", 1)
    document.add_paragraph("Rotate the signing key every month.")
    document.add_table(2, 2)
    buffer = BytesIO()
    document.save(buffer)
    return buffer.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    ".md": lambda: (
        b"---\ntitle: Keys\ntags: [a, b]\n---\n# Keys\n\nText with `code` and [a link](x).\n\n| a | b |\n|--|--|\n"
    ),
    ".rst": lambda: b"Keys\n====\n\n.. note:: text\n\n- item\n\n::\n\n  code\n",
    ".txt": lambda: b"A plain text.\n\nWith two paragraphs.\n",
    ".html": lambda: (
        b"<html><head><title>K</title><meta name=date content=2025-01-01></head><body><h1>Keys</h1>"
        b"<p>Text <b>bold</b><table><tr><td>1<td>2</table><ul><li>x</ul><select><option>y</select></body></html>"
    ),
    ".csv": lambda: b'id,title,text\n1,Keys,"Rotate, monthly"\n2,More,x\n',
    ".tsv": lambda: b'id\ttitle\n1\t"Keys\n',
    ".jsonl": lambda: b'{"id": "a", "text": "keys", "metadata": {"n": 1}}\n{"text": "more"}\n',
    ".eml": lambda: (
        b"Subject: =?utf-8?q?Keys?=\nFrom: a@b\nTo: c@d, e@f\nDate: Mon, 1 Jan 2025 00:00:00 +0000\n"
        b'Content-Type: multipart/alternative; boundary="x"\n\n'
        b"--x\n\nplain\n--x\nContent-Type: text/html\n\n<p>page\n--x--\n"
    ),
    ".mbox": lambda: (
        b"From a@b Mon Jan  1 00:00:00 2025\nSubject: one\n\ntext\n\nFrom c@d Mon\nSubject: two\n\n>From x\n"
    ),
    ".pdf": _pdf,
    ".docx": _docx,
}
_FILTERS = (
    b'lang = "en" and created >= 2025-01-01 and not (kind in ("draft", "note"))',
    b"`First Name` ~ 'ada' or n != -1.5e2 or t is not missing",
    b"((a = 1 or b = true) and (c < 2025-06-01T12:00:00.5+02:00))",
)
_MESSAGES = (
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_store", "arguments": {"text": "x"}}},
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "memory_recall", "arguments": {"query": "x"}},
    },
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "memory_list", "arguments": {"limit": 3}}},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/list"},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
)


def campaign(task: Task) -> dict[str, Any]:
    seeds = {suffix: make() for suffix, make in FILES.items()}
    memory = os.environ.get("ASSAY_READER_MEMORY")
    os.environ["ASSAY_READER_MEMORY"] = str(MEMORY_MB)
    try:
        results = _run_all(task, seeds)
    finally:
        os.environ.pop("ASSAY_READER_MEMORY")
        if memory is not None:
            os.environ["ASSAY_READER_MEMORY"] = memory
    report = summarise([one for found in results.values() for one in found], _FAILED)
    peaks = [one["grown_mb"] for one in results["files"]]
    return {
        **report,
        "targets": {name: len(found) for name, found in results.items()},
        "reader_memory_limit_mb": MEMORY_MB,
        "reader_memory_peak_mb": max(peaks, default=0),
    }


def _run_all(task: Task, seeds: dict[str, bytes]) -> dict[str, list[dict[str, Any]]]:
    results: dict[str, list[dict[str, Any]]] = {}

    def run(name: str, trial: Callable[[random.Random], dict[str, Any]]) -> None:
        results[name] = task.each(task.count(*COUNTS[name]), lambda n: trial(random.Random(f"{name} {n}")), name)

    with _Reader(task.stores) as reader:
        run("files", partial(_read_file, reader, seeds))
    run("filters", _parse_filter)
    run("configs", _load_config)
    run("npz", partial(_open_npz, _make_bank(task.stores)))
    run("receipts", partial(_read_receipt, _sample_receipt(), task.stores / "receipt.json"))
    with assay.open(task.stores / "kb", embedder="none") as base:
        base.add([{"id": "a", "text": "how to rotate the signing key"}])
        run("recordings", partial(_load_recording, base))
    with _McpServer(task.stores) as server:
        run("mcp", server.send)
    with _HttpServer(task.stores) as web:
        run("http", web.send)
    return results


def _refuse(action: Callable[[], object], what: str) -> dict[str, Any]:
    """Run a parser: it may answer or refuse with an error that has a cure; everything else is a failure."""
    try:
        action()
    except AssayError as error:
        return {"outcome": "refused" if error.message else "an exception", "what": what}
    except Exception as error:
        return {"outcome": "an exception", "what": f"{what} {type(error).__name__}: {error}"[:300]}
    return {"outcome": "answered", "what": what}


# -- files


class _Reader:
    """A reader process under a tight limit, and how much memory it took for its files."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._worker = SingleWorker(MODULE, ChunkSetup(PROFILES["default"], encode_row), STALL_SECONDS)
        self._first: dict[int, float] = {}  # process → its memory after the first file

    def __enter__(self) -> _Reader:
        self._worker.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._worker.__exit__(None, None, None)

    def read(self, suffix: str, content: bytes) -> tuple[str, float]:
        """The outcome for one file, and by how many MB the process has ever grown since its first file."""
        path = self._scratch / f"hostile{suffix}"
        path.write_bytes(content)
        try:
            kinds = [kind for part in self._worker.run([FileTask(path, "hostile", "")]) for _, kind, _ in part]
        except WorkerCrashed as error:
            return f"crashed: {explain_crash(error, len(content)).text}", 0.0
        process = self._worker.pid or 0
        first = self._first.setdefault(process, _read_memory(process, "VmRSS"))
        return ("refused" if "problem" in kinds else "answered"), _read_memory(process, "VmHWM") - first


def _read_memory(process: int, name: str) -> float:
    """MB of a process, as the system counts them."""
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def _read_file(reader: _Reader, seeds: dict[str, bytes], draw: random.Random) -> dict[str, Any]:
    suffix = draw.choice(sorted(seeds))
    content = mutate(seeds[draw.choice(sorted(seeds)) if draw.random() < 0.1 else suffix], draw)
    outcome, grown = reader.read(suffix, content)
    what = f"{suffix} {outcome}"
    outcome = "crashed" if outcome.startswith("crashed") else outcome
    return {"outcome": "over its memory" if grown > MEMORY_MB else outcome, "what": what, "grown_mb": round(grown)}


# -- filters, configs, columns, receipts, recordings


def _parse_filter(draw: random.Random) -> dict[str, Any]:
    text = mutate(draw.choice(_FILTERS), draw).decode("utf-8", "replace")

    def parse() -> None:
        found = where.parse(text)
        if where.parse(str(found)) != found:
            raise ValueError("prints another filter")

    return _refuse(parse, f"filter {text[:80]!r}")


def _load_config(draw: random.Random) -> dict[str, Any]:
    seed = config.read_toml(draw.choice(config.preset_names())).encode()
    text = mutate(seed, draw).decode("utf-8", "replace")
    return _refuse(lambda: config.loads(text), f"config {text[:80]!r}")


def _make_bank(scratch: Path) -> Path:
    vectors = np.eye(8, dtype=np.float32)
    path = scratch / "bank.npz"
    write_bank(path, vectors, np.arange(8, dtype=np.int64), np.arange(8, dtype=np.uint16), np.zeros(8, dtype=np.int16))
    return path


def _open_npz(bank: Path, draw: random.Random) -> dict[str, Any]:
    path = bank.with_name("hostile.npz")
    path.write_bytes(mutate(bank.read_bytes(), draw))
    return _refuse(lambda: open_bank(path, verify=True), "npz")


def _sample_receipt() -> bytes:
    return min((_ROOT / "receipts" / "lab").glob("*.json"), key=lambda path: path.stat().st_size).read_bytes()


def _read_receipt(seed: bytes, path: Path, draw: random.Random) -> dict[str, Any]:
    data = mutate(seed, draw)
    if draw.random() < 0.5:  # values of another kind, under a digest that fits
        try:
            content = json.loads(seed)
            _replace_values(content["canonical"], draw)
            content["digest"] = receipts.compute_digest(content["canonical"])
            data = json.dumps(content).encode()
        except (ValueError, TypeError):
            pass
    path.write_bytes(data)
    return _refuse(lambda: receipts.read(path), "receipt")


def _replace_values(node: Any, draw: random.Random) -> None:
    """Replace some values of a JSON document, in place."""
    pairs = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for key, value in draw.sample(pairs, min(len(pairs), 3)):
        if draw.random() < 0.3:
            node[key] = draw.choice([None, -1, 1e300, "", "x" * 1_000, [], {}, True, [[[]]]])
        else:
            _replace_values(value, draw)


def _load_recording(base: assay.KnowledgeBase, draw: random.Random) -> dict[str, Any]:
    recording = {
        "schema": 2,
        "query": {"text": "x", "vector": None, "at": None, "where": "a = 1", "scope": None, "extra": {}, "id": ""},
        "k": 3,
        "snapshot": {"version": 1, "digest": "d"},
        "pipeline": {"legs": {"bm25": {}}},
        "texts": False,
        "steps": [{"name": "bm25", "outcome": "ran", "ms": 1.0}],
        "answer": "d",
    }
    _replace_values(recording, draw)
    text = mutate(json.dumps(recording).encode(), draw).decode("utf-8", "replace")
    text = json.dumps(recording) if draw.random() < 0.7 else text
    return _refuse(lambda: recordings.replay(recordings.loads(text), base), f"recording {text[:200]!r}")


# -- servers


class _McpServer:
    """`assay mcp` on standard input and output; after each message it must still answer a ping."""

    def __init__(self, scratch: Path) -> None:
        store = scratch / "mcp"
        service.open(store, embedder="none").close()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "assay.cli", "mcp", "--store", str(store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._pings = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "0"}}
        self._write(json.dumps({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}).encode())
        self._write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    def __enter__(self) -> _McpServer:
        return self

    def __exit__(self, *details: Any) -> None:
        self._process.kill()
        self._process.communicate()

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.replace(b"\n", b" ") + b"\n")
        self._process.stdin.flush()

    def send(self, draw: random.Random) -> dict[str, Any]:
        message = json.loads(json.dumps(draw.choice(_MESSAGES)))
        if draw.random() < 0.5:
            _replace_values(message, draw)
            line = json.dumps(message).encode()
        else:
            line = mutate(json.dumps(message).encode(), draw)
        self._pings += 1
        ping = f"ping-{self._pings}"
        try:
            self._write(line)
            self._write(json.dumps({"jsonrpc": "2.0", "id": ping, "method": "ping"}).encode())
        except BrokenPipeError:
            return {"outcome": "no answer", "what": f"mcp {line[:150]!r}"}
        assert self._process.stdout is not None
        for answer in self._process.stdout:
            if f'"{ping}"'.encode() in answer:
                return {"outcome": "answered", "what": "mcp"}
        return {"outcome": "no answer", "what": f"mcp {line[:150]!r}"}


class _HttpServer:
    """The cascade's HTTP routes in this process: no status of 500 or above."""

    def __init__(self, scratch: Path) -> None:
        from assay.cascade.bank.index_build import Recipe, build_index
        from assay.cascade.service import open_cascade
        from assay.serve.http.hybrid import make_app

        bank = _make_bank(scratch)
        index = scratch / "index"
        if not index.exists():
            build_index(open_bank(bank), index, Recipe(nlist=1))
        self._app = make_app(open_cascade(bank, index, None, "cascade"))

    def __enter__(self) -> _HttpServer:
        return self

    def __exit__(self, *details: Any) -> None: ...

    def send(self, draw: random.Random) -> dict[str, Any]:
        body = {"query_vec": [1.0, *[0.0] * 7], "k0": 5, "k1": 3, "k": 2, "context_ids": [1], "faiss": {"nprobe": 1}}
        if draw.random() < 0.5:
            _replace_values(body, draw)
            data = json.dumps(body).encode()
        else:
            data = mutate(json.dumps(body).encode(), draw)
        path = draw.choice(["/search/hybrid", "/search/hybrid", "/metrics/hitk_offline", "/metrics/latency", "/x"])
        headers = {draw.choice(["content-type", "x-a", "accept"]): "".join(chr(draw.randint(33, 126)) for _ in "abcd")}
        status = anyio.run(self._ask, draw.choice(["POST", "POST", "GET", "PUT"]), path, data, headers)
        return {"outcome": "a server error" if status >= 500 else "answered", "what": f"http {path} {data[:100]!r}"}

    async def _ask(self, method: str, path: str, data: bytes, headers: dict[str, str]) -> int:
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.request(method, path, content=data, headers=headers)).status_code
