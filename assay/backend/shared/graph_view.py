"""The graph of one snapshot: the generation's things and the tail's, counted over live rows only.

What counts as a thing is decided by live rows: at least one firm mention (an address: a link to it and a document
that has it), and a number of rows inside the band

    2 ≤ df ≤ max(16, 0.02 · N), at most 4,000

A thing in one row joins nothing, one in every second row joins everything; both are left out. A thing weighs
ln(1 + N / df), on a grid, so that sums do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.graph import GraphIndex, gather
from assay.index.mentions import ADDRESS, FIRM, MARKDOWN, SOFT, SUPERSEDES, THING, WIKI
from assay.index.tail_graph import Lists, TailGraph
from assay.text.entities import extract_query_keys
from assay.types import Chunk, Floats, Rows
from assay.where import Mask

LEAST_ROWS = 2
MOST_ROWS = 4_000
SMALL = 16
SHARE = 0.02
WEIGHT_GRID = 1024.0
LINK_NAMES = {WIKI: "wiki link", MARKDOWN: "link", SUPERSEDES: "supersedes"}
Things = NDArray[np.int64]


@dataclass(frozen=True)
class GraphView:
    """The graph of a generation and its tail. `chunks` are the tail's, read when first needed; `dead` are rows of the
    generation, ascending; `tail_live` says which of the first tail rows are live."""

    graph: GraphIndex | None
    tail: TailGraph
    chunks: Sequence[Chunk]
    dead: Rows
    tail_live: Mask
    language: str

    @cached_property
    def start(self) -> int:
        """Rows of the generation; the tail's come after them."""
        return self.graph.rows_total if self.graph else 0

    @cached_property
    def total(self) -> int:
        return self.start + len(self.tail_live)

    @cached_property
    def live(self) -> int:
        return self.start - len(self.dead) + int(np.count_nonzero(self.tail_live))

    @cached_property
    def _tail(self) -> Lists:
        return self.tail.read_up_to(self.chunks, len(self.tail_live))

    @cached_property
    def things(self) -> int:
        """How many things there are, the generation's first."""
        newest = int(self._tail[1].max(initial=-1)) + 1
        return max(self.graph.size if self.graph else 0, newest)

    @cached_property
    def _counts(self) -> tuple[Things, Things, Things]:
        """(rows, firm rows, soft rows) of every thing, over live rows."""
        size = self.things
        counts = np.zeros((3, size), np.int64)
        if self.graph is not None:
            known = self.graph.size
            counts[:, :known] = np.diff(self.graph.start), self.graph.firm, self.graph.soft
            if len(self.dead):
                _, places = gather(self.graph.row_start, self.dead)
                counts -= _count_by_kind(self.graph.row_things[places], self.graph.row_bits[places], size)
        start, things, bits = self._tail
        if len(things):
            alive = np.repeat(self.tail_live, np.diff(start))
            counts += _count_by_kind(things[alive], bits[alive], size)
        return counts[0], counts[1], counts[2]

    @cached_property
    def frequency(self) -> Things:
        """Live rows of every thing."""
        return self._counts[0]

    @cached_property
    def weights(self) -> Floats:
        """What a thing weighs, in whole steps of the grid; 0 for one that counts for nothing here."""
        rows, firm, soft = self._counts
        most = min(max(SMALL, SHARE * self.live), MOST_ROWS)
        good = (firm > 0) & (rows >= LEAST_ROWS) & (rows <= most)
        good &= (soft > 0) | ~self._is_address
        weights = np.zeros(len(rows))
        weights[good] = np.rint(np.log1p(self.live / rows[good]) * WEIGHT_GRID)
        return weights

    @cached_property
    def _is_address(self) -> Mask:
        found = np.zeros(self.things, np.bool_)
        known = self.graph.size if self.graph else 0
        found[: self.graph.addresses if self.graph else 0] = True
        found[known:] = self.tail.new_addresses(self.things)
        return found

    @cached_property
    def is_name(self) -> Mask:
        """Which things are names or identifiers, not links and not pairs of plain words."""
        names = ~self._is_address
        if self.graph is not None:
            names[: self.graph.size] &= ~self.graph.is_pair
        return names

    # -- from one side to the other

    def things_of(self, rows: Rows) -> tuple[Things, Things]:
        """(place in `rows`, thing) of every thing that counts and that these rows hold."""
        old = np.flatnonzero(rows < self.start)
        owners, things = [], []
        if self.graph is not None and len(old):
            owner, places = gather(self.graph.row_start, rows[old])
            owners.append(old[owner])
            things.append(self.graph.row_things[places].astype(np.int64))
        if len(old) < len(rows):
            new = np.flatnonzero(rows >= self.start)
            owner, places = gather(self._tail[0], rows[new] - self.start)
            owners.append(new[owner])
            things.append(self._tail[1][places].astype(np.int64))
        return _concatenate(owners, things, lambda _, thing: self.weights[thing] > 0.0)

    def rows_of(self, things: Things, allowed: Mask | None) -> tuple[Things, Rows]:
        """(place in `things`, row) of every allowed live row that holds one of these things."""
        owners, rows = [], []
        if self.graph is not None:
            old = np.flatnonzero(things < self.graph.size)
            owner, places = gather(self.graph.start, things[old])
            owners.append(old[owner])
            rows.append(self.graph.rows[places].astype(np.int64))
        if len(self.tail_live):
            order, start = self._tail_by_thing
            owner, places = gather(start, things)
            owners.append(owner)
            rows.append(order[places] + self.start)
        if allowed is None:
            return _concatenate(owners, rows, None)
        return _concatenate(owners, rows, lambda _, row: allowed[row])

    @cached_property
    def _tail_by_thing(self) -> tuple[Things, Things]:
        """The tail seen from its things: rows by thing, and where each thing's begin."""
        start, things, _ = self._tail
        owner = np.repeat(np.arange(len(start) - 1), np.diff(start))
        order = np.argsort(things, kind="stable")
        ends = np.cumsum(np.bincount(things, minlength=self.things))
        return owner[order], np.concatenate([[0], ends])

    # -- names

    def query_things(self, text: str) -> list[int]:
        """The things that a query names: the longest names it holds, none inside another."""
        known = self.things  # reads the tail
        found: list[int] = []
        taken: set[int] = set()
        for start, end, key in extract_query_keys(text, self.language):
            number = self.tail.find(f"{THING}{key}")
            if 0 <= number < known and self.weights[number] > 0.0 and not taken.issuperset(range(start, end)):
                found.append(number)
                taken.update(range(start, end))
        return sorted(set(found))

    def name(self, thing: int) -> str:
        """A thing for people; an address with the kinds of links that lead to it."""
        key = self.tail.key(thing)
        if not key.startswith(ADDRESS):
            return key[1:]
        seen = 0
        if self.graph is not None and thing < self.graph.size:
            span = slice(self.graph.start[thing], self.graph.start[thing + 1])
            living = ~np.isin(self.graph.rows[span], self.dead)
            seen |= int(np.bitwise_or.reduce(self.graph.bits[span][living], initial=0))
        start, things, bits = self._tail
        alive = np.repeat(self.tail_live, np.diff(start))
        seen |= int(np.bitwise_or.reduce(bits[(things == thing) & alive], initial=0))
        kinds = " and ".join(word for bit, word in LINK_NAMES.items() if seen & bit)
        return f"{kinds} {key[1:]}"


def _count_by_kind(things: NDArray[Any], bits: NDArray[np.uint8], size: int) -> NDArray[np.int64]:
    return np.stack(
        [np.bincount(things, minlength=size)]
        + [np.bincount(things[bits & bit != 0], minlength=size) for bit in (FIRM, SOFT)]
    ).astype(np.int64)


def _concatenate(owners: list[Things], others: list[Things], keep: Any) -> tuple[Things, Things]:
    owner = np.concatenate(owners) if owners else np.empty(0, np.int64)
    other = np.concatenate(others) if others else np.empty(0, np.int64)
    if keep is not None:
        kept = keep(owner, other)
        owner, other = owner[kept], other[kept]
    return owner, other
