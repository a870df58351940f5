"""Takes sentences while they fit into a budget: cost-scaled greedy, compared with the best single sentence.

The next sentence is the one with the largest gain / cost^power that fits; a tie goes to the earlier one. Gains depend
on what was taken (`Objective`), costs on the headers already written. Greedy by ratio alone can be arbitrarily bad; the
better of it and the best single sentence cannot: the usual bound for a knapsack. Law: never above the budget.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from assay.select.context.candidates import SentencePool
from assay.select.context.emission import EmissionCosts, write_context
from assay.select.context.finish import Choice
from assay.text.token_count import count_tokens
from assay.types import Floats


class Objective(Protocol):
    """What a set of sentences is worth, one sentence at a time."""

    def gains(self) -> Floats:
        """What each sentence would add now."""
        ...

    def take(self, place: int) -> tuple[str, ...]:
        """Add a sentence; return what it covers that nothing before it did."""
        ...


def choose_greedily(pool: SentencePool, objective: Objective, budget: int, power: float) -> list[Choice]:
    """Return the chosen sentences in the order they were taken."""
    costs = EmissionCosts(pool)
    first_gains = objective.gains()
    is_open = np.ones(len(pool), np.bool_)
    choices: list[Choice] = []
    used = 0
    while is_open.any():
        gains, estimates = objective.gains(), costs.costs()
        # An estimate may be a few tokens too high; what is far too large need not be written to know it.
        fits = is_open & (used + estimates <= budget + SLACK)
        if not fits.any():
            break
        place = int(np.argmax(np.where(fits, gains / estimates**power, -np.inf)))
        is_open[place] = False
        tokens = count_context(pool, [*(choice.place for choice in choices), place])
        if tokens > budget:
            continue
        choices.append(Choice(place, float(gains[place]), tokens - used, objective.take(place)))
        costs.take(place)
        used = tokens
    return _better_single(pool, first_gains, budget, choices)


SLACK = 8
"""Tokens by which an estimated cost may be above the true one."""


def count_context(pool: SentencePool, places: Iterable[int]) -> int:
    """The tokens of the text of these sentences: all that is emitted."""
    return count_tokens(write_context(pool, places))


def _better_single(pool: SentencePool, gains: Floats, budget: int, choices: list[Choice]) -> list[Choice]:
    """The choices, or the best single sentence that fits if it alone is worth more."""
    total = sum(choice.gain for choice in choices)
    for place in np.argsort(-gains, kind="stable").tolist():
        if gains[place] <= total:
            break
        tokens = count_context(pool, [place])
        if tokens <= budget:
            return [Choice(place, float(gains[place]), tokens, ("more than all others that fit together",))]
    return choices
