"""Personalised PageRank over rows and the things they hold, by pushing mass outwards until little is left to push.

    x = (1 − d) · s + d · x · P

s is where the walk begins (it sums to at most 1), d the damping. From a row the walk goes to one of its things, by
weight; from a thing to one of its rows, all alike. What a node receives, it passes on d of; the rest is its score:

    score(row) = (1 − d) · (initial mass + Σ over its things of what each sent to it)

A row that has received no more than `least` since its last push does not push, nor does a thing with no more than
that for each of its rows: scores are too low by what is held back (`least` = 0: by rounding only). Mass is
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
class WalkMass:
    """Mass that every row has received, that it started with, and that every thing sent to each of its rows."""

    received: Floats
    initial: Floats
    sent: Floats


def push_mass(
    view: GraphView,
    rows: tuple[Rows, Floats],
    things: tuple[Things, Floats],
    allowed: Mask | None,
    damping: float,
    least: float,
) -> WalkMass:
    """Start at rows and things with the given masses; only allowed rows receive mass."""
    waiting = np.zeros(view.total)
    np.add.at(waiting, rows[0], _on_grid(rows[1]))
    at_things = np.zeros(view.things)
    np.add.at(at_things, things[0], _on_grid(things[1]))
    initial, received, sent = waiting.copy(), waiting.copy(), np.zeros(view.things)
    enough = least * view.frequency
    for _ in range(MOST_ROUNDS):
        rows_due = np.flatnonzero(waiting > least)
        _push_from_rows(view, rows_due, waiting[rows_due], damping, at_things)
        waiting[rows_due] = 0.0
        things_due = np.flatnonzero(at_things > enough)
        if not len(things_due):
            break
        share = _push_from_things(view, things_due, at_things[things_due], damping, allowed, (received, waiting))
        at_things[things_due] = 0.0
        sent[things_due] += share
    return WalkMass(received, initial, sent)


def _push_from_rows(view: GraphView, rows: Rows, mass: Floats, damping: float, at_things: Floats) -> None:
    """Pass mass from rows to their things, by weight."""
    owner, things = view.things_of(rows)
    weight = view.weights[things]
    whole = np.bincount(owner, weight, len(rows))
    np.add.at(at_things, things, _on_grid(damping * mass[owner] * (weight / whole[owner])))


def _push_from_things(
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
    """Round down to the grid, so that the total stays at most 1."""
    grid: Floats = np.floor(np.asarray(mass, np.float64) / GRID) * GRID
    return grid
