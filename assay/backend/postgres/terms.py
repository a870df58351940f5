"""Terms as numbers, with how many live chunks hold each: what a search weighs by, kept true by every write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

_UPDATED = """
UPDATE term SET holding = holding + given.n FROM unnest(%s::text[], %s::bigint[]) AS given (term, n)
WHERE term.term = given.term RETURNING term.term, term.number
"""
_INSERTED = """
INSERT INTO term (term, holding) SELECT * FROM unnest(%s::text[], %s::bigint[]) RETURNING term, number
"""
_LEFT = """
UPDATE term SET holding = holding - lost.n
FROM (SELECT number, count(*) AS n FROM chunk, unnest(terms) AS number WHERE seq = ANY(%s) GROUP BY 1) AS lost
WHERE term.number = lost.number
"""


def took_in(db: psycopg.Connection[Any], chunks: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Count newborn chunks, each given as its terms, and number terms never seen; term → number.

    Two statements instead of one upsert, because that would use up a number for every term it finds there.
    """
    holding = Counter(term for counts in chunks for term in counts)
    names = sorted(holding)
    numbers: dict[str, int] = dict(db.execute(_UPDATED, (names, [holding[name] for name in names])).fetchall())
    fresh = [name for name in names if name not in numbers]
    if fresh:
        numbers.update(db.execute(_INSERTED, (fresh, [holding[name] for name in fresh])).fetchall())
    return numbers


def let_go(db: psycopg.Connection[Any], seqs: Sequence[int]) -> None:
    """Count out chunks that died."""
    db.execute(_LEFT, (list(seqs),))
