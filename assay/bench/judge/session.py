"""A judging session: the next item, the effect of keys, and undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from assay.bench.judge.ledger import Ledger
from assay.bench.judge.pool import PoolItem

KEYS = {"0": 0, "1": 1, "2": 2, "3": 3, "n": 0, "y": 1}
SKIP, UNDO, QUIT, MORE, HELP = "s", "u", "q", "t", "?"
KeyEffect = Literal["graded", "skipped", "undone", "nothing to undo", "more", "help", "quit", "unknown"]


@dataclass
class JudgingSession:
    """The open items of one judge, in order. `clock` gives the time as text, for the ledger."""

    ledger: Ledger
    judge: str
    items: Sequence[PoolItem]
    clock: Callable[[], str]
    place: int = 0
    done: list[PoolItem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._forward()

    @property
    def item(self) -> PoolItem | None:
        """The item to judge now; None if all are judged."""
        return self.items[self.place] if self.place < len(self.items) else None

    @property
    def open(self) -> int:
        judged = self.ledger.judged_pairs(self.judge)
        return sum(item.key not in judged for item in self.items)

    def press(self, key: str) -> KeyEffect:
        """Apply a key. A grade is on disk when this returns."""
        item = self.item
        if key == QUIT:
            return "quit"
        if key == UNDO:
            return self._undo()
        if key in (MORE, HELP):
            return "more" if key == MORE else "help"
        if item is None or (key not in KEYS and key != SKIP):
            return "unknown"
        self.ledger.grade(item, self.judge, KEYS.get(key), self.clock())
        self.done.append(item)
        self._forward()
        return "skipped" if key == SKIP else "graded"

    def _undo(self) -> KeyEffect:
        if not self.done:
            return "nothing to undo"
        item = self.done.pop()
        self.ledger.undo(item, self.judge, self.clock())
        self.place = self.items.index(item)
        return "undone"

    def _forward(self) -> None:
        judged = self.ledger.judged_pairs(self.judge)
        self.place = next((p for p, item in enumerate(self.items) if item.key not in judged), len(self.items))
