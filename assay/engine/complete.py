"""Every candidate gets the score of every leg, also of the legs that did not find it.

A leg looks so many deep, so a fuser that adds scores must guess what a leg would have said of a chunk that only
another one found, and "nothing" is a bad guess: it stood at rank 101 as often as nowhere. Legs that can rate
(`protocols.Rater`) are asked instead. Nothing is added to the candidates: they are those of all legs, as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW
from assay.engine.order import arrange, as_source
from assay.protocols import Leg, Rater, Snapshot, offers
from assay.types import Note, Part, Query, Ranking, Rows


def completed(
    query: Query, found: Mapping[str, Ranking], legs: Mapping[str, Leg], snapshot: Snapshot
) -> tuple[dict[str, Ranking], tuple[Note, ...]]:
    """The rankings, each over the candidates of all, and what was done.

    A leg that found nothing or was skipped stays empty: its zeros would say no more, and an empty leg changes no
    order (law 6). Rankings without rows of this snapshot come from elsewhere and are left as they are.
    """
    known = [r.rows for r in found.values() if r.rows is not None and len(r)]
    if len(known) < 2:
        return dict(found), ()
    # What was brought from elsewhere nobody here can rate. Sets: for a few hundred rows numpy's are slower, and the
    # first np.unique of a process loads a module of ten milliseconds.
    union = {row for rows in known for row in rows.tolist() if 0 <= row < FIRST_FOREIGN_ROW}
    whole, said = dict(found), []
    for name, ranking in found.items():
        leg = legs[name]
        if not offers(type(leg), Rater) or not len(ranking) or ranking.rows is None:
            continue
        missing = np.array(sorted(union.difference(ranking.rows.tolist())), np.int64)
        if len(missing):
            whole[name] = _joined(ranking, cast(Rater, leg).rate(query, snapshot, missing), missing, snapshot)
            said.append(f"{name} scored {len(missing)} more")
    return whole, (Note("detail", "complete: " + ", ".join(said)),) if said else ()


def _joined(ranking: Ranking, rated: Sequence[Part], rows: Rows, snapshot: Snapshot) -> Ranking:
    """A leg's own candidates and those it only rated, as one ranking of that leg."""
    parts = [
        Part(own.name, own.op, np.concatenate([own.column, more.column]))
        for own, more in zip(ranking.parts, rated, strict=True)
    ]
    ids = np.concatenate([ranking.ids, snapshot.ids(rows)])
    every = Ranking.of(ids, parts, ranking.scale, rows=np.concatenate([np.asarray(ranking.rows), rows]))
    return as_source(arrange(every), int(ranking.priority[0]))
