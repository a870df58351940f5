"""What a campaign is given: its size, a folder to work in, and a loop over trials that can be interrupted."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

_HELPERS = frozenset({"__main__", "task"})
"""Modules of the folder that are no campaigns; so are those whose names begin with an underscore."""


@dataclass(frozen=True)
class Task:
    """One run of a campaign."""

    name: str
    short: bool
    scratch: Path
    """The campaign's folder of records: one line per trial, in `trials.jsonl`. They outlive an interruption."""
    quiet: bool = False
    deadline: float | None = None
    """When no further trial is begun, by `time.monotonic`; what was done counts, and the next run goes on."""
    place: Path | None = None
    """Where the stores under attack are made; without it, beside the records."""
    commit: str = ""
    """The code under attack; written into every record."""
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Records file → trials done and planned."""

    @property
    def stores(self) -> Path:
        folder = self.place or self.scratch / "stores"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def is_complete(self) -> bool:
        return all(done == planned for done, planned in self.counts.values())

    def count(self, full: int, short: int) -> int:
        return short if self.short else full

    def each(self, count: int, trial: Callable[[int], Mapping[str, Any]], name: str = "trials") -> list[dict[str, Any]]:
        """Run `trial(0)` to `trial(count - 1)`; a result that an interrupted run stored is not computed again.

        Fewer are returned when the time is over."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        path = self.scratch / f"{name}.jsonl"
        done = _read_results(path)
        began, first = time.monotonic(), len(done)
        with path.open("a", encoding="utf-8") as log:
            log.write("\n")  # a killed process may have left half a line
            for number in range(count):
                if number not in done:
                    if self.deadline is not None and time.monotonic() > self.deadline:
                        break
                    start = time.monotonic()
                    done[number] = {
                        **trial(number),
                        "seconds": round(time.monotonic() - start, 3),
                        "commit": self.commit,
                    }
                    log.write(json.dumps({"trial": number, **done[number]}) + "\n")
                    log.flush()
                self._show(name, number + 1, count, began, first)
        results = [done[number] for number in range(count) if number in done]
        self.counts[name] = (len(results), count)
        return results

    def describe_records(self) -> dict[str, Any]:
        """How many trials were planned, at which commits they ran, and how long they took, over all runs."""
        records = [one for name in self.counts for one in _read_results(self.scratch / f"{name}.jsonl").values()]
        commits = Counter(str(one.get("commit", "")) for one in records)
        return {
            "planned": sum(planned for _, planned in self.counts.values()),
            "complete": self.is_complete,
            "commits": dict(sorted(commits.items())),
            "trial_seconds": round(sum(float(one.get("seconds", 0.0)) for one in records), 1),
        }

    def _show(self, name: str, done: int, count: int, began: float, first: int) -> None:
        if self.quiet:
            return
        rate = (done - first) / max(time.monotonic() - began, 1e-9)
        left = f", {(count - done) / rate:,.0f} s left" if rate > 0 and done < count else ""
        end = "\n" if done == count or not sys.stderr.isatty() else "\r"
        if done == count or sys.stderr.isatty() or done % max(1, count // 20) == 0:
            print(f"{self.name}: {name} {done:,} of {count:,}{left}    ", end=end, file=sys.stderr, flush=True)


def summarise(results: Iterable[Mapping[str, Any]], failed: Iterable[str]) -> dict[str, Any]:
    """The report of trials that each have an `outcome`, and a `what` that says what was done; `failed` names the
    outcomes that break the promise."""
    listed = list(results)
    broken = frozenset(failed)
    failures = [f"{result.get('what', '')}: {result['outcome']}" for result in listed if result["outcome"] in broken]
    counts = Counter(str(result["outcome"]) for result in listed)
    return {"trials": len(listed), "outcomes": dict(sorted(counts.items())), "failures": failures[:100]}


def list_campaigns() -> dict[str, ModuleType]:
    """Every campaign by its name, the name of its module."""
    package = importlib.import_module("benchmarks.torture")
    names = sorted(entry.name for entry in pkgutil.iter_modules(package.__path__))
    wanted = [name for name in names if name not in _HELPERS and not name.startswith("_")]
    return {name: importlib.import_module(f"benchmarks.torture.{name}") for name in wanted}


def _read_results(path: Path) -> dict[int, dict[str, Any]]:
    """Results of an earlier run; a line that was cut short by a killed process is left out."""
    results: dict[int, dict[str, Any]] = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            result = json.loads(line)
            results[result.pop("trial")] = result
        except (ValueError, KeyError, AttributeError):
            continue
    return results
