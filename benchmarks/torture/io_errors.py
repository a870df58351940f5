"""Errors of the disk: writes, syncs and reads of a store's files fail, once or from some moment on.

A shim of our own (`_faults.c`) is compiled and loaded into the writing process. A step is acknowledged or refused with
a cure; what was acknowledged is there when the disk works again. Files that numpy writes itself (parts of an index) are
written by the C library without a call that the shim sees; their sync fails all the same.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.torture._steps import State, apply_step, judge_store, take_steps
from benchmarks.torture._stores import create_store
from benchmarks.torture.task import Task, summarise

ABOUT = "failing writes, syncs and reads: a write is acknowledged or refused with a cure, and none is lost"
TRIALS, SHORT = 120, 3
KINDS = ("folder", "one file", "lance")
_SUFFIX = {"folder": "", "one file": ".sqlite", "lance": ".lance"}
_SOURCE = Path(__file__).with_name("_faults.c")
_STEPS = 8
_SECONDS = 600
"""After so many seconds a process counts as hanging."""


def campaign(task: Task) -> dict[str, Any]:
    """Trial n draws a kind of store, which call fails, from which one on, how often, and with which error."""
    home = task.stores.resolve()
    shim = home / "faults.so"
    reason = _compile(shim)
    if reason:
        return {"trials": 1, "outcomes": {"skipped": 1}, "failures": [], "skipped": reason}
    results = task.each(task.count(TRIALS, SHORT), lambda number: _trial(number, home, shim))
    shutil.rmtree(home, ignore_errors=True)
    report = summarise(results, ["lost", "half there", "unreadable", "an exception", "a crash", "a hang"])
    refused = sum(result["refused"] for result in results)
    if not refused and not task.short:
        report["failures"].append("no step was refused: no call failed, and the trials prove nothing")
    return {
        **report,
        "refused_steps": refused,
        "acknowledged_steps": sum(result["done"] for result in results),
    }


def _compile(shim: Path) -> str:
    """Compile the shim; why it cannot be, or nothing."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or sys.platform != "linux":
        return "there is no C compiler here, or this is not Linux"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(shim), str(_SOURCE), "-ldl"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    return made.stderr.strip()[:300] if made.returncode else ""


def _trial(number: int, home: Path, shim: Path) -> dict[str, Any]:
    drawn = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    folder = home / f"trial-{number}"
    folder.mkdir()
    address = str(folder / f"kb{_SUFFIX[kind]}")
    create_store(kind, address).close()
    state: State = {}
    for _, step, _ in take_steps(kind, address, number, 3):
        state = apply_step(state, step) if step else state
    fault = {
        "FAULT_PATH": str(folder),
        "FAULT_CALL": drawn.choices(("write", "sync", "read"), (5, 3, 3))[0],
        "FAULT_AFTER": str(drawn.randint(1, 80)),
        "FAULT_TIMES": str(drawn.choice((1, 2, 1_000_000))),
        "FAULT_ERRNO": str(drawn.choice((errno.EIO, errno.ENOSPC, errno.EDQUOT))),
    }
    what = f"{number}, {kind}, {' '.join(value for key, value in fault.items() if key != 'FAULT_PATH')}"
    command = [sys.executable, "-m", "benchmarks.torture._faulty_writer", kind, address, str(number + 1), str(_STEPS)]
    environment = {**os.environ, **fault, "LD_PRELOAD": str(shim)}
    try:
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
        lines, code, noise = ran.stdout.splitlines(), ran.returncode, ran.stderr
    except subprocess.TimeoutExpired:
        shutil.rmtree(folder)
        return {"what": what, "outcome": "a hang", "done": 0, "refused": 0}
    done, failed, bad, refused = 0, None, "", 0
    for line in lines:
        happened, step, error = json.loads(line)
        step = (step[0], [tuple(pair) for pair in step[1]]) if step else None
        if happened == "done":
            state, done = apply_step(state, step), done + 1
        else:
            failed, refused = step, 1
            bad = "" if happened == "refused" else "an exception"
            what += f": {error[:200]}"
    if code:
        bad, what = "a crash", f"{what}: {signal.Signals(-code).name if code < 0 else code} {noise[-200:]}"
    found = judge_store(address, state, failed)
    shutil.rmtree(folder)
    return {"what": what, **found, "outcome": bad or found["outcome"], "done": done, "refused": refused}
