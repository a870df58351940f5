"""BM25 over a version: PostgreSQL proposes from its index of terms, Assay scores.

    score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))     k1 = 1.2, b = 0.75

with N, df and avgdl over the live chunks: the same numbers, in the same order of operations, as the local backend's.
The server computes them too, in the same doubles, to send only the best; what it sends is scored again here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.backend.postgres import textsearch
from assay.backend.postgres.cover import Cover, covers, likely_floor, smallest_sets
from assay.backend.postgres.filters import Condition
from assay.backend.postgres.version_view import VersionView
from assay.backend.shared.bm25 import ScoredRows
from assay.index.words import K1, B, damping, saturation
from assay.types import Floats, Note, Rows

SERVED = "PostgreSQL's index of Assay's terms proposed, Assay's BM25 scored"
"""What served, for the trace."""
_MANY = 20_000
"""Postings of a query from which pg_textsearch, where it is there, proposes in place of our own index."""
_OVER = 4
"""Its proposals per answer asked for."""
_REACHABLE = 0.7
"""No guess at the k-th best score is higher than this share of what a chunk with every term at its best would have."""


@dataclass(frozen=True)
class TermLookup:
    """A query's terms with their numbers (-1: unknown), holders and weights."""

    terms: Sequence[str]
    numbers: Sequence[int]
    holders: Sequence[int]
    weights: Floats
    seen: Condition

    @staticmethod
    def of(view: VersionView, terms: Sequence[str], seen: Condition) -> TermLookup:
        found = view.holding(terms)
        return TermLookup(terms, [n for n, _ in found], [h for _, h in found], view.weights(terms), seen)

    @property
    def ideal(self) -> float:
        """Terms in no live chunk are charged the largest idf: a query of unknown words is far from its ideal."""
        return float(self.weights.sum() * (K1 + 1.0))

    @property
    def known(self) -> list[int]:
        """Places of the terms that some live chunk holds."""
        return [i for i, held in enumerate(self.holders) if held]


def best(view: VersionView, ask: TermLookup, k: int, holding: Condition) -> ScoredRows:
    """The best k rows among those that meet a condition on their terms, scored, by (score desc, id asc)."""
    known = ask.known
    # Terms ascend, so the place of one is found by halving: width_bucket is the server's binary search.
    places = ", ".join(f"width_bucket(%s::int, c.terms) AS p{i}" for i in known)
    counts = ", ".join(f"CASE WHEN terms[p{i}] = %s::int THEN counts[p{i}]::float8 ELSE 0 END AS t{i}" for i in known)
    gains = " + ".join(f"%s::float8 * (t{i} * {K1 + 1.0!r}::float8 / (t{i} + damped))" for i in known)
    damped = f"{K1!r}::float8 * ({1.0 - B!r}::float8 + {B!r}::float8 * length / %s::float8) AS damped"
    statement = (
        f"SELECT seq, id, length, {', '.join(f't{i}' for i in known)} FROM (SELECT seq, id, length, {damped}, {counts} "
        f"FROM (SELECT c.seq, c.id, c.length, c.terms, c.counts, {places} FROM chunk c "
        f"WHERE {holding.sql} AND {ask.seen.sql} OFFSET 0) AS placed OFFSET 0) AS candidate "
        f"ORDER BY {gains} DESC, id LIMIT %s"
    )
    numbers = [ask.numbers[i] for i in known]
    given = [view.average, *numbers, *numbers, *holding.given, *ask.seen.given, *ask.weights[known].tolist(), k]
    rows = view.read(statement, given, binary=True)
    view.names.learn([(row[0], row[1]) for row in rows])
    return _scored(view, ask, rows)


def rate(view: VersionView, ask: TermLookup, rows: Rows) -> ScoredRows:
    """What these rows score, in their order, whether they hold any of the terms or not."""
    given = np.zeros((len(ask.terms), len(rows)))
    if ask.known and len(rows):
        found = best(view, ask, len(rows), Condition("c.seq = ANY(%s)", (rows.tolist(),)))
        place = {seq: i for i, seq in enumerate(found.rows.tolist())}
        here = np.array([i for i, seq in enumerate(rows.tolist()) if seq in place], np.int64)
        given[:, here] = found.given[:, [place[int(seq)] for seq in rows[here]]]
    return ScoredRows.of(rows, given, ask.ideal)


def _none(ask: TermLookup) -> ScoredRows:
    return ScoredRows.of(np.empty(0, np.int64), np.empty((len(ask.terms), 0)), ask.ideal)


def _scored(view: VersionView, ask: TermLookup, rows: Sequence[tuple[Any, ...]]) -> ScoredRows:
    seqs = np.array([row[0] for row in rows], np.int64)
    damped = damping(np.array([row[2] for row in rows], np.float64), view.average)
    counts = np.zeros((len(ask.terms), len(rows)))
    for column, place in enumerate(ask.known):
        counts[place] = [row[3 + column] for row in rows]
    return ScoredRows.of(seqs, ask.weights[:, None] * saturation(counts, damped), ask.ideal)


# The operators are named in full: the extension intarray brings its own for integers, which our index does not serve.


def holding_all(numbers: Sequence[int]) -> Condition:
    return Condition("c.terms OPERATOR(pg_catalog.@>) %s::int[]", (list(numbers),))


def holding_any(numbers: Sequence[int]) -> Condition:
    return Condition("c.terms OPERATOR(pg_catalog.&&) %s::int[]", (list(numbers),))


def search(view: VersionView, ask: TermLookup, k: int) -> tuple[ScoredRows, Note]:
    """Chunks that hold all terms; where those are fewer than k, chunks that hold any. With what served."""
    numbers = [ask.numbers[i] for i in ask.known]
    terms = len(ask.terms)
    whole = 0
    if len(numbers) == terms:
        found = best(view, ask, k, holding_all(numbers))
        whole = len(found.rows)
        if whole >= k or terms == 1:
            return found, Note(
                "info", f"{SERVED}{'' if terms == 1 else f'; all {terms} terms stand in {k} or more chunks'}"
            )
    if not numbers:
        return _none(ask), Note("info", SERVED)
    by_other = _proposed(view, ask, k)
    if by_other is not None:
        return by_other
    found, which = _broadened(view, ask, k)
    chunks = "1 chunk" if whole == 1 else f"{whole} chunks"
    return found, Note(
        "info", f"{SERVED}; all {terms} terms stand in {chunks}: too few, so those with {which} were ranked"
    )


def _proposed(view: VersionView, ask: TermLookup, k: int) -> tuple[ScoredRows, Note] | None:
    """What pg_textsearch proposes, where it is there and our own index would have to read too much; else None."""
    if not view.textsearch or sum(ask.holders) < _MANY:
        return None
    order, given = textsearch.proposal([ask.numbers[i] for i in ask.known], k * _OVER)
    rows = view.read(f"SELECT c.seq FROM chunk c WHERE {ask.seen.sql} {order}", (*ask.seen.given, *given))
    if len(rows) < k:  # a filter left too few of its proposals
        return None
    found = best(view, ask, k, Condition("c.seq = ANY(%s)", ([row[0] for row in rows],)))
    return found, Note("info", f"{textsearch.SERVED}; {len(rows)} candidates, not proven to hold the best {k}")


def _broadened(view: VersionView, ask: TermLookup, k: int) -> tuple[ScoredRows, str]:
    """Any term will do, but not every holder of a frequent one is looked at: `cover` says whose absence is proven."""
    known = ask.known
    caps = [float(ask.weights[i]) * (K1 + 1.0) for i in known]
    every = tuple((place,) for place in range(len(known)))
    guess = likely_floor([ask.holders[i] for i in known], ask.weights[known].tolist(), view.size, k)
    asked = smallest_sets(caps, min(guess, _REACHABLE * sum(caps)))
    found = best(view, ask, k, _holding(asked, ask))
    needed = smallest_sets(caps, float(found.score.min())) if len(found.rows) == k else every
    if not covers(asked, needed):
        asked = needed
        found = best(view, ask, k, _holding(asked, ask))
    return found, "any of them" if covers(asked, every) else "enough of them (proven)"


def _holding(cover: Cover, ask: TermLookup) -> Condition:
    """Chunks that hold all terms of some set."""
    numbers = [ask.numbers[i] for i in ask.known]
    single = [numbers[places[0]] for places in cover if len(places) == 1]
    parts = [holding_all([numbers[i] for i in places]) for places in cover if len(places) > 1]
    parts += [holding_any(single)] if single else []
    return Condition(f"({' OR '.join(part.sql for part in parts)})", tuple(v for part in parts for v in part.given))
