"""Checks that a suite does not give its answers away: they are part of every receipt.

overlap       the share of a query's word n-grams that its gold sentences contain
isolation     evidence of a later hop shares no content word with the query
minimality    no gold sentence states the value of another group, so every group is needed
cues          words such as "all" or "compare" occur on both sides, so they do not give impossible queries away
templates     documents and queries share no template, nor do two template sets
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from assay.bench.rb006.world import TEMPLATE_SETS, World, find_shared_templates
from assay.bench.rb006.world.queries import WorldQuery
from assay.bench.rb006.world.query_rules import CUES, find_query_faults
from assay.bench.rb006.world.templates import find_template_faults

NGRAM = 4
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ContaminationReport:
    """What the checks found. `faults` is empty for a clean suite; the shares are for a reader to judge."""

    queries: int
    ngram: int
    mean_overlap: float
    max_overlap: float
    overlapping: int
    """Queries that share at least one n-gram with their gold."""
    isolation_faults: int
    minimality_faults: int
    cues: dict[str, tuple[int, int]]
    """Cue word → how many feasible and impossible queries have it."""
    shared_templates: int
    faults: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "cues": {cue: list(sides) for cue, sides in self.cues.items()}}


def check_contamination(world: World, ngram: int = NGRAM) -> ContaminationReport:
    """Run every check on the queries of a world."""
    overlaps = [measure_overlap(query, ngram) for query in world.queries if query.groups]
    isolation = [fault for query in world.queries for fault in find_query_faults(query, world.library)]
    minimality = [fault for query in world.queries for fault in find_redundant_groups(query)]
    cues = {cue: _count_cue(world.queries, cue) for cue in CUES}
    shared = find_template_faults(world.templates)
    for other in TEMPLATE_SETS.values():
        if other.name != world.templates.name:
            shared += find_shared_templates(world.templates, other)
    one_sided = [
        f"the cue word {cue!r} is on one side only" for cue, sides in cues.items() if 0 in sides and any(sides)
    ]
    return ContaminationReport(
        queries=len(world.queries),
        ngram=ngram,
        mean_overlap=round(sum(overlaps) / len(overlaps), 6) if overlaps else 0.0,
        max_overlap=round(max(overlaps, default=0.0), 6),
        overlapping=sum(overlap > 0 for overlap in overlaps),
        isolation_faults=len(isolation),
        minimality_faults=len(minimality),
        cues=cues,
        shared_templates=len(shared),
        faults=(*isolation, *minimality, *one_sided, *shared),
    )


def measure_overlap(query: WorldQuery, ngram: int = NGRAM) -> float:
    """The share of the query's n-grams that occur in its gold sentences; 0 for a query shorter than n words."""
    asked = _ngrams(query.text, ngram)
    gold = {gram for group in query.groups for sentence in group.sentences for gram in _ngrams(sentence.text, ngram)}
    return len(asked & gold) / len(asked) if asked else 0.0


def find_redundant_groups(query: WorldQuery) -> list[str]:
    """Find feasible queries in which a sentence of one group states the value of another, which is then not needed."""
    if not query.is_answerable:
        return []
    return [
        f"{query.id}: a sentence of {group.fact.attribute!r} also states {other.value!r} of {other.fact.attribute!r}"
        for group in query.groups
        for other in query.groups
        if group is not other
        and group.fact.subject == other.fact.subject
        and all(_states(sentence.text, other.value) for sentence in group.sentences)
    ]


def _states(sentence: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", sentence, re.IGNORECASE) is not None


def _ngrams(text: str, size: int) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[place : place + size]) for place in range(len(words) - size + 1)}


def _count_cue(queries: Sequence[WorldQuery], cue: str) -> tuple[int, int]:
    """How many feasible and impossible queries have a cue word."""
    pattern = re.compile(rf"\b{cue}\b", re.IGNORECASE)
    hits = [query.is_answerable for query in queries if pattern.search(query.text)]
    return sum(hits), len(hits) - sum(hits)
