"""The naive packer: chunks in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.engine.checks import check_whole
from assay.engine.context import PackCandidate, PackedContext
from assay.protocols import Snapshot
from assay.select.context.candidates import SentencePool, make_pool
from assay.select.context.finish import Choice, Packing
from assay.select.context.greedy import count_context
from assay.types import Query


@dataclass(frozen=True, slots=True)
class Naive:
    """Packs whole chunks in their order and cuts the last one at a sentence.

    The baseline of every packer: what a prompt is usually filled with. `tokens` is the budget, `pool` how many
    candidates are read at least, `headers` whether titles, sections, versions and dates are written above the
    sentences. Everything is written and counted as by the other packers (emission.py).
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tokens: int = 400
    pool: int = 20
    headers: bool = True

    def __post_init__(self) -> None:
        check_whole("naive.tokens", self.tokens, 1)
        check_whole("naive.pool", self.pool, 1)

    def pack(self, query: Query, candidates: Sequence[PackCandidate], snapshot: Snapshot) -> PackedContext:
        pool = make_pool(candidates, headers=self.headers)
        choices = choose_in_order(pool, self.tokens)
        return Packing("naive", self.tokens, candidates, pool).finish(choices, CAME_AFTER)


CAME_AFTER = "it comes after the first that did not fit"


def choose_in_order(pool: SentencePool, budget: int) -> list[Choice]:
    """Return the sentences of the candidates in order, up to the first that does not fit."""
    choices: list[Choice] = []
    for candidate in range(len(pool.candidates)):
        if not add_while_fitting(pool, choices, candidate, budget):
            break
    return choices


def add_while_fitting(pool: SentencePool, choices: list[Choice], candidate: int, budget: int) -> bool:
    """Add the sentences of a candidate in order while they fit; return whether all of them did."""
    used = sum(choice.cost for choice in choices)
    for place in pool.ranges[candidate]:
        tokens = count_context(pool, [*(choice.place for choice in choices), place])
        if tokens > budget:
            return False
        choices.append(Choice(place, pool.candidates[candidate].score, tokens - used))
        used = tokens
    return True
