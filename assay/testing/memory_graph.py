"""The graph leg by brute force: entities counted from scratch, the walk solved as a system of equations.

    things    what `index.mentions` finds in each chunk; a pair of words by npmi, a single word by the share that write
              it as a name, each with at least one firm mention, in 2 to max(16, 2 %) of all chunks, 4,000 at most
    weight    ln(1 + N / df), to 1/1024
    mass      y = s · (I − d·P)⁻¹        score = (1 − d) · y

P goes from a chunk to its things by weight, and from a thing to the visible chunks that hold it, all alike. Statistics
are those of all chunks, as in a store whose index was just built. `least` is ignored: all mass is passed on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assay.index.mentions import ADDRESS, CLASSES, FIRM, SOFT, THING, extract_mentions
from assay.protocols import WalkSettings
from assay.text.analyser import Analyser
from assay.text.entities import extract_query_keys
from assay.types import Chunk, Floats

LEAST_ROWS, MOST_ROWS, SMALL, SHARE = 2, 4_000, 16, 0.02
PAIR_ROWS, PAIR_NPMI, NAME_SHARE = 3, 0.4, 0.3


class MemoryGraph:
    """The graph of a list of chunks."""

    def __init__(self, chunks: Sequence[Chunk], terms: Sequence[Sequence[str]], analyser: Analyser) -> None:
        self._size = len(chunks)
        self._terms = [set(found) for found in terms]
        self._analyser = analyser
        self._mentions = [extract_mentions(chunk, analyser.language) for chunk in chunks]

    @cached_property
    def things(self) -> dict[str, dict[int, int]]:
        """key → row → bits, of every thing that counts."""
        found: dict[str, dict[str, list[int]]] = {}
        for row, mentions in enumerate(self._mentions):
            for one in mentions:
                found.setdefault(one[:-2], {}).setdefault(one[-1], []).append(row)
        return {key: rows for key in sorted(found) if (rows := self._accepted(key, found[key]))}

    def _accepted(self, key: str, kinds: dict[str, list[int]]) -> dict[int, int]:
        rows_of_key: dict[int, int] = {}
        for kind, rows in kinds.items():
            if (kind == "p" and not self._is_pair(key[1:], len(rows))) or (
                kind == "f" and not self._is_name(key[1:], len(rows))
            ):
                continue
            for row in rows:
                rows_of_key[row] = rows_of_key.get(row, 0) | CLASSES[kind]
        every = 0
        for bits in rows_of_key.values():
            every |= bits
        wanted = FIRM | SOFT if key.startswith(ADDRESS) else FIRM
        most = min(max(SMALL, SHARE * self._size), MOST_ROWS)
        return rows_of_key if every & wanted == wanted and LEAST_ROWS <= len(rows_of_key) <= most else {}

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

    def _query_entities(self, text: str) -> list[str]:
        """The longest names of a query, none inside another."""
        found: set[str] = set()
        taken: set[int] = set()
        for start, end, key in extract_query_keys(text, self._analyser.language):
            if f"{THING}{key}" in self.things and not taken.issuperset(range(start, end)):
                found.add(f"{THING}{key}")
                taken.update(range(start, end))
        return sorted(found)

    def walk_all(self, text: str, walk: WalkSettings, visible: Sequence[int]) -> tuple[list[str], Floats, Floats]:
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

    def _start(self, text: str, walk: WalkSettings, seen: set[int], keys: Sequence[str]) -> Floats:
        seeds = [row for row in walk.seeds.tolist() if row in seen]
        entities = self._query_entities(text)
        start = np.zeros(self._size + len(keys))
        share = 1.0 if not seeds else walk.entity_share if entities else 0.0
        for rank, row in enumerate(seeds, 1):
            start[row] += (1.0 - share) / rank / sum(1.0 / r for r in range(1, len(seeds) + 1))
        for key in entities:
            start[self._size + keys.index(key)] += share * self._weight(key) / sum(map(self._weight, entities))
        return start


def _shown(key: str) -> str:
    return f"via {'link ' if key.startswith(ADDRESS) else ''}{key[1:]}"
