"""The held-out half of a sequence file as requests with a known answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.sequences import NONE, Pairs
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.service import CascadeQuery

DEPTH = 10
"""Places that are looked at; further down is not found."""
FEWEST = 30
"""Queries of a lane below which it is not measured."""


@dataclass(frozen=True, eq=False)
class NextVectorQuestion:
    """What followed this vector? `right` holds the id that did and its twins: ids whose vectors are the same bytes."""

    name: str
    ask: CascadeQuery
    right: frozenset[int]
    domain: int

    def rank(self, ids: Sequence[int]) -> int:
        """The place of the first right id, from 1; 0 when none is among these."""
        return next((place for place, one in enumerate(ids, 1) if one in self.right), 0)


def questions(snapshot: BankSnapshot, pairs: Pairs, most: int = 0) -> list[NextVectorQuestion]:
    """One question for each pair, or `most` of them spread over all. The current id is never a candidate; the code and
    lane asked for are the current vector's own."""
    bank, same = snapshot.bank, twins(snapshot.bank)
    places = np.arange(len(pairs))
    if most and most < len(places):
        places = np.unique(np.linspace(0, len(pairs) - 1, most).astype(np.int64))
    rows = bank.rows(pairs.current[places])
    targets = bank.rows(pairs.following[places])
    domains = snapshot.layout.domain.of(bank.tmd_bits[rows])
    made = []
    for place, row, target, domain in zip(
        places.tolist(), rows.tolist(), targets.tolist(), domains.tolist(), strict=True
    ):
        context = pairs.context[place]
        ask = CascadeQuery(
            vector=np.asarray(bank.vectors[row]),
            tmd_bits=int(bank.tmd_bits[row]),
            lane=int(bank.lanes[row]),
            context_ids=tuple(context[context != NONE].tolist()),
            exclude_ids=(int(bank.ids[row]),),
        )
        right = frozenset(bank.ids[same[target]].tolist()) if target in same else frozenset({int(bank.ids[target])})
        made.append(NextVectorQuestion(f"{place:07d}", ask, right, domain))
    return made


def agreement(snapshot: BankSnapshot, pairs: Pairs) -> dict[str, float]:
    """How often the code of what follows says the same as the current one: what stage 3 can hope for."""
    bank = snapshot.bank
    rows, targets = bank.rows(pairs.current), bank.rows(pairs.following)
    same = {"lane": bank.lanes[rows] == bank.lanes[targets]}
    for name in ("domain", "task"):
        place = getattr(snapshot.layout, name)
        same[name] = place.of(bank.tmd_bits[rows]) == place.of(bank.tmd_bits[targets])
    return {name: round(float(alike.mean()), 4) for name, alike in same.items()}


def twins(bank: Bank) -> dict[int, NDArray[np.int64]]:
    """Rows whose vector stands elsewhere too, each with all the rows that share it."""
    # Rows of equal bytes have equal beginnings: most banks are told apart by their first eight.
    marks = (
        np.ascontiguousarray(bank.vectors[:, : min(2, bank.dim)]).view([("mark", f"V{4 * min(2, bank.dim)}")]).ravel()
    )
    _, group, count = np.unique(marks["mark"], return_inverse=True, return_counts=True)
    alike: dict[bytes, list[int]] = {}
    for row in np.flatnonzero(count[group] > 1).tolist():
        alike.setdefault(bank.vectors[row].tobytes(), []).append(row)
    found: dict[int, NDArray[np.int64]] = {}
    for rows in alike.values():
        if len(rows) > 1:
            found |= dict.fromkeys(rows, np.array(rows, np.int64))
    return found


def lanes(asked: Sequence[NextVectorQuestion]) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Places of each domain's questions, and the domains with too few of them to be measured."""
    places = _by_domain(asked)
    measured = {name: held for name, held in places.items() if len(held) >= FEWEST}
    few = {name: len(held) for name, held in places.items() if len(held) < FEWEST}
    return measured, few


def largest(asked: Sequence[NextVectorQuestion]) -> dict[str, list[int]]:
    """The domain with the most questions, alone."""
    places = _by_domain(asked)
    name = max(places, key=lambda one: len(places[one]))
    return {name: places[name]}


def _by_domain(asked: Sequence[NextVectorQuestion]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, question in enumerate(asked):
        places.setdefault(f"domain={question.domain:02d}", []).append(place)
    return dict(sorted(places.items()))
