"""Personalised PageRank over rows and the things they hold, by pushing mass outwards until little is left to push.

    x = (1 − d) · s + d · x · P

s is where the walk begins (it sums to at most 1), d the damping. From a row the walk goes to one of its things, by
weight; from a thing to one of its rows, all alike. What a node receives, it passes on d of; the rest is its score:

    score(row) = (1 − d) · (begun there + Σ over its things of what each sent to it)

A row that has received no more than `least` since it last passed anything on keeps it, and so does a thing with no more
than that for each of its rows: scores are low by what is held back so (`least` = 0: by nothing but rounding). Mass is
counted in multiples of 2**-48: sums of them are exact, so neither the order of rows nor the number of threads changes
a bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.backend.shared.graph_view import GraphView, Things
from assay.types import Floats, Rows
from assay.where import Mask

GRID = 2.0**-48
MOST_ROUNDS = 64


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """What every row has received, what it began with, and what every thing sent to each of its rows."""

    received: Floats
    begun: Floats
    sent: Floats


def walk(
    view: GraphView,
    rows: tuple[Rows, Floats],
    things: tuple[Things, Floats],
    allowed: Mask | None,
    damping: float,
    least: float,
) -> RankedRows:
    """Begin at rows and things with the given masses; only allowed rows are walked over."""
    waiting = np.zeros(view.total)
    np.add.at(waiting, rows[0], _on_grid(rows[1]))
    at_things = np.zeros(view.things)
    np.add.at(at_things, things[0], _on_grid(things[1]))
    begun, received, sent = waiting.copy(), waiting.copy(), np.zeros(view.things)
    enough = least * view.frequency
    for _ in range(MOST_ROUNDS):
        here = np.flatnonzero(waiting > least)
        _from_rows(view, here, waiting[here], damping, at_things)
        waiting[here] = 0.0
        there = np.flatnonzero(at_things > enough)
        if not len(there):
            break
        share = _from_things(view, there, at_things[there], damping, allowed, (received, waiting))
        at_things[there] = 0.0
        sent[there] += share
    return RankedRows(received, begun, sent)


def _from_rows(view: GraphView, rows: Rows, mass: Floats, damping: float, at_things: Floats) -> None:
    """Pass mass from rows to their things, by weight."""
    owner, things = view.things_of(rows)
    weight = view.weights[things]
    whole = np.bincount(owner, weight, len(rows))
    np.add.at(at_things, things, _on_grid(damping * mass[owner] * (weight / whole[owner])))


def _from_things(
    view: GraphView, things: Things, mass: Floats, damping: float, allowed: Mask | None, into: tuple[Floats, Floats]
) -> Floats:
    """Pass mass from things to their rows, all alike; what each thing sent to each of its rows."""
    owner, rows = view.rows_of(things, allowed)
    many = np.bincount(owner, minlength=len(things))
    share = _on_grid(damping * mass / np.maximum(many, 1))
    for column in into:
        np.add.at(column, rows, share[owner])
    return share


def _on_grid(mass: Floats) -> Floats:
    """Never more than there is, so that the whole stays at most 1."""
    grid: Floats = np.floor(np.asarray(mass, np.float64) / GRID) * GRID
    return grid
