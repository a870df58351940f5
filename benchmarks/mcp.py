"""Measures the start of the MCP server: from the start of the process to the first answer from the store.

Every round starts a new process and exchanges messages over its standard input and output: the handshake, the list of
tools, and a recall, by words without a model, and by words and vectors where the recall has to load the model. A
process that only imports the SDK, the minimum for any server built with it, alternates with them.

    python -m benchmarks.mcp
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from assay.embed import default_spec
from assay.memory import service
from benchmarks.measure import write_receipt

ROUNDS = 10
MEMORIES = 500
QUESTION = "where does heron number 123 nest?"
SDK = [sys.executable, "-c", "import sys, mcp.server.lowlevel, mcp.server.stdio; print(flush=True); sys.stdin.read()"]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}


def fill_memory(folder: Path, embedder: str) -> Path:
    with service.open(folder, embedder=embedder) as memory:
        for number in range(MEMORIES):
            memory.store(
                f"Heron number {number} nests at lake {number % 37}, seen in week {number}", on_duplicate="force"
            )
    return folder


def cpu_seconds(process: int) -> float:
    """CPU seconds of a running process, all its threads together, in steps of 10 ms."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Session:
    """One server process and the messages exchanged with it."""

    def __init__(self, store: Path, environment: dict[str, str]) -> None:
        self.start = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "assay.cli", "mcp", "--store", str(store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self.number = 0
        self.times: dict[str, float] = {}

    def send(self, method: str, params: dict[str, Any], has_answer: bool = True) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.number += has_answer
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": self.number} if has_answer else {})
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        response: dict[str, Any] = json.loads(self.process.stdout.readline()) if has_answer else {}
        return response

    def mark(self, name: str) -> None:
        """Records the time since the start: wall clock and CPU."""
        self.times[name] = time.perf_counter() - self.start
        self.times[f"{name}, CPU"] = cpu_seconds(self.process.pid)


def run_session(store: Path, environment: dict[str, str]) -> dict[str, float]:
    """Seconds from the start of the process to each answer of one session."""
    session = Session(store, environment)
    session.send("initialize", HELLO)
    session.mark("handshake")
    session.send("notifications/initialized", {}, has_answer=False)
    session.send("tools/list", {})
    session.mark("list of tools")
    recall = {"name": "memory_recall", "arguments": {"query": QUESTION}}
    answer = session.send("tools/call", recall)
    session.mark("first recall")
    assert "Heron number 123 " in answer["result"]["structuredContent"]["hits"][0]["memory"]["text"], answer
    start = time.perf_counter()
    session.send("tools/call", recall)
    session.times["second recall, alone"] = time.perf_counter() - start
    session.process.communicate()
    return session.times


def sdk_alone() -> dict[str, float]:
    """Seconds until a process that only imports the SDK is ready."""
    start = time.perf_counter()
    process = subprocess.Popen(SDK, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    times = {"imported": time.perf_counter() - start, "imported, CPU": cpu_seconds(process.pid)}
    process.communicate()
    return times


def summary(rounds: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Fastest and median of the rounds in milliseconds; the fastest was disturbed least by other processes."""
    return {
        name: {
            "fastest_ms": round(1000.0 * min(times[name] for times in rounds), 1),
            "median_ms": round(1000.0 * float(np.median([times[name] for times in rounds])), 1),
        }
        for name in rounds[0]
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        cases = {"words only": (fill_memory(scratch / "words", "none"), {"ASSAY_HOME": str(scratch / "home")})}
        if default_spec() != "none":
            cases["with the model"] = (fill_memory(scratch / "model", "auto"), {})
        rounds_of: dict[str, list[dict[str, float]]] = {}
        for _ in range(ROUNDS):
            for name, case in cases.items():
                rounds_of.setdefault(name, []).append(run_session(*case))
            rounds_of.setdefault("the SDK alone", []).append(sdk_alone())
    times_of = {name: summary(rounds) for name, rounds in rounds_of.items()}
    ready, floor = times_of["words only"], times_of["the SDK alone"]
    receipt = {
        "memories": MEMORIES,
        "rounds": ROUNDS,
        "load average at the end": round(os.getloadavg()[0], 1),
        "times": times_of,
        "ratios": {
            "first recall by words / importing the SDK": round(
                ready["first recall"]["fastest_ms"] / floor["imported"]["fastest_ms"], 2
            ),
            "the same, CPU": round(ready["first recall, CPU"]["fastest_ms"] / floor["imported, CPU"]["fastest_ms"], 2),
        },
    }
    print(json.dumps(receipt, indent=1))
    print(write_receipt("mcp", receipt))


if __name__ == "__main__":
    main()
