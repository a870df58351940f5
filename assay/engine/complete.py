"""Gives every candidate the score of every leg, also of the legs that did not find it.

A leg returns its first k. A fuser that adds scores must guess a missing score, and zero is a bad guess: a missing
score often means rank k+1. Legs that can score given rows (`protocols.RowScorer`) are asked for the missing scores. No
candidate is added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW
from assay.engine.order import arrange, stamp_ranks
from assay.protocols import Leg, RowScorer, Snapshot, implements
from assay.types import Note, Part, Query, Ranking, Rows


def complete_scores(
    query: Query, rankings: Mapping[str, Ranking], legs: Mapping[str, Leg], snapshot: Snapshot
) -> tuple[dict[str, Ranking], tuple[Note, ...]]:
    """The rankings, each over the candidates of all legs, and a note of what was done.

    A leg that found nothing or was skipped stays empty: its zeros would say no more, and an empty leg changes no
    order (law 6). Rankings without rows of this snapshot come from another source and are left as they are.
    """
    known = [r.rows for r in rankings.values() if r.rows is not None and len(r)]
    if len(known) < 2:
        return dict(rankings), ()
    # Chunks of other sources cannot be scored here. Python sets, because for a few hundred rows numpy's are slower, and
    # the first np.unique of a process imports a module for ten milliseconds.
    union = {row for rows in known for row in rows.tolist() if 0 <= row < FIRST_FOREIGN_ROW}
    complete, counts = dict(rankings), []
    for name, ranking in rankings.items():
        leg = legs[name]
        if not implements(type(leg), RowScorer) or not len(ranking) or ranking.rows is None:
            continue
        missing = np.array(sorted(union.difference(ranking.rows.tolist())), np.int64)
        if len(missing):
            complete[name] = _join(ranking, cast(RowScorer, leg).rate(query, snapshot, missing), missing, snapshot)
            counts.append(f"{name} scored {len(missing)} more")
    return complete, (Note("detail", "complete: " + ", ".join(counts)),) if counts else ()


def _join(ranking: Ranking, scored: Sequence[Part], rows: Rows, snapshot: Snapshot) -> Ranking:
    """A leg's own candidates and those it only scored, as one ranking of that leg."""
    parts = [
        Part(own.name, own.op, np.concatenate([own.column, more.column]))
        for own, more in zip(ranking.parts, scored, strict=True)
    ]
    ids = np.concatenate([ranking.ids, snapshot.ids(rows)])
    every = Ranking.of(ids, parts, ranking.scale, rows=np.concatenate([np.asarray(ranking.rows), rows]))
    return stamp_ranks(arrange(every), int(ranking.priority[0]))
