"""Full and read-only disks: a store on a small file system of its own, in memory.

What is written is acknowledged or refused with a cure; what was acknowledged is there when there is room again.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.backend.addresses import open_backend
from assay.errors import AssayError
from benchmarks.torture._steps import State, apply_step, judge_store, read_state, take_steps
from benchmarks.torture._stores import create_store, make_chunk
from benchmarks.torture.task import Task, summarise

ABOUT = "full and read-only disks: a write is acknowledged or refused with a cure, and none is lost"
TRIALS, SHORT = 120, 4
KINDS = ("folder", "one file", "lance")
_SUFFIX = {"folder": "", "one file": ".sqlite", "lance": ".lance"}
_DISK = 24 << 20
_STEPS = 12


def campaign(task: Task) -> dict[str, Any]:
    """Trial n draws a kind of store, whether the disk is full or read-only, and how much room is left."""
    place = task.stores / "disk"
    try:
        with _mounted(place):
            results = task.each(task.count(TRIALS, SHORT), lambda number: _trial(number, place))
    except _CannotMount as error:
        return {"trials": 1, "outcomes": {"skipped": 1}, "failures": [], "skipped": str(error)}
    report = summarise(results, ["lost", "half there", "unreadable", "an exception", "a wrong answer"])
    refused = sum(result["refused"] for result in results)
    if not refused:
        report["failures"].append("no step was refused: the disk was never full, and the trials prove nothing")
    return {**report, "refused_steps": refused, "acknowledged_steps": sum(result["done"] for result in results)}


class _CannotMount(Exception):
    """No file system of our own can be made here."""


@contextlib.contextmanager
def _mounted(place: Path) -> Iterator[None]:
    """A file system in memory; it needs the rights of an administrator."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(place)]
    try:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise _CannotMount(str(error)) from error
    if made.returncode:
        raise _CannotMount(f"mount: {made.stderr.strip()}")
    try:
        yield
    finally:
        _remount(place, "rw")
        subprocess.run(["umount", "-l", str(place)], check=False, capture_output=True)


def _remount(place: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(place)], check=True, capture_output=True)


def _trial(number: int, place: Path) -> dict[str, Any]:
    drawn = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    for path in place.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    address = str(place / f"kb{_SUFFIX[kind]}")
    with contextlib.closing(create_store(kind, address)):
        pass
    state: State = {}
    for _, step, _ in take_steps(kind, address, number, 4):
        state = apply_step(state, step) if step else state
    read_only = number % 4 == 3
    if read_only:
        result = _try_read_only(address, place, state)
    else:
        result = _try_full(kind, address, place, number, state, drawn.randrange(400_000))
    how = "read-only" if read_only else "full"
    return {"what": f"{number}, {kind}, {how}, {result.pop('detail', '')}", **result}


def _try_full(kind: str, address: str, place: Path, number: int, state: State, room: int) -> dict[str, Any]:
    """Fill the disk up to some bytes, write until a step is refused, make room again."""
    filler = place / "filler"
    _fill(filler, place, room)
    done, failed, outcome, detail = 0, None, "", ""
    for what, step, error in take_steps(kind, address, number + 100_000, _STEPS):
        if what == "done" and step is not None:
            state = apply_step(state, step)
            done += 1
        else:
            failed, detail, outcome = step, error, "" if what == "refused" else "an exception"
    if not outcome:
        outcome, detail = _read_full(address, state, failed, detail)
    filler.unlink()
    found = judge_store(address, state, failed)
    bad = outcome or found["outcome"]
    return {**found, "outcome": bad, "done": done, "refused": int(bool(detail)), "detail": detail}


def _read_full(address: str, state: State, failed: Any, detail: str) -> tuple[str, str]:
    """Reading needs no room, or says what it needs."""
    try:
        with contextlib.closing(open_backend(address)) as backend:
            found = read_state(backend)
    except AssayError as error:
        return ("", detail) if error.cure else ("an exception", f"without a cure: {error}")
    except Exception as error:
        return "an exception", f"reading: {type(error).__name__}: {error}"
    right = found in [state, *([apply_step(state, failed)] if failed else [])]
    return ("", detail) if right else ("a wrong answer", detail)


def _fill(filler: Path, place: Path, room: int) -> None:
    free = shutil.disk_usage(place).free
    with filler.open("wb") as file:
        for start in range(0, max(0, free - room), 1 << 16):
            file.write(bytes(min(1 << 16, free - room - start)))


def _try_read_only(address: str, place: Path, state: State) -> dict[str, Any]:
    """Reading answers as before, writing is refused; afterwards everything works again."""
    outcome, detail, refused = "", "", 0
    _remount(place, "ro")
    try:
        with contextlib.closing(open_backend(address)) as backend:
            if read_state(backend) != state:
                outcome = "a wrong answer"
            try:
                backend.put([(make_chunk("new", 1), None)])
                outcome = "a wrong answer"
            except AssayError as error:
                refused, detail = 1, f"{error.message} → {error.cure}"
                outcome = outcome or ("" if error.cure else "an exception")
    except Exception as error:
        outcome, detail = "an exception", f"{type(error).__name__}: {error}"
    finally:
        _remount(place, "rw")
    found = judge_store(address, state, None)
    return {**found, "outcome": outcome or found["outcome"], "done": 0, "refused": refused, "detail": detail}
