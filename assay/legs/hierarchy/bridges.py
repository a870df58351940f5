"""Bridge hops: from the best chunks, over an entity that the query does not name, to other chunks that hold it.

For each entity of a seed the chunks that hold it are ranked with the query plus the entity, without the names that the
query itself has: what they lead to is known. Chunks that hold a name of the query are left out for the same reason; a
leg finds them directly. Entities are those of the graph, and compound words (sable-loader), which the graph does not
read as names.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.engine.checks import check_whole
from assay.errors import ConfigError
from assay.index.vectors import exact_scores
from assay.legs.hierarchy.node_scores import contains
from assay.legs.hierarchy.query_entities import QueryEntities
from assay.legs.hierarchy.row_scores import find_bm25
from assay.protocols import EntityPostings, Snapshot
from assay.text.names import find_compounds
from assay.types import Floats, Query, Rows
from assay.where import Mask

MOST_HOPS = 2
MOST_BRIDGES, MOST_COMPOUNDS = 32, 8
"""Entities, and compound words, that one hop follows: those of the best seeds, the rarest entities first."""
MOST_POSTINGS = 256
"""Rows of one entity that are ranked; a more frequent entity is no bridge."""
_WORDS = 0.6
"""The share of BM25 in the score of a chunk behind a bridge; the cosine has the rest."""


@dataclass(frozen=True, slots=True)
class HopSettings:
    """hops: how many in a row; seeds: chunks that a hop starts from; each: chunks for each entity;
    keep: the part of the seed's score that a chunk behind the bridge has for certain, in [0, 1]."""

    hops: int
    seeds: int = 10
    each: int = 2
    keep: float = 0.5


def check_hops(component: str, hops: int, seeds: int, each: int) -> None:
    """Check the settings of bridge hops."""
    check_whole(f"{component}.hops", hops, 0)
    if hops > MOST_HOPS:
        raise ConfigError(f"{component}.hops = {hops} is more than {MOST_HOPS}", "give 0, 1 or 2")
    check_whole(f"{component}.hop_seeds", seeds, 1)
    check_whole(f"{component}.hop_each", each, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Bridged:
    """A chunk behind a bridge: its row, its score, the entity, and the number of the hop."""

    row: int
    score: float
    entity: str
    hop: int


@dataclass(frozen=True, slots=True, eq=False)
class _Bridges:
    """Names, each at its best seed (a place in the frontier), and the rows behind them with their scores, name after
    name: `owners` are places in `names`. A name may have no row."""

    seeds: Rows
    names: list[str]
    owners: Rows
    rows: Rows
    scores: Floats


def follow_bridges(
    query: Query,
    snapshot: Snapshot,
    links: EntityPostings,
    named: QueryEntities,
    seeds: Sequence[tuple[int, float]],
    settings: HopSettings,
) -> tuple[list[Bridged], list[dict[str, Any]]]:
    """Return the chunks behind the bridges, each once with its best score, and the decisions as JSON.

    score = seed's score · (keep + (1 − keep) · s / best s of the hop),  s = 0.6 · BM25 / best BM25 + 0.4 · max(0, cos)
    """
    finder = _BridgeFinder(query, snapshot, links, named)
    found: dict[int, Bridged] = {}
    decisions: list[dict[str, Any]] = []
    frontier = list(seeds)[: settings.seeds]
    for hop in range(1, settings.hops + 1):
        bridges = finder.find(frontier)
        chosen, scores = _choose(bridges, np.array([score for _, score in frontier]), settings)
        rows, owners = bridges.rows[chosen], bridges.owners[chosen]
        ids = snapshot.ids(rows).tolist()
        seed_ids = snapshot.ids(np.array([row for row, _ in frontier], np.int64)).tolist()
        counts = np.bincount(bridges.owners, minlength=len(bridges.names)).tolist()
        reached: list[Bridged] = []
        for place in dict.fromkeys(owners.tolist()):
            first, end = np.searchsorted(owners, [place, place + 1]).tolist()
            name, values = bridges.names[place], scores[first:end].tolist()
            decisions.append(
                {
                    "hop": hop,
                    "seed": seed_ids[bridges.seeds[place]],
                    "entity": name,
                    "candidates": counts[place],
                    "chosen": ids[first:end],
                    "scores": values,
                }
            )
            reached += [Bridged(*one, name, hop) for one in zip(rows[first:end].tolist(), values, strict=True)]
        for one in reached:
            if one.row not in found or one.score > found[one.row].score:
                found[one.row] = one
        reached.sort(key=lambda one: (-one.score, one.row))
        frontier = list(dict.fromkeys((one.row, found[one.row].score) for one in reached))[: settings.seeds]
    return list(found.values()), decisions


def _choose(bridges: _Bridges, seed_scores: Floats, settings: HopSettings) -> tuple[Rows, Floats]:
    """The places of the best rows behind each name, best first, name after name, and their scores."""
    best = float(bridges.scores.max(initial=0.0))
    relative = bridges.scores / best if best > 0.0 else np.zeros(len(bridges.rows))
    scores = seed_scores[bridges.seeds[bridges.owners]] * (settings.keep + (1.0 - settings.keep) * relative)
    order = np.lexsort((bridges.rows, -scores, bridges.owners))
    owners = bridges.owners[order]
    chosen = order[np.arange(len(order)) - np.searchsorted(owners, owners) < settings.each]
    return chosen, scores[chosen]


class _BridgeFinder:
    """Finds the bridges of one query, each name once."""

    def __init__(self, query: Query, snapshot: Snapshot, links: EntityPostings, named: QueryEntities) -> None:
        self._snapshot, self._links, self._named = snapshot, links, named
        self._names = {*named.names, *find_compounds(query.text)}
        self._query = replace(query, text=_remove_names(query.text, self._names))
        self._used = set(self._names)

    def find(self, frontier: Sequence[tuple[int, float]]) -> _Bridges:
        """The names in the frontier that were not used yet, each at its best seed, with its rows and their scores."""
        picked = self._pick(frontier)
        seeds, names = np.array([seed for seed, *_ in picked], np.int64), [name for _, name, _ in picked]
        owners = np.repeat(np.arange(len(picked)), [len(rows) for *_, rows in picked])
        rows = np.concatenate([np.empty(0, np.int64), *(rows for *_, rows in picked)])
        known = contains(self._named.shared_rows, rows) | contains(np.sort([row for row, _ in frontier]), rows)
        owners, rows = owners[~known], rows[~known]
        if not len(rows):
            return _Bridges(seeds, names, owners, rows, np.empty(0))
        every, back = np.unique(rows, return_inverse=True)
        words, holds_name = self._score_words(names, owners, rows, every)
        scores = np.zeros(len(rows))
        bm25 = find_bm25(self._query, self._snapshot, every)[back] + words
        vectors, vector = self._snapshot.vectors(every), self._query.vector
        if vector is not None and vectors.shape[1] == len(vector):
            scores = (1.0 - _WORDS) * np.clip(exact_scores(vectors, vector), 0.0, 1.0)[back]
        fresh = ~holds_name[back]
        scores += _WORDS * bm25 / (float(bm25[fresh].max(initial=0.0)) or 1.0)
        return _Bridges(seeds, names, owners[fresh], rows[fresh], scores[fresh])

    def _pick(self, frontier: Sequence[tuple[int, float]]) -> list[tuple[int, str, Rows]]:
        """(place in the frontier, name, rows that hold it), best seeds first, and their rarest names."""
        if not frontier:
            return []
        seed_rows = np.array([row for row, _ in frontier], np.int64)
        owners, entities = self._links.entities_of(seed_rows)
        frequency = self._links.frequency(entities)
        order = np.lexsort((entities, frequency, owners))
        order = order[frequency[order] <= MOST_POSTINGS]
        entities_of: dict[int, list[int]] = {}
        for place in order.tolist():
            entities_of.setdefault(int(owners[place]), []).append(int(entities[place]))
        picked: list[tuple[int, str, int]] = []
        compounds: list[tuple[int, str]] = []
        for seed, chunk in enumerate(self._snapshot.chunks(seed_rows)):
            for word in find_compounds(chunk.indexed_text):
                if self._take(word, len(compounds), MOST_COMPOUNDS):
                    compounds.append((seed, word))
            for entity in entities_of.get(seed, ()):
                name = self._links.name(entity)
                if self._take(name, len(picked), MOST_BRIDGES):
                    picked.append((seed, name, entity))
        places, rows = self._links.rows_of(np.array([entity for *_, entity in picked], np.int64), self._query)
        linked = [(seed, name, rows[places == place]) for place, (seed, name, _) in enumerate(picked)]
        places, rows = self._links.rows_of_terms([word for _, word in compounds], self._query)
        compound = [(seed, word, rows[places == place]) for place, (seed, word) in enumerate(compounds)]
        return [*linked, *(one for one in compound if 0 < len(one[2]) <= MOST_POSTINGS)]

    def _take(self, name: str, taken: int, most: int) -> bool:
        """May this name still be followed? Each is followed once."""
        if name in self._used or taken >= most:
            return False
        self._used.add(name)
        return True

    def _score_words(self, names: Sequence[str], owners: Rows, rows: Rows, every: Rows) -> tuple[Floats, Mask]:
        """BM25 of each name at the rows behind it, and which of all rows hold a compound that the query names."""
        groups = np.split(rows, np.searchsorted(owners, np.arange(1, len(names))))
        terms = [set(self._snapshot.terms(name)) for name in names]
        own = sorted(name for name in self._names if "-" in name)
        text = " ".join(sorted({*own, *(word for name in names for word in name.split())}))
        asked = [*terms, *({name} for name in own)]
        scores = self._links.score_terms(replace(self._query, text=text), asked, [*groups, *([every] * len(own))])
        holds = np.zeros(len(every), np.bool_)
        for column in scores[len(names) :]:
            holds |= column > 0.0
        return np.concatenate(scores[: len(names)]), holds


def _remove_names(text: str, names: Collection[str]) -> str:
    """A query without the words of the names it holds."""
    words = {word for name in names for word in name.split()}
    return " ".join(word for word in text.split() if word.strip(".,;:!?\"'()").lower() not in words)
