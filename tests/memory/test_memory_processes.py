"""Four real processes store a thousand memories into one folder at the same time; none is lost, none is doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from assay import memory

EACH = 250
SHARED = 5

STORER = """
import sys
from assay import memory
folder, who, each, shared = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with memory.open(folder, embedder="none") as mem:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(each):
        done = mem.store(f"Process {who} learned fact {number}.", scope=f"agent:{who}")
        print(done.action, done.id, flush=True)
        if number < shared:
            print("shared", mem.store(f"All of them learned thing {number}.").action, flush=True)
"""


def storers(folder: Path, count: int, each: int) -> list[subprocess.Popen[str]]:
    """That many processes, which begin together."""
    built = [
        subprocess.Popen(
            [sys.executable, "-c", STORER, str(folder), str(who), str(each), str(SHARED)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for who in range(count)
    ]
    for child in built:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in built:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    return built


def test_a_thousand_stores_by_four_processes_lose_none(tmp_path: Path) -> None:
    message = [child.communicate()[0].split("\n") for child in storers(tmp_path / "m", 4, EACH)]
    stored = [line.split()[1] for lines in message for line in lines if line.startswith("stored ")]
    assert len(stored) == len(set(stored)) == 4 * EACH
    first = [line for lines in message for line in lines if line == "shared stored"]
    assert len(first) == SHARED  # what all of them said was stored by the first who said it
    with memory.open(tmp_path / "m") as mem:
        scopes = [f"agent:{who}" for who in range(4)]
        assert {entry.id for entry in mem.list(scope=scopes, limit=None)} == set(stored)
        assert mem.stats("global").memories == SHARED


def test_what_a_killed_process_had_been_told_is_stored(tmp_path: Path) -> None:
    (child,) = storers(tmp_path / "m", 1, 100_000)
    assert child.stdout is not None
    messages = []
    while len(messages) < 20:
        line = child.stdout.readline().split()
        messages += [line[1]] if line[0] == "stored" else []
    os.kill(child.pid, signal.SIGKILL)
    messages += [line.split()[1] for line in child.communicate()[0].split("\n")[:-1] if line.startswith("stored ")]
    with memory.open(tmp_path / "m") as mem:
        cached = {entry.id for entry in mem.list(scope="agent:0", limit=None)}
        assert set(messages) <= cached
        assert len(cached) <= len(messages) + 1  # the one it was at
        assert mem.store("The lock of the dead is free.").action == "stored"
