"""Runs a receipt again from what it says, and names what differs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.bench.rb006.run_receipt import make_receipt
from assay.bench.rb006.runner.plan import RunSettings
from assay.bench.rb006.runner.run import run_benchmark
from assay.bench.receipt import Receipt, ReceiptError
from assay.types import Progress

MOST = 8
"""Differences that are named."""


def replay_run(receipt: Receipt, out: Path | None = None, progress: Progress = lambda *_: None) -> list[str]:
    """Measure everything anew; the differences to the receipt, none when the digest is the same."""
    settings = read_settings(receipt)
    go_on = find_going_on(receipt.canonical)
    if out is not None and (out / "records").exists():
        raise ReceiptError(f"{out} holds records already", "name a new folder: a replay measures everything anew")
    with tempfile.TemporaryDirectory(prefix="assay-rb006-") as temporary:
        again = run_benchmark(settings, out or Path(temporary), go_on=go_on, progress=progress)
    fresh = make_receipt(again)
    return [] if fresh.digest == receipt.digest else list(find_differences(receipt.canonical, fresh.canonical))[:MOST]


def find_going_on(canonical: Mapping[str, Any]) -> bool:
    """Whether the run measured a stage after one whose kill line held; such a stage may have been killed, too."""
    states = [stage["state"] for stage in canonical["stages"]]
    return "killed" in states and any(state != "not run" for state in states[states.index("killed") + 1 :])


def read_settings(receipt: Receipt) -> RunSettings:
    """The settings of a receipt; an error where the thresholds have changed since."""
    stored = receipt.canonical["settings"]
    settings = RunSettings(
        templates=stored["templates"],
        base=stored["base"],
        seed=stored["seed"],
        largest=max(stored["scales"]),
        systems=tuple(stored["systems"]),
        rerank=stored["rerank"],
        quick=stored["quick"],
        queries=stored["queries"],
        lattice=stored["lattice"],
        public=tuple(stored["public"]),
    )
    if settings.describe() != stored:
        raise ReceiptError(
            "the receipt was made with other thresholds or another gated arm than this version has",
            "replay it with the version that made it",
        )
    return settings


def find_differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Where two canonical halves differ, in their order."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            yield from find_differences(before.get(key), after.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (a, b) in enumerate(zip(before, after, strict=True)):
            yield from find_differences(a, b, f"{path}[{place}]")
    elif before != after:
        yield f"{path}: {str(before)[:60]} → {str(after)[:60]}"
