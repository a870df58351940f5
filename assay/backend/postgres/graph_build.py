"""Builds the graph of the chunks alive at a version into a folder, by the embedded store's own rules.

Rows stand in id order, as in a generation, so the same live chunks give the same files wherever they are stored.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.backend.postgres.store import PostgresStore
from assay.errors import Reason, StoreError
from assay.index.graph_builder import GraphRows, build_graph
from assay.index.strings import StringColumn, StringColumnWriter
from assay.index.words import memory_map
from assay.types import Progress

if TYPE_CHECKING:
    import psycopg

OUTDATED = Reason("the words were analysed by another version of Assay", "assay optimize")
"""Why there can be no graph: how many chunks hold a word decides what is a name."""
_CURRENT_COUNTS = "SELECT term, holding, (SELECT max(number) FROM version) FROM term WHERE holding > 0 ORDER BY term"
_PAST_COUNTS = """
SELECT t.term, count(*), %(v)s FROM chunk c CROSS JOIN unnest(c.terms) AS n JOIN term t ON t.number = n
WHERE c.born <= %(v)s AND (c.died IS NULL OR c.died > %(v)s) GROUP BY t.term ORDER BY t.term
"""


def build_graph_files(store: PostgresStore, version: int, folder: Path, progress: Progress) -> None:
    """Write `seqs` and `graph` into an existing empty folder. StoreError if rows are erased meanwhile."""
    if store.setting("analyser") != store.analyser.digest:
        raise OUTDATED.as_error(StoreError)
    seqs = array("q", (seq for _, seq in store.live_at(version)))
    np.frombuffer(seqs, "<i8").tofile(folder / "seqs")
    where = (store.where.url, store.where.schema, store.where.shown)  # without its index: workers read rows only
    source = GraphRows(
        store, where, folder, len(seqs), _term_counts(store, version, folder), f"{__package__}.graph_worker"
    )
    build_graph(source, folder / "graph", store.analyser, progress)
    for path in folder.glob("words*"):
        path.unlink()


def _term_counts(store: PostgresStore, version: int, folder: Path) -> Callable[[str], int]:
    """How many chunks alive at a version hold a term: the stored counts, or counted anew for an old version."""
    if not store.read(lambda db: _write_counts(db, version, folder, _CURRENT_COUNTS)):
        store.read(lambda db: _write_counts(db, version, folder, _PAST_COUNTS))
    terms, counts = StringColumn(folder / "words"), memory_map(folder / "words.counts", np.int64)

    def holding(term: str) -> int:
        row = terms.find(term)
        return int(counts[row]) if row >= 0 else 0

    return holding


def _write_counts(db: psycopg.Connection[Any], version: int, folder: Path, statement: str) -> bool:
    """Write the statement's terms and counts to files; False when they are of another version."""
    terms, counts = StringColumnWriter(folder / "words"), array("q")
    with db.cursor(name="holding") as cursor:
        cursor.itersize = 20_000
        cursor.execute(statement, {"v": version})
        for term, holding, counted in cursor:
            if counted != version:
                return False
            terms.add(term)
            counts.append(holding)
    terms.close()
    (folder / "words.counts").write_bytes(counts.tobytes())
    return True
