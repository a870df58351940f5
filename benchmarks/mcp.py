"""How soon is the MCP server ready? From the start of the process to the first answer from the store.

A new process for every round, spoken to over its standard input and output: the handshake, the list of tools, and a
recall, by words on a machine without a model, and by words and meaning where the recall has to load the model. In the
same rounds, in turns: a process that only imports the SDK, which is the floor of any server that is made with it.

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


def filled(folder: Path, embedder: str) -> Path:
    with service.open(folder, embedder=embedder) as memory:
        for number in range(MEMORIES):
            memory.store(
                f"Heron number {number} nests at lake {number % 37}, seen in week {number}", on_duplicate="force"
            )
    return folder


def spent(process: int) -> float:
    """CPU seconds of a running process, all its threads together, in steps of 10 ms."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Talk:
    """One server process and one conversation with it."""

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

    def say(self, method: str, params: dict[str, Any], answered: bool = True) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.number += answered
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": self.number} if answered else {})
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline()) if answered else {}
        return found

    def mark(self, name: str) -> None:
        """Note the time since the start, on the wall and on the CPU."""
        self.times[name] = time.perf_counter() - self.start
        self.times[f"{name}, CPU"] = spent(self.process.pid)


def conversation(store: Path, environment: dict[str, str]) -> dict[str, float]:
    """Seconds from the start of the process to each answer."""
    talk = Talk(store, environment)
    talk.say("initialize", HELLO)
    talk.mark("handshake")
    talk.say("notifications/initialized", {}, answered=False)
    talk.say("tools/list", {})
    talk.mark("list of tools")
    recall = {"name": "memory_recall", "arguments": {"query": QUESTION}}
    answer = talk.say("tools/call", recall)
    talk.mark("first recall")
    assert "Heron number 123 " in answer["result"]["structuredContent"]["hits"][0]["memory"]["text"], answer
    start = time.perf_counter()
    talk.say("tools/call", recall)
    talk.times["second recall, alone"] = time.perf_counter() - start
    talk.process.communicate()
    return talk.times


def sdk_alone() -> dict[str, float]:
    """The same for a process that imports the SDK, says so, and waits to be let go."""
    start = time.perf_counter()
    process = subprocess.Popen(SDK, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    times = {"imported": time.perf_counter() - start, "imported, CPU": spent(process.pid)}
    process.communicate()
    return times


def summary(rounds: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Fastest and median of the rounds, in milliseconds; the fastest is the one that others disturbed least."""
    return {
        name: {
            "fastest_ms": round(1000.0 * min(told[name] for told in rounds), 1),
            "median_ms": round(1000.0 * float(np.median([told[name] for told in rounds])), 1),
        }
        for name in rounds[0]
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        cases = {"words only": (filled(scratch / "words", "none"), {"ASSAY_HOME": str(scratch / "home")})}
        if default_spec() != "none":
            cases["with the model"] = (filled(scratch / "model", "auto"), {})
        told: dict[str, list[dict[str, float]]] = {}
        for _ in range(ROUNDS):
            for name, case in cases.items():
                told.setdefault(name, []).append(conversation(*case))
            told.setdefault("the SDK alone", []).append(sdk_alone())
    found = {name: summary(rounds) for name, rounds in told.items()}
    ready, floor = found["words only"], found["the SDK alone"]
    receipt = {
        "memories": MEMORIES,
        "rounds": ROUNDS,
        "load average at the end": round(os.getloadavg()[0], 1),
        "times": found,
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
