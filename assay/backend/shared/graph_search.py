"""What a walk found: rows with the parts of their scores, each part a thing or link over which rows were reached."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.backend.shared.graph_view import GraphView, Things
from assay.backend.shared.pagerank import RankedRows, walk
from assay.protocols import Found, Walk
from assay.types import Floats, Part, Query, Rows
from assay.where import Mask

MOST_PARTS = 48
"""Things that have a part of their own; what the others sent is one part, "via others"."""


def reached(
    view: GraphView, query: Query, plan: Walk, allowed: Mask | None, best: Callable[[Rows, Floats], Rows]
) -> Found:
    """Rows of a view that a walk reaches, with the parts of their scores; `best` gives the places of the best, in
    order."""
    found = walked(view, query, plan, allowed)
    if found is None:
        return Found(np.empty(0, np.int64), (), ideal=1.0)
    score = found.received if plan.keep == "all" else found.received - found.begun
    if plan.keep == "new":
        score[plan.seeds] = 0.0
    rows = np.flatnonzero(score > 0.0)
    rows = rows[best(rows, score[rows])]
    return Found(rows, parts_of(view, found, rows, plan), ideal=1.0)


def walked(view: GraphView, query: Query, plan: Walk, allowed: Mask | None) -> RankedRows | None:
    """The walk from the query's things and the seeds; None when there is nowhere to begin."""
    seeds = plan.seeds if allowed is None else plan.seeds[allowed[plan.seeds]]
    things = np.array(view.meant(query.text), np.int64)
    if not len(seeds) and not len(things):
        return None
    share = 1.0 if not len(seeds) else plan.entity_share if len(things) else 0.0
    rank = 1.0 / np.arange(1.0, len(seeds) + 1.0)
    weight = view.weights[things]
    begin_rows = (seeds, (1.0 - share) * (rank / rank.sum()))
    begin_things = (things, share * (weight / weight.sum()) if len(things) else weight)
    return walk(view, begin_rows, begin_things, allowed, plan.damping, plan.least)


def parts_of(view: GraphView, found: RankedRows, rows: Rows, plan: Walk) -> tuple[Part, ...]:
    """What made the scores of these rows; their left fold is the score, exactly."""
    owner, things = view.things_of(rows)
    flow = found.sent[things]
    reached = flow > 0.0
    owner, things, flow = owner[reached], things[reached], flow[reached]
    parts = [Part("seed", "add", found.begun[rows])] if plan.keep == "all" else []
    named = _strongest(view, things, flow)
    for thing, name in named:
        chosen = things == thing
        parts.append(Part(f"via {name}", "add", _column(owner[chosen], flow[chosen], len(rows))))
    left = ~np.isin(things, [thing for thing, _ in named])
    parts.append(Part("via others", "add", _column(owner[left], flow[left], len(rows))))
    parts.append(Part("settled", "mul", np.full(len(rows), 1.0 - plan.damping)))
    return tuple(parts)


def _strongest(view: GraphView, things: Things, flow: Floats) -> list[tuple[int, str]]:
    """The things that brought most, by what they brought in all, then by name."""
    every, place = np.unique(things, return_inverse=True)
    brought = np.bincount(place, flow, len(every))
    most = every[np.lexsort((every, -brought))[: 2 * MOST_PARTS]].tolist()
    total = dict(zip(every.tolist(), brought.tolist(), strict=True))
    named = sorted(((thing, view.name(thing)) for thing in most), key=lambda one: (-total[one[0]], one[1]))
    return named[:MOST_PARTS]


def _column(owner: Things, flow: Floats, size: int) -> Floats:
    column = np.zeros(size)
    np.add.at(column, owner, flow)
    return column
