"""Searches for input that a parser neither answers nor refuses: hypothesis climbs with `target()` towards lines that no
input has reached."""

from __future__ import annotations

import random
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

LONGEST = 20_000
"""Bytes of the longest input."""


class Findings:
    """Counts what a parser did, and keeps one example of each failure by the place where it was raised."""

    def __init__(self, folder: Path, parse: Callable[[bytes], None]) -> None:
        from assay.errors import AssayError

        self._refusal = AssayError
        self._folder = folder
        self._parse = parse
        self.counts = {"answered": 0, "refused": 0, "an exception": 0}
        self.found: dict[str, str] = {}

    def try_input(self, data: bytes) -> None:
        try:
            self._parse(data)
            outcome = "answered"
        except self._refusal as error:
            outcome = "refused" if error.message else "an exception"
        except Exception as error:
            outcome = "an exception"
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if "/assay/" in frame.filename] or list(frames)
            place = f"{Path(own[-1].filename).name}:{own[-1].lineno} {type(error).__name__}: {error}"[:200]
            kind = f"{own[-1].filename}:{own[-1].lineno} {type(error).__name__}"
            if kind not in self.found:
                self.found[kind] = f"{place} for {data[:300]!r}"
                (self._folder / f"finding-{len(self.found)}").write_bytes(data)
        self.counts[outcome] += 1

    def describe(self) -> dict[str, Any]:
        return {"counts": self.counts, "found": list(self.found.values())}


def search_with_hypothesis(name: str, folder: Path, runs: int, seed: int) -> dict[str, Any]:
    import hypothesis
    from hypothesis import strategies as st

    from benchmarks.torture._mutations import mutate_once
    from benchmarks.torture._targets import TARGETS

    target = TARGETS[name]
    seeds = target.seeds()
    folder.mkdir(parents=True, exist_ok=True)
    reached: set[tuple[str, int]] = set()
    with target.start(folder) as parse:
        findings = Findings(folder, parse)
        changes = st.lists(st.integers(0, 10_000), min_size=1, max_size=6)

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=runs,
            deadline=None,
            database=None,
            phases=(hypothesis.Phase.generate, hypothesis.Phase.target),
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(st.integers(0, len(seeds) - 1), changes)
        def climb(start: int, numbers: list[int]) -> None:
            data = seeds[start]
            for number in numbers:
                data = mutate_once(data, random.Random(number))[:LONGEST]
            lines = trace_lines(lambda: findings.try_input(data))
            hypothesis.target(float(len(lines)), label="lines reached")
            hypothesis.target(float(len(lines - reached)), label="lines that are new")
            reached.update(lines)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            climb()
    return {**findings.describe(), "reached": f"{len(reached)} lines"}


def trace_lines(work: Callable[[], None]) -> set[tuple[str, int]]:
    """The lines of the package that a call reaches in this thread."""
    lines: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "/assay/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
