"""Maintains the term table: a number per term, and how many live chunks hold it (document frequency)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

_UPDATE = """
UPDATE term SET holding = holding + given.n FROM unnest(%s::text[], %s::bigint[]) AS given (term, n)
WHERE term.term = given.term RETURNING term.term, term.number
"""
_INSERT = """
INSERT INTO term (term, holding) SELECT * FROM unnest(%s::text[], %s::bigint[]) RETURNING term, number
"""
_SUBTRACT = """
UPDATE term SET holding = holding - lost.n
FROM (SELECT number, count(*) AS n FROM chunk, unnest(terms) AS number WHERE seq = ANY(%s) GROUP BY 1) AS lost
WHERE term.number = lost.number
"""


def add_terms(db: psycopg.Connection[Any], chunks: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add inserted chunks, each given as its term counts, and number new terms; returns term → number.

    Two statements instead of one upsert, which would use up a number for every existing term.
    """
    holding = Counter(term for counts in chunks for term in counts)
    names = sorted(holding)
    numbers: dict[str, int] = dict(db.execute(_UPDATE, (names, [holding[name] for name in names])).fetchall())
    fresh = [name for name in names if name not in numbers]
    if fresh:
        numbers.update(db.execute(_INSERT, (fresh, [holding[name] for name in fresh])).fetchall())
    return numbers


def remove_terms(db: psycopg.Connection[Any], seqs: Sequence[int]) -> None:
    """Subtract deleted chunks from the counts."""
    db.execute(_SUBTRACT, (list(seqs),))
