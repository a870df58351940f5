"""BM25 over a version: PostgreSQL proposes from its index of terms, Assay scores.

    score(q, d) = Σ_t boost(t) · idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))

with N, df and avgdl over the live chunks: the same numbers, in the same order of operations, as the local backend's.
The server computes them too, in the same doubles, to send only the best; what it sends is scored again here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.backend.postgres import textsearch
from assay.backend.postgres.filters import Condition
from assay.backend.postgres.maxscore import TermSets, covers, estimate_floor, minimal_sets
from assay.backend.postgres.version_view import VersionView
from assay.backend.shared.bm25 import ScoredRows
from assay.backend.shared.query_terms import QueryTerms
from assay.index.similarity import K1, Bm25Similarity
from assay.types import Floats, Note, Rows

SERVED = "PostgreSQL's index of Assay's terms proposed, Assay's BM25 scored"
"""The trace's note on what served."""
_TEXTSEARCH_FROM = 20_000
"""Postings of a query from which pg_textsearch, where available, proposes instead of our own index."""
_OVERFETCH = 4
"""Candidates it proposes per result."""
_BELOW = 1.0 - 1e-12
"""Just below the k-th best score: with k1 = 0 a chunk may score all that its terms can give, and tie with it."""
_REACHABLE = 0.7
"""No guess at the k-th best score is higher than this share of what a chunk with every term at its best would have."""


@dataclass(frozen=True)
class TermLookup:
    """A query's terms with their numbers (-1: unknown), holders, boosts and weights (idf · boost)."""

    terms: Sequence[str]
    numbers: Sequence[int]
    holders: Sequence[int]
    boosts: Floats
    weights: Floats
    seen: Condition
    similarity: Bm25Similarity

    @staticmethod
    def read(view: VersionView, query: QueryTerms, seen: Condition) -> TermLookup:
        found = view.holding(query.terms)
        numbers, holders = [n for n, _ in found], [h for _, h in found]
        weights = view.idf(query.terms) * query.boosts
        return TermLookup(query.terms, numbers, holders, query.boosts, weights, seen, view.similarity)

    @property
    def ideal(self) -> float:
        """Terms in no live chunk are charged the largest idf: a query of unknown words is far from its ideal."""
        return self.similarity.ideal(self.weights)

    @property
    def known(self) -> list[int]:
        """Places of the terms that some live chunk holds."""
        return [i for i, held in enumerate(self.holders) if held]


def search_best(view: VersionView, lookup: TermLookup, k: int, holding: Condition) -> ScoredRows:
    """The best k rows among those that meet a condition on their terms, scored, by (score desc, id asc)."""
    known = lookup.known
    # Terms ascend, so width_bucket, the server's binary search, finds the position of one.
    places = ", ".join(f"width_bucket(%s::int, c.terms) AS p{i}" for i in known)
    counts = ", ".join(f"CASE WHEN terms[p{i}] = %s::int THEN counts[p{i}]::float8 ELSE 0 END AS t{i}" for i in known)
    gains = " + ".join(_gain(view.similarity, f"t{i}") for i in known)
    k1, b = view.similarity.k1, view.similarity.b
    damped = f"{k1!r}::float8 * ({1.0 - b!r}::float8 + {b!r}::float8 * length / %s::float8) AS damped"
    statement = (
        f"SELECT seq, id, length, {', '.join(f't{i}' for i in known)} FROM (SELECT seq, id, length, {damped}, {counts} "
        f"FROM (SELECT c.seq, c.id, c.length, c.terms, c.counts, {places} FROM chunk c "
        f"WHERE {holding.sql} AND {lookup.seen.sql} OFFSET 0) AS placed OFFSET 0) AS candidate "
        f"ORDER BY {gains} DESC, id LIMIT %s"
    )
    numbers = [lookup.numbers[i] for i in known]
    parameters = [
        view.average,
        *numbers,
        *numbers,
        *holding.parameters,
        *lookup.seen.parameters,
        *lookup.weights[known].tolist(),
        k,
    ]
    rows = view.read(statement, parameters, binary=True)
    view.names.add([(row[0], row[1]) for row in rows])
    return _score(view, lookup, rows)


def _gain(similarity: Bm25Similarity, count: str) -> str:
    """A term's share of the score in SQL; its weight is a parameter. What damps nothing must not divide a 0."""
    divisor = f"({count} + damped)"
    if similarity.may_be_undamped:
        divisor = f"(CASE WHEN {count} > 0 THEN {count} + damped ELSE 1 END)"
    return f"%s::float8 * ({count} * {similarity.largest_gain!r}::float8 / {divisor})"


def score_rows(view: VersionView, lookup: TermLookup, rows: Rows) -> ScoredRows:
    """The scores of these rows, in their order, whether they hold any of the terms or not."""
    contributions = np.zeros((len(lookup.terms), len(rows)))
    if lookup.known and len(rows):
        found = search_best(view, lookup, len(rows), Condition("c.seq = ANY(%s)", (rows.tolist(),)))
        place = {seq: i for i, seq in enumerate(found.rows.tolist())}
        matched = np.array([i for i, seq in enumerate(rows.tolist()) if seq in place], np.int64)
        contributions[:, matched] = found.contributions[:, [place[int(seq)] for seq in rows[matched]]]
    return ScoredRows.from_contributions(rows, contributions, lookup.ideal)


def _empty(lookup: TermLookup) -> ScoredRows:
    return ScoredRows.from_contributions(np.empty(0, np.int64), np.empty((len(lookup.terms), 0)), lookup.ideal)


def _score(view: VersionView, lookup: TermLookup, rows: Sequence[tuple[Any, ...]]) -> ScoredRows:
    seqs = np.array([row[0] for row in rows], np.int64)
    damped = view.similarity.damping(np.array([row[2] for row in rows], np.float64), view.average)
    counts = np.zeros((len(lookup.terms), len(rows)))
    for column, place in enumerate(lookup.known):
        counts[place] = [row[3 + column] for row in rows]
    return ScoredRows.from_contributions(
        seqs, lookup.weights[:, None] * view.similarity.saturation(counts, damped), lookup.ideal
    )


# The operators are named in full: the extension intarray brings its own for integers, which our index does not serve.


def holding_all(numbers: Sequence[int]) -> Condition:
    return Condition("c.terms OPERATOR(pg_catalog.@>) %s::int[]", (list(numbers),))


def holding_any(numbers: Sequence[int]) -> Condition:
    return Condition("c.terms OPERATOR(pg_catalog.&&) %s::int[]", (list(numbers),))


def search(view: VersionView, lookup: TermLookup, k: int) -> tuple[ScoredRows, Note]:
    """Chunks that hold all terms; where those are fewer than k, chunks that hold any. With what served."""
    numbers = [lookup.numbers[i] for i in lookup.known]
    terms = len(lookup.terms)
    whole = 0
    if len(numbers) == terms:
        found = search_best(view, lookup, k, holding_all(numbers))
        whole = len(found.rows)
        if whole >= k or terms == 1:
            return found, Note(
                "info", f"{SERVED}{'' if terms == 1 else f'; all {terms} terms stand in {k} or more chunks'}"
            )
    if not numbers:
        return _empty(lookup), Note("info", SERVED)
    proposed = _search_textsearch(view, lookup, k)
    if proposed is not None:
        return proposed
    found, which = _rank_any(view, lookup, k)
    chunks = "1 chunk" if whole == 1 else f"{whole} chunks"
    return found, Note(
        "info", f"{SERVED}; all {terms} terms stand in {chunks}: too few, so those with {which} were ranked"
    )


def search_any(view: VersionView, lookup: TermLookup, k: int) -> tuple[ScoredRows, Note]:
    """Chunks that hold any of the terms, however many hold all of them. With what served."""
    if not lookup.known:
        return _empty(lookup), Note("info", SERVED)
    found, which = _rank_any(view, lookup, k)
    return found, Note("info", f"{SERVED}; chunks with {which} were ranked")


def _search_textsearch(view: VersionView, lookup: TermLookup, k: int) -> tuple[ScoredRows, Note] | None:
    """Score what pg_textsearch proposes, where it is available and our own index would read too much; else None."""
    if not view.textsearch or sum(lookup.holders) < _TEXTSEARCH_FROM:
        return None
    order, parameters = textsearch.order_clause(
        [(lookup.numbers[i], max(1, round(lookup.boosts[i]))) for i in lookup.known], k * _OVERFETCH
    )
    rows = view.read(
        f"SELECT c.seq FROM chunk c WHERE {lookup.seen.sql} {order}", (*lookup.seen.parameters, *parameters)
    )
    if len(rows) < k:  # a filter left too few of its proposals
        return None
    found = search_best(view, lookup, k, Condition("c.seq = ANY(%s)", ([row[0] for row in rows],)))
    return found, Note("info", f"{textsearch.SERVED}; {len(rows)} candidates, not proven to hold the best {k}")


def _rank_any(view: VersionView, lookup: TermLookup, k: int) -> tuple[ScoredRows, str]:
    """Rank chunks that hold any term. Chunks with frequent terms only are skipped where `maxscore` proves that they
    cannot be among the best k."""
    known = lookup.known
    caps = [float(lookup.weights[i]) * view.similarity.largest_gain for i in known]
    every = tuple((place,) for place in range(len(known)))
    guess = estimate_floor([lookup.holders[i] for i in known], lookup.weights[known].tolist(), view.size, k)
    guess *= view.similarity.largest_gain / (K1 + 1.0)
    sets = minimal_sets(caps, min(guess, _REACHABLE * sum(caps)))
    found = search_best(view, lookup, k, _holding(sets, lookup))
    needed = minimal_sets(caps, float(found.score.min()) * _BELOW) if len(found.rows) == k else every
    if not covers(sets, needed):
        sets = needed
        found = search_best(view, lookup, k, _holding(sets, lookup))
    return found, "any of them" if covers(sets, every) else "enough of them (proven)"


def _holding(cover: TermSets, lookup: TermLookup) -> Condition:
    """Chunks that hold all terms of some set."""
    numbers = [lookup.numbers[i] for i in lookup.known]
    single = [numbers[places[0]] for places in cover if len(places) == 1]
    parts = [holding_all([numbers[i] for i in places]) for places in cover if len(places) > 1]
    parts += [holding_any(single)] if single else []
    return Condition(
        f"({' OR '.join(part.sql for part in parts)})", tuple(v for part in parts for v in part.parameters)
    )
