"""Maintains the server's indexes: builds the vector index, reanalyses words, vacuums deleted rows."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from assay.backend.postgres import hnsw
from assay.backend.postgres.insert import number_terms
from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.terms import add_terms
from assay.errors import StoreError
from assay.types import Chunk, Progress

if TYPE_CHECKING:
    import psycopg

_BATCH = 2_000
_POLL_S = 0.5  # seconds between two polls of an index build
_PROGRESS = """
SELECT blocks_done, blocks_total FROM pg_stat_progress_create_index
JOIN pg_class c ON c.oid = relid
WHERE c.relnamespace = current_schema()::regnamespace
  AND phase = 'building index: loading tuples' AND blocks_done < blocks_total
"""
_RECOUNT = """
UPDATE term SET holding = coalesce(n, 0) FROM term t LEFT JOIN (
  SELECT held, count(*) AS n FROM chunk, unnest(terms) AS held WHERE died IS NULL GROUP BY held
) AS live ON held = t.number WHERE term.number = t.number
"""


def is_outdated(store: PostgresStore) -> bool:
    """Were the words of this store analysed by another version of the analyser?"""
    return bool(store.setting("analyser") != store.analyser.digest)


def build_index(store: PostgresStore, least: int, progress: Progress) -> bool:
    """Build the vector index once there are enough vectors; readers and writers are not blocked."""
    progress("indexing vectors", 0, 1)
    with _report_progress(store, progress), store.autocommit() as db:
        built = hnsw.build(db, store.schema, store.settings["vectors"], store.settings["dim"], least)
    progress("indexing vectors", 1, 1)
    return built


@contextlib.contextmanager
def _report_progress(store: PostgresStore, progress: Progress) -> Iterator[None]:
    """While the block runs, report the server's progress on the index it builds."""
    ended = threading.Event()

    def poll() -> None:
        with contextlib.suppress(StoreError):  # the build itself reports errors
            while not ended.wait(_POLL_S):
                for done, total in store.read(lambda db: db.execute(_PROGRESS).fetchall()):
                    progress("indexing vectors", done, total)

    watch = threading.Thread(target=poll, name="assay-watch-index", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()


def refresh_statistics(store: PostgresStore) -> None:
    """Merge the pending lists of the GIN indexes, and update the planner's statistics."""
    with store.autocommit() as db:
        for name in ("holding", "saying"):
            db.execute("SELECT gin_clean_pending_list(%s::regclass)", (name,))
        for table in ("chunk", "body", "term", store.settings.get("vectors")):
            if table:
                db.execute(f"ANALYZE {table}")


def vacuum(store: PostgresStore) -> None:
    """Remove deleted rows from tables and indexes."""
    with store.autocommit() as db:
        for table in ("chunk", "body", "term", "version", "graph", "graph_page", store.settings.get("vectors")):
            if table:
                db.execute(f"VACUUM (ANALYZE) {table}")


def reanalyse(store: PostgresStore, progress: Progress) -> None:
    """Reanalyse every row, deleted ones too, with this analyser. One transaction: readers see all or nothing.

    Older versions lose their totals, which are counted when one of them is read.
    """
    with store.write("analysed anew") as writer:
        db = writer.db
        db.execute("DELETE FROM term")
        db.execute("UPDATE version SET length = NULL")
        done, last = 0, 0
        total = _read_int(db, "SELECT count(*) FROM chunk")
        while rows := db.execute(
            "SELECT seq, text, meta FROM chunk JOIN body USING (seq) WHERE seq > %s ORDER BY seq LIMIT %s",
            (last, _BATCH),
        ).fetchall():
            chunks = [Chunk("", "", text, 0, meta=json.loads(meta)) for _, text, meta in rows]
            counted = [Counter(store.analyser.terms(chunk.indexed_text)) for chunk in chunks]
            numbers = add_terms(db, counted)
            for (seq, _, _), counts in zip(rows, counted, strict=True):
                words = number_terms(counts, numbers)
                db.execute(
                    "UPDATE chunk SET length = %s, terms = %s, counts = %s WHERE seq = %s",
                    (counts.total(), [n for n, _ in words], [c for _, c in words], seq),
                )
            last, done = rows[-1][0], done + len(rows)
            progress("analysing words", done, total)
        db.execute(_RECOUNT)
        writer.set("analyser", store.analyser.digest)
        writer.set_total_length(_read_int(db, "SELECT coalesce(sum(length), 0)::bigint FROM chunk WHERE died IS NULL"))


def _read_int(db: psycopg.Connection[Any], statement: str) -> int:
    row = db.execute(statement).fetchone()
    assert row is not None
    return int(row[0])
