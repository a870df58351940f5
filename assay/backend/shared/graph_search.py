"""Graph search: rows that a walk reaches, with the parts of their scores, one per thing or link that led to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.backend.shared.graph_view import GraphView, Things
from assay.backend.shared.pagerank import WalkMass, push_mass
from assay.protocols import Matches, WalkSettings
from assay.types import Floats, Part, Query, Rows
from assay.where import Mask

MOST_PARTS = 48
"""Things that have a part of their own; what the others sent is one part, "via others"."""


def search_graph(
    view: GraphView, query: Query, settings: WalkSettings, allowed: Mask | None, top: Callable[[Rows, Floats], Rows]
) -> Matches:
    """Rows of a view that a walk reaches, with the parts of their scores; `top` gives the
    positions of the best, in order."""
    mass = run_walk(view, query, settings, allowed)
    if mass is None:
        return Matches(np.empty(0, np.int64), (), ideal=1.0)
    score = mass.received if settings.keep == "all" else mass.received - mass.initial
    if settings.keep == "new":
        score[settings.seeds] = 0.0
    rows = np.flatnonzero(score > 0.0)
    rows = rows[top(rows, score[rows])]
    return Matches(rows, explain_parts(view, mass, rows, settings), ideal=1.0)


def run_walk(view: GraphView, query: Query, settings: WalkSettings, allowed: Mask | None) -> WalkMass | None:
    """Walk from the query's things and the seeds; None when there is neither."""
    seeds = settings.seeds if allowed is None else settings.seeds[allowed[settings.seeds]]
    things = np.array(view.query_things(query.text), np.int64)
    if not len(seeds) and not len(things):
        return None
    share = 1.0 if not len(seeds) else settings.entity_share if len(things) else 0.0
    rank = 1.0 / np.arange(1.0, len(seeds) + 1.0)
    weight = view.weights[things]
    start_rows = (seeds, (1.0 - share) * (rank / rank.sum()))
    start_things = (things, share * (weight / weight.sum()) if len(things) else weight)
    return push_mass(view, start_rows, start_things, allowed, settings.damping, settings.least)


def explain_parts(view: GraphView, mass: WalkMass, rows: Rows, settings: WalkSettings) -> tuple[Part, ...]:
    """What made the scores of these rows; their left fold is the score, exactly."""
    owner, things = view.things_of(rows)
    flow = mass.sent[things]
    nonzero = flow > 0.0
    owner, things, flow = owner[nonzero], things[nonzero], flow[nonzero]
    parts = [Part("seed", "add", mass.initial[rows])] if settings.keep == "all" else []
    named = _select_strongest(view, things, flow)
    for thing, name in named:
        chosen = things == thing
        parts.append(Part(f"via {name}", "add", _sum_by_row(owner[chosen], flow[chosen], len(rows))))
    left = ~np.isin(things, [thing for thing, _ in named])
    parts.append(Part("via others", "add", _sum_by_row(owner[left], flow[left], len(rows))))
    parts.append(Part("settled", "mul", np.full(len(rows), 1.0 - settings.damping)))
    return tuple(parts)


def _select_strongest(view: GraphView, things: Things, flow: Floats) -> list[tuple[int, str]]:
    """The things with the largest total flow, by total, then by name."""
    every, place = np.unique(things, return_inverse=True)
    flows = np.bincount(place, flow, len(every))
    most = every[np.lexsort((every, -flows))[: 2 * MOST_PARTS]].tolist()
    total = dict(zip(every.tolist(), flows.tolist(), strict=True))
    named = sorted(((thing, view.name(thing)) for thing in most), key=lambda pair: (-total[pair[0]], pair[1]))
    return named[:MOST_PARTS]


def _sum_by_row(owner: Things, flow: Floats, size: int) -> Floats:
    column = np.zeros(size)
    np.add.at(column, owner, flow)
    return column
