"""What the server's indexes need now and then: the vectors' graph built, words analysed anew, dead rows swept out."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from assay.backend.postgres import hnsw
from assay.backend.postgres.insert import numbered
from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.terms import took_in
from assay.errors import StoreError
from assay.types import Chunk, Progress

if TYPE_CHECKING:
    import psycopg

_BATCH = 2_000
_LOOK = 0.5  # seconds between two looks at an index that is being built
_PROGRESS = """
SELECT blocks_done, blocks_total FROM pg_stat_progress_create_index
JOIN pg_class c ON c.oid = relid
WHERE c.relnamespace = current_schema()::regnamespace
  AND phase = 'building index: loading tuples' AND blocks_done < blocks_total
"""
_COUNTED = """
UPDATE term SET holding = coalesce(n, 0) FROM term t LEFT JOIN (
  SELECT held, count(*) AS n FROM chunk, unnest(terms) AS held WHERE died IS NULL GROUP BY held
) AS live ON held = t.number WHERE term.number = t.number
"""


def is_outdated(store: PostgresStore) -> bool:
    """Were the words of this store analysed by another version of the analyser?"""
    return bool(store.setting("analyser") != store.analyser.digest)


def build_index(store: PostgresStore, least: int, progress: Progress) -> bool:
    """The vectors' index, once there are enough of them; readers and writers go on meanwhile."""
    progress("indexing vectors", 0, 1)
    with _watched(store, progress), store.alone() as db:
        built = hnsw.build(db, store.schema, store.settings["vectors"], store.settings["dim"], least)
    progress("indexing vectors", 1, 1)
    return built


@contextlib.contextmanager
def _watched(store: PostgresStore, progress: Progress) -> Iterator[None]:
    """While the block runs, say how far the server has come with the index it builds; it alone knows."""
    ended = threading.Event()

    def look() -> None:
        with contextlib.suppress(StoreError):  # whoever builds says what is wrong
            while not ended.wait(_LOOK):
                for done, total in store.read(lambda db: db.execute(_PROGRESS).fetchall()):
                    progress("indexing vectors", done, total)

    watch = threading.Thread(target=look, name="assay-watch-index", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()


def settle(store: PostgresStore) -> None:
    """Merge what the word index holds aside, and let the planner know how much there is."""
    with store.alone() as db:
        for name in ("holding", "saying"):
            db.execute("SELECT gin_clean_pending_list(%s::regclass)", (name,))
        for table in ("chunk", "body", "term", store.settings.get("vectors")):
            if table:
                db.execute(f"ANALYZE {table}")


def sweep(store: PostgresStore) -> None:
    """Take dead rows out of tables and indexes."""
    with store.alone() as db:
        for table in ("chunk", "body", "term", "version", "graph", "graph_page", store.settings.get("vectors")):
            if table:
                db.execute(f"VACUUM (ANALYZE) {table}")


def analyse_anew(store: PostgresStore, progress: Progress) -> None:
    """Give every row, dead ones too, the terms that this analyser finds. One transaction: readers see all or nothing.

    Older versions lose their totals, which are counted when one of them is asked for.
    """
    with store.write("analysed anew") as writer:
        db = writer.db
        db.execute("DELETE FROM term")
        db.execute("UPDATE version SET length = NULL")
        done, last = 0, 0
        total = _one(db, "SELECT count(*) FROM chunk")
        while rows := db.execute(
            "SELECT seq, text, meta FROM chunk JOIN body USING (seq) WHERE seq > %s ORDER BY seq LIMIT %s",
            (last, _BATCH),
        ).fetchall():
            chunks = [Chunk("", "", text, 0, meta=json.loads(meta)) for _, text, meta in rows]
            counted = [Counter(store.analyser.terms(chunk.indexed_text)) for chunk in chunks]
            numbers = took_in(db, counted)
            for (seq, _, _), counts in zip(rows, counted, strict=True):
                words = numbered(counts, numbers)
                db.execute(
                    "UPDATE chunk SET length = %s, terms = %s, counts = %s WHERE seq = %s",
                    (counts.total(), [n for n, _ in words], [c for _, c in words], seq),
                )
            last, done = rows[-1][0], done + len(rows)
            progress("analysing words", done, total)
        db.execute(_COUNTED)
        writer.set("analyser", store.analyser.digest)
        writer.replace_length(_one(db, "SELECT coalesce(sum(length), 0)::bigint FROM chunk WHERE died IS NULL"))


def _one(db: psycopg.Connection[Any], statement: str) -> int:
    row = db.execute(statement).fetchone()
    assert row is not None
    return int(row[0])
