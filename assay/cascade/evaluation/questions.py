"""Turns the held-out half of a sequence file into requests with known answers."""

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
"""Ranks that count; deeper is not found."""
FEWEST = 30
"""Queries of a lane below which it is not measured."""


@dataclass(frozen=True, eq=False)
class NextVectorQuestion:
    """A request for the vector that followed. `answers` holds its id and those of its twins, vectors of equal bytes."""

    name: str
    request: CascadeQuery
    answers: frozenset[int]
    domain: int

    def rank(self, ids: Sequence[int]) -> int:
        """The rank of the first right id, from 1; 0 if there is none."""
        return next((place for place, one in enumerate(ids, 1) if one in self.answers), 0)


def spread_evenly(count: int, most: int) -> NDArray[np.int64]:
    """The places 0 to count − 1, or `most` of them spread over all; 0 is no limit."""
    if not most or most >= count:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).astype(np.int64))


def fill_domains(snapshot: BankSnapshot, pairs: Pairs, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places to add to these, so that every domain with FEWEST pairs or more has FEWEST questions; spread evenly."""
    domains = snapshot.layout.domain.of(snapshot.bank.tmd_bits[snapshot.bank.rows(pairs.current)])
    chosen = np.zeros(len(pairs), np.bool_)
    chosen[places] = True
    added = []
    for domain in np.unique(domains).tolist():
        own = domains == domain
        missing, spare = FEWEST - int((own & chosen).sum()), np.flatnonzero(own & ~chosen)
        if 0 < missing <= len(spare):
            added += spare[spread_evenly(len(spare), missing)].tolist()
    return np.array(sorted(added), np.int64)


def make_questions(snapshot: BankSnapshot, pairs: Pairs, most: int = 0) -> list[NextVectorQuestion]:
    """One question for each pair, or `most` of them spread over all."""
    return questions_at(snapshot, pairs, spread_evenly(len(pairs), most))


def questions_at(snapshot: BankSnapshot, pairs: Pairs, places: NDArray[np.int64]) -> list[NextVectorQuestion]:
    """The questions of some pairs. The current id is never a candidate; the code and lane are the current vector's
    own."""
    bank, twins_by_row = snapshot.bank, find_twins(snapshot.bank)
    rows = bank.rows(pairs.current[places])
    targets = bank.rows(pairs.following[places])
    domains = snapshot.layout.domain.of(bank.tmd_bits[rows])
    questions = []
    for place, row, target, domain in zip(
        places.tolist(), rows.tolist(), targets.tolist(), domains.tolist(), strict=True
    ):
        context = pairs.context[place]
        request = CascadeQuery(
            vector=np.asarray(bank.vectors[row]),
            tmd_bits=int(bank.tmd_bits[row]),
            lane=int(bank.lanes[row]),
            context_ids=tuple(context[context != NONE].tolist()),
            exclude_ids=(int(bank.ids[row]),),
        )
        answers = (
            frozenset(bank.ids[twins_by_row[target]].tolist())
            if target in twins_by_row
            else frozenset({int(bank.ids[target])})
        )
        questions.append(NextVectorQuestion(f"{place:07d}", request, answers, domain))
    return questions


def code_agreement(snapshot: BankSnapshot, pairs: Pairs) -> dict[str, float]:
    """How often the next vector has the lane, domain and task of the current one: the most that codes can decide."""
    bank = snapshot.bank
    rows, targets = bank.rows(pairs.current), bank.rows(pairs.following)
    same = {"lane": bank.lanes[rows] == bank.lanes[targets]}
    for name in ("domain", "task"):
        place = getattr(snapshot.layout, name)
        same[name] = place.of(bank.tmd_bits[rows]) == place.of(bank.tmd_bits[targets])
    return {name: round(float(equal.mean()), 4) for name, equal in same.items()}


def find_twins(bank: Bank) -> dict[int, NDArray[np.int64]]:
    """Rows whose vector occurs more than once, each with all rows that share it."""
    # Rows of equal bytes have equal prefixes; in most banks the first eight bytes differ.
    prefixes = (
        np.ascontiguousarray(bank.vectors[:, : min(2, bank.dim)]).view([("mark", f"V{4 * min(2, bank.dim)}")]).ravel()
    )
    _, group, count = np.unique(prefixes["mark"], return_inverse=True, return_counts=True)
    rows_by_bytes: dict[bytes, list[int]] = {}
    for row in np.flatnonzero(count[group] > 1).tolist():
        rows_by_bytes.setdefault(bank.vectors[row].tobytes(), []).append(row)
    twins_by_row: dict[int, NDArray[np.int64]] = {}
    for rows in rows_by_bytes.values():
        if len(rows) > 1:
            twins_by_row |= dict.fromkeys(rows, np.array(rows, np.int64))
    return twins_by_row


def split_by_domain(questions: Sequence[NextVectorQuestion]) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Places of each domain's questions, and the domains with too few of them to be measured."""
    places = _group_by_domain(questions)
    measured = {name: positions for name, positions in places.items() if len(positions) >= FEWEST}
    few = {name: len(positions) for name, positions in places.items() if len(positions) < FEWEST}
    return measured, few


def largest_domain(questions: Sequence[NextVectorQuestion]) -> dict[str, list[int]]:
    """The domain with the most questions, alone."""
    places = _group_by_domain(questions)
    name = max(places, key=lambda one: len(places[one]))
    return {name: places[name]}


def _group_by_domain(questions: Sequence[NextVectorQuestion]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(f"domain={question.domain:02d}", []).append(place)
    return dict(sorted(places.items()))
