"""The graph leg by brute force: every thing counted anew, the walk solved as a system of equations.

    things    what `index.mentions` finds in each chunk; a pair of words by npmi, a single word by the share that write
              it as a name, each with at least one firm mention, in 2 to max(16, 2 %) of all chunks, 4,000 at most
    weight    ln(1 + N / df), to 1/1024
    mass      y = s · (I − d·P)⁻¹        score = (1 − d) · y

P goes from a chunk to its things by weight, and from a thing to the visible chunks that hold it, all alike. Statistics
are those of all chunks, as in a store whose index was just built. `least` is of no account: everything is passed on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assay.index.mentions import ADDRESS, CLASSES, FIRM, SOFT, THING, candidates
from assay.protocols import Walk
from assay.text.analyse import Analyser
from assay.text.entities import query_keys
from assay.types import Chunk, Floats

LEAST_ROWS, MOST_ROWS, SMALL, SHARE = 2, 4_000, 16, 0.02
PAIR_ROWS, PAIR_NPMI, NAME_SHARE = 3, 0.4, 0.3


class MemoryGraph:
    """The graph of a list of chunks."""

    def __init__(self, chunks: Sequence[Chunk], terms: Sequence[Sequence[str]], analyser: Analyser) -> None:
        self._size = len(chunks)
        self._terms = [set(found) for found in terms]
        self._analyser = analyser
        self._said = [candidates(chunk, analyser.language) for chunk in chunks]

    @cached_property
    def things(self) -> dict[str, dict[int, int]]:
        """key → row → bits, of every thing that counts."""
        found: dict[str, dict[str, list[int]]] = {}
        for row, said in enumerate(self._said):
            for one in said:
                found.setdefault(one[:-2], {}).setdefault(one[-1], []).append(row)
        return {key: rows for key in sorted(found) if (rows := self._accepted(key, found[key]))}

    def _accepted(self, key: str, kinds: dict[str, list[int]]) -> dict[int, int]:
        held: dict[int, int] = {}
        for kind, rows in kinds.items():
            if (kind == "p" and not self._is_pair(key[1:], len(rows))) or (
                kind == "f" and not self._is_name(key[1:], len(rows))
            ):
                continue
            for row in rows:
                held[row] = held.get(row, 0) | CLASSES[kind]
        every = 0
        for bits in held.values():
            every |= bits
        wanted = FIRM | SOFT if key.startswith(ADDRESS) else FIRM
        most = min(max(SMALL, SHARE * self._size), MOST_ROWS)
        return held if every & wanted == wanted and LEAST_ROWS <= len(held) <= most else {}

    def _frequency(self, word: str) -> int:
        """Chunks that hold a word in any of its forms."""
        return max((sum(t in terms for terms in self._terms) for t in self._analyser.terms(word)), default=0)

    def _is_pair(self, key: str, rows: int) -> bool:
        if rows < PAIR_ROWS:
            return False
        one, other = (max(self._frequency(word), rows) for word in key.split(" ", 1))
        if rows == self._size:
            return True
        return math.log(rows * self._size / (one * other)) / -math.log(rows / self._size) >= PAIR_NPMI

    def _is_name(self, key: str, rows: int) -> bool:
        return " " in key or rows >= NAME_SHARE * self._frequency(key)

    def _weight(self, key: str) -> float:
        return round(math.log1p(self._size / len(self.things[key])) * 1024.0)

    def _meant(self, text: str) -> list[str]:
        """The longest names of a query, none inside another."""
        found: set[str] = set()
        taken: set[int] = set()
        for start, end, key in query_keys(text, self._analyser.language):
            if f"{THING}{key}" in self.things and not taken.issuperset(range(start, end)):
                found.add(f"{THING}{key}")
                taken.update(range(start, end))
        return sorted(found)

    def walked(self, text: str, walk: Walk, visible: Sequence[int]) -> tuple[list[str], Floats, Floats]:
        """(names of the parts, [parts × rows], where the walk began); all zero when it begins nowhere."""
        keys = list(self.things)
        seen, total = set(visible), self._size + len(keys)
        step = np.zeros((total, total))
        for place, key in enumerate(keys, self._size):
            for row in seen & self.things[key].keys():
                step[row, place] = self._weight(key)
                step[place, row] = 1.0
        step /= np.maximum(step.sum(axis=1, keepdims=True), 1e-300)
        start = self._start(text, walk, seen, keys)
        mass = start @ np.linalg.inv(np.eye(total) - walk.damping * step)
        flow = walk.damping * mass[self._size :, None] * step[self._size :, : self._size]
        return [_shown(key) for key in keys], flow, start[: self._size]

    def _start(self, text: str, walk: Walk, seen: set[int], keys: Sequence[str]) -> Floats:
        seeds = [row for row in walk.seeds.tolist() if row in seen]
        meant = self._meant(text)
        start = np.zeros(self._size + len(keys))
        share = 1.0 if not seeds else walk.entity_share if meant else 0.0
        for rank, row in enumerate(seeds, 1):
            start[row] += (1.0 - share) / rank / sum(1.0 / r for r in range(1, len(seeds) + 1))
        for key in meant:
            start[self._size + keys.index(key)] += share * self._weight(key) / sum(map(self._weight, meant))
        return start


def _shown(key: str) -> str:
    return f"via {'link ' if key.startswith(ADDRESS) else ''}{key[1:]}"
