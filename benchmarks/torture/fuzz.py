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

import assay
from assay import replay as recordings
from assay import where
from assay.bench import receipt as receipts
from assay.cascade.bank.bank import open_bank
from assay.config import load as config
from assay.errors import AssayError
from assay.ingest.chunk_worker import ChunkSetup, FileTask
from assay.ingest.chunker import PROFILES
from assay.ingest.file_reader import MODULE
from assay.ingest.reader_limits import STALL_SECONDS, explain_crash
from assay.memory import service
from assay.store.rows import encode_row
from assay.util.worker_pool import SingleWorker, WorkerCrashed
from benchmarks.torture._mutations import mutate, replace_values
from benchmarks.torture._seeds import (
    FILES,
    FILTERS,
    HYBRID,
    MESSAGES,
    RECORDING,
    make_bank,
    read_presets,
    read_receipt_seed,
)
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
_FAILED = ("crashed", "an exception", "no answer", "a server error", "over its memory")


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
    run("npz", partial(_open_npz, make_bank(task.stores)))
    run("receipts", partial(_read_receipt, read_receipt_seed(), task.stores / "receipt.json"))
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
    text = mutate(draw.choice(FILTERS), draw).decode("utf-8", "replace")

    def parse() -> None:
        found = where.parse(text)
        if where.parse(str(found)) != found:
            raise ValueError("prints another filter")

    return _refuse(parse, f"filter {text[:80]!r}")


def _load_config(draw: random.Random) -> dict[str, Any]:
    text = mutate(draw.choice(read_presets()), draw).decode("utf-8", "replace")
    return _refuse(lambda: config.loads(text), f"config {text[:80]!r}")


def _open_npz(bank: Path, draw: random.Random) -> dict[str, Any]:
    path = bank.with_name("hostile.npz")
    path.write_bytes(mutate(bank.read_bytes(), draw))
    return _refuse(lambda: open_bank(path, verify=True), "npz")


def _read_receipt(seed: bytes, path: Path, draw: random.Random) -> dict[str, Any]:
    data = mutate(seed, draw)
    if draw.random() < 0.5:  # values of another kind, under a digest that fits
        try:
            content = json.loads(seed)
            replace_values(content["canonical"], draw)
            content["digest"] = receipts.compute_digest(content["canonical"])
            data = json.dumps(content).encode()
        except (ValueError, TypeError):
            pass
    path.write_bytes(data)
    return _refuse(lambda: receipts.read(path), "receipt")


def _load_recording(base: assay.KnowledgeBase, draw: random.Random) -> dict[str, Any]:
    recording = json.loads(json.dumps(RECORDING))
    replace_values(recording, draw)
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
        message = json.loads(json.dumps(draw.choice(MESSAGES)))
        if draw.random() < 0.5:
            replace_values(message, draw)
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

        bank = make_bank(scratch)
        index = scratch / "index"
        if not index.exists():
            build_index(open_bank(bank), index, Recipe(nlist=1))
        self._app = make_app(open_cascade(bank, index, None, "cascade"))

    def __enter__(self) -> _HttpServer:
        return self

    def __exit__(self, *details: Any) -> None: ...

    def send(self, draw: random.Random) -> dict[str, Any]:
        body = json.loads(json.dumps(HYBRID))
        if draw.random() < 0.5:
            replace_values(body, draw)
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
