"""Uses pg_textsearch where the server has it: a block-max BM25 index that proposes candidates for frequent terms.

It indexes the numbers of our terms ("t12 t57 t57"), so one analyser serves all. Its statistics count deleted rows and
its order is its own, so it only proposes, and only where scanning our own index would take long; Assay scores its
candidates, and the trace says that it served. The owner of the database switches it on:

    shared_preload_libraries = 'pg_textsearch'      CREATE EXTENSION pg_textsearch;      assay optimize
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

INDEX = "said_bm25"
SERVED = "pg_textsearch proposed from Assay's terms, Assay's BM25 scored"
_CREATE_FUNCTION = """
CREATE OR REPLACE FUNCTION said(terms integer[], counts integer[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT string_agg(repeat('t' || term || ' ', count), '') FROM unnest(terms, counts) AS one (term, count))
"""
CREATE = f"CREATE INDEX {INDEX} ON chunk USING bm25 (said(terms, counts)) WITH (text_config = 'simple')"
PRESENT = f"""
EXISTS (SELECT 1 FROM pg_extension, pg_index
  WHERE extname = 'pg_textsearch' AND indexrelid = to_regclass('{INDEX}') AND indisvalid)
"""
SWITCHED_ON = "SELECT 1 FROM pg_extension WHERE extname = 'pg_textsearch'"


def build(db: psycopg.Connection[Any]) -> bool:
    """Build its index if the extension is switched on and the index is missing; False when nothing was done.

    A server whose pg_textsearch cannot build it (an old one, or one that was not preloaded) goes on without.
    """
    import psycopg

    row = db.execute(f"SELECT {PRESENT}").fetchone()
    if (row and row[0]) or not db.execute(SWITCHED_ON).fetchone():
        return False
    with contextlib.suppress(psycopg.Error):
        db.execute(_CREATE_FUNCTION)
        db.execute(CREATE)
        return True
    return False


def order_clause(terms: Sequence[tuple[int, int]], fetch: int) -> tuple[str, tuple[Any, ...]]:
    """The end of a statement over `chunk c`: its best candidates first, at most `fetch`. A term is its number and how
    often to repeat it."""
    query = " ".join(f"t{number}" for number, count in terms for _ in range(count))
    return f"ORDER BY said(c.terms, c.counts) <@> to_bm25query(%s, '{INDEX}') LIMIT %s", (query, fetch)
