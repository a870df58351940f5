"""Damages one file of a store and compares every answer with that of the undamaged store."""

from __future__ import annotations

import random
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.torture._damage import damage_file
from benchmarks.torture._probe import KINDS, ChildProcess, build_store, in_child, open_and_record, try_probe
from benchmarks.torture.task import Task, summarise

ABOUT = "flipped bits, zeroed blocks, cut, swapped and emptied files: no wrong answer without a word, no crash"
TRIALS = 2_000
FAILURES = ("WRONG", "CRASH", "HANG")


def campaign(task: Task) -> dict[str, Any]:
    """Trial n draws a store, a file of it (each kind of file as often), and a kind of damage."""
    home = task.stores
    kinds = KINDS if not task.short else KINDS[:2]
    stores = {kind: in_child(build_store, kind, home / f"sound-{kind}") for kind in kinds}
    expected = {kind: in_child(try_probe, kind, path) for kind, path in stores.items()}
    files = {kind: _list_files(path, kind) for kind, path in stores.items()}

    def trial(number: int) -> dict[str, Any]:
        drawn = random.Random(number)
        kind = kinds[number % len(kinds)]
        group = drawn.choice(sorted(files[kind]))
        name = drawn.choice(files[kind][group])
        place, pristine = (home / f"{use}-{number}{stores[kind].suffix}" for use in ("trial", "again"))
        _copy(stores[kind], place)
        try:
            if number % 3 == 0:  # a store whose files are recorded as verified
                children[kind].call(open_and_record, kind, place)
            target = place / name if place.is_dir() else place.with_name(place.name + name)
            what = damage_file(
                target, drawn, [place / other for other in files[kind][group]] if place.is_dir() else [target]
            )
            _copy(place, pristine)  # the first look may mend the store
            outcome, detail = _classify(children[kind].call(try_probe, kind, place), expected[kind])
            if outcome in FAILURES:  # in a process of its own, so that no earlier trial has a part in it
                outcome, detail = _classify(in_child(try_probe, kind, pristine), expected[kind])
        finally:
            _remove(place)
            _remove(pristine)
        return {"what": f"{kind}, {name}, {what}", "group": f"{kind}: {group}", "outcome": outcome, "detail": detail}

    children = {kind: ChildProcess() for kind in kinds}
    try:
        results = task.each(task.count(TRIALS, 10), trial)
    finally:
        for child in children.values():
            child.close()
    report = summarise(results, FAILURES)
    groups = sorted({result["group"] for result in results})
    by_group = {
        name: dict(sorted(Counter(r["outcome"] for r in results if r["group"] == name).items())) for name in groups
    }
    shutil.rmtree(home, ignore_errors=True)
    return {**report, "files": by_group}


def _classify(found: dict[str, Any], expected: dict[str, Any]) -> tuple[str, str]:
    """What a user of the damaged store gets: right, right and told, an error with a cure, or one of the failures."""
    if "signal" in found:
        return "HANG" if found["signal"] == signal.SIGALRM else "CRASH", f"signal {found['signal']}"
    if "exception" in found:
        return "CRASH", found["exception"]
    if "error" in found:
        return ("error with cure", found["error"]) if found["cure"] else ("CRASH", f"without a cure: {found['error']}")
    if found["answers"] != expected["answers"]:
        return "WRONG", _difference(found["answers"], expected["answers"])
    return ("right, told", found["told"][0]) if found["told"] else ("right", "")


def _difference(found: dict[str, Any], expected: dict[str, Any]) -> str:
    return ", ".join(name for name in expected if found.get(name) != expected[name])[:200]


def _list_files(store: Path, kind: str) -> dict[str, list[str]]:
    """Files by what they belong to. The names of a one-file store are suffixes."""
    if store.is_file():
        beside = [path for path in store.parent.iterdir() if path.name.startswith(store.name)]
        return {
            path.name.removeprefix(store.name) or "database": [path.name.removeprefix(store.name)] for path in beside
        }
    groups: dict[str, list[str]] = {}
    for path in sorted(store.rglob("*")):
        if path.is_file() and path.stat().st_size and not path.name.startswith("."):
            name = path.relative_to(store)
            parts = name.parts
            inside = parts[2:] if parts[0] == "generations" else parts
            is_lance = store.suffix == ".lance"
            group = "/".join(parts[:2]) if is_lance else inside[0] if len(inside) > 1 else inside[0].split(".")[0]
            if kind != "graph and tree" or group in ("graph", "tree"):
                groups.setdefault(group, []).append(str(name))
    return groups


def _copy(source: Path, target: Path) -> None:
    _remove(target)
    if source.is_dir():
        shutil.copytree(source, target)
        return
    for path in source.parent.iterdir():
        if path.name.startswith(source.name):
            shutil.copyfile(path, target.with_name(target.name + path.name.removeprefix(source.name)))


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
        return
    for path in place.parent.glob(f"{place.name}*"):
        path.unlink()
