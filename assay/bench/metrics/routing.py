"""Routing errors of a walk down a tree, computed from its log and the nodes that lead to the evidence.

For each level, over the queries of which a correct node was in the beam above it (a node is correct when an evidence
chunk lies below it):

    any       no selected child is correct                                     (the gate: ε_any)
    node      of the expanded correct nodes, those without a correct selected child
    evidence  the share of evidence groups below the beam that no selected child leads to    (graded: ε_ev)
    every     some expanded node has no correct selected child: the literal form, which no diverse beam passes
    chance    the probability of `any` for as many children drawn at random
    lost      of all queries, those without a correct node in the beam after the level       (cumulative)

Evidence of a later hop does not count at the levels: the walk is not asked to find what the query does not describe. It
counts at its hop, which is a level of its own: the groups of hop h that no bridge reached, where those of the hop
before were found.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

from assay.bench.stats.binomial import clopper_pearson

Log = Mapping[str, Any]
"""What the leg `beam` writes on the trace under "routing"."""


@dataclass(frozen=True, slots=True)
class LevelOutcome:
    """What one query's walk did at one level; `reached` says whether a correct node was in the beam above it."""

    level: int
    reached: bool
    any: bool
    node: float
    evidence: float
    every: bool
    chance: float
    lost: bool
    children: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HopOutcome:
    """Of one query's evidence at one hop: `reached` says whether the evidence before it was found, `evidence` is the
    share of its groups that no bridge led to."""

    hop: int
    reached: bool
    evidence: float


def list_ancestors(parent: Sequence[int], leaves: Collection[int]) -> frozenset[int]:
    """The nodes on the paths from the root to these leaves."""
    found: set[int] = set()
    for leaf in leaves:
        node = int(leaf)
        while node >= 0 and node not in found:
            found.add(node)
            node = int(parent[node])
    return frozenset(found)


def measure_levels(log: Log, groups: Sequence[Collection[int]], depth: int) -> list[LevelOutcome]:
    """Measure one walk. `groups` has for each group of equivalent evidence the nodes that lead to it; `depth` is the
    number of levels of the tree."""
    correct = frozenset().union(*groups)
    beams: dict[int, set[int]] = {0: {0}}
    by_level: dict[int, list[Mapping[str, Any]]] = {}
    for decision in log["levels"]:
        by_level.setdefault(decision["level"], []).append(decision)
        beams.setdefault(decision["level"], set()).update(decision["chosen"])
    return [
        _measure_level(level, by_level.get(level, []), beams.get(level - 1, set()), groups, correct)
        for level in range(1, depth + 1)
    ]


def _measure_level(
    level: int,
    decisions: Sequence[Mapping[str, Any]],
    above: Collection[int],
    groups: Sequence[Collection[int]],
    correct: frozenset[int],
) -> LevelOutcome:
    chosen = {child for decision in decisions for child in decision["chosen"]}
    on_path = [decision for decision in decisions if decision["node"] in correct]
    hit = [bool(correct.intersection(decision["chosen"])) for decision in decisions]
    hit_on_path = [bool(correct.intersection(decision["chosen"])) for decision in on_path]
    below = [group for group in groups if not set(group).isdisjoint(above)]
    missed = [group for group in below if chosen.isdisjoint(group)]
    chance = 1.0
    for decision in on_path:
        children, good = len(decision["children"]), len(correct.intersection(decision["children"]))
        draws = len(decision["chosen"])
        chance *= comb(children - good, draws) / comb(children, draws)
    return LevelOutcome(
        level=level,
        reached=bool(on_path),
        any=bool(on_path) and chosen.isdisjoint(correct),
        node=1.0 - sum(hit_on_path) / len(hit_on_path) if on_path else 0.0,
        evidence=len(missed) / len(below) if below else 0.0,
        every=not all(hit),
        chance=chance if on_path else 0.0,
        lost=chosen.isdisjoint(correct),
        children=tuple(len(decision["chosen"]) for decision in decisions),
    )


def measure_hops(log: Log, found: Collection[str], groups: Mapping[int, Sequence[Collection[str]]]) -> list[HopOutcome]:
    """Measure the bridges of one query. `found` are the chunks of the leaves that the walk reached, `groups` the chunks
    of each group of evidence by the hop that asks for it, from 1."""
    known = set(found)
    outcomes = []
    for hop in sorted(hop for hop in groups if hop > 1):
        before = groups.get(hop - 1, ())
        reached = all(not known.isdisjoint(group) for group in before)
        for decision in log.get("hops", ()):
            if decision["hop"] == hop - 1:
                known.update(decision["chosen"])
        missed = [group for group in groups[hop] if known.isdisjoint(group)]
        outcomes.append(HopOutcome(hop, reached, len(missed) / len(groups[hop])))
    return outcomes


def summarise_levels(walks: Sequence[Sequence[LevelOutcome]]) -> list[dict[str, Any]]:
    """One line for each level, with an exact interval of ε_any; None where no query reached the level."""
    lines = []
    for level in sorted({outcome.level for walk in walks for outcome in walk}):
        every = [outcome for walk in walks for outcome in walk if outcome.level == level]
        reached = [outcome for outcome in every if outcome.reached]
        misses, count = sum(outcome.any for outcome in reached), len(reached)
        interval = clopper_pearson(misses, count) if count else None
        children = [number for outcome in every for number in outcome.children]
        lines.append(
            {
                "level": level,
                "queries": count,
                "misses": misses,
                "eps_any": misses / count if count else None,
                "interval": [interval.low, interval.high] if interval else None,
                "eps_node": _mean([outcome.node for outcome in reached]),
                "eps_evidence": _mean([outcome.evidence for outcome in reached]),
                "eps_every": _mean([float(outcome.every) for outcome in reached]),
                "chance": _mean([outcome.chance for outcome in reached]),
                "lost": _mean([float(outcome.lost) for outcome in every]),
                "children": _mean([float(number) for number in children]),
            }
        )
    return lines


def summarise_hops(queries: Sequence[Sequence[HopOutcome]]) -> list[dict[str, Any]]:
    """One line for each hop: the queries that reached it, and the share of its evidence that no bridge led to."""
    lines = []
    for hop in sorted({outcome.hop for query in queries for outcome in query}):
        every = [outcome for query in queries for outcome in query if outcome.hop == hop]
        reached = [outcome for outcome in every if outcome.reached]
        lines.append(
            {
                "hop": hop,
                "queries": len(every),
                "reached": len(reached),
                "eps_evidence": _mean([outcome.evidence for outcome in reached]),
                "lost": _mean([outcome.evidence for outcome in every]),
            }
        )
    return lines


def measure_survival(levels: Sequence[LevelOutcome], hops: Sequence[HopOutcome] = ()) -> float:
    """Π (1 − ε_ev) over the levels of one walk and its hops, each of which counts as a level."""
    passed = [(outcome.reached, outcome.evidence) for outcome in levels]
    passed += [(outcome.reached, outcome.evidence) for outcome in hops]
    survival = 1.0
    for reached, missed in passed:
        survival *= 1.0 - missed if reached else 0.0
    return survival


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
