"""Defects of a dataset that reading can go on without: a value that is no number, a line of evidence that fits nothing.

`load` collects them and makes remarks of them; with `strict` the first one is the error. Defects that would change what
a result means (a judgement of an unknown document, an id used twice) are always errors and do not come here. What is
read again later, when the corpus is indexed, was collected the first time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from assay.bench.datasets.errors import DatasetError

REPAIR = "mend the line, or let `assay bench repair` do it"


@dataclass
class Defects:
    """What was found, by kind; `first` has the first of each."""

    strict: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, error: DatasetError) -> None:
        if self.strict:
            raise error
        self.counts[kind] += 1
        self.first.setdefault(kind, error.message)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"{count} {kind}; the first: {self.first[kind]}" for kind, count in self.counts.items())


_collected: ContextVar[Defects | None] = ContextVar("defects", default=None)


@contextmanager
def collect_defects(strict: bool) -> Iterator[Defects]:
    defects = Defects(strict)
    token = _collected.set(defects)
    try:
        yield defects
    finally:
        _collected.reset(token)


def report_defect(kind: str, error: DatasetError) -> None:
    """Note a defect, or raise it when reading strictly. Outside of `collect_defects` it is known already."""
    defects = _collected.get()
    if defects is not None:
        defects.add(kind, error)
