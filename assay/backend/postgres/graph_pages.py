"""Stores the graph in the database: one row that names the version it covers, and its files as pages.

The row's `base` is what a generation is to the embedded store: upkeep moves it to the newest version, and rows inserted
and deleted since are applied on top. Pages are written when a walk is first needed, and from then on whenever the base
moves, in one transaction with the row. Readers copy all pages in one statement, which sees one state, so old pages may
be deleted at once. `erasures` counts how often rows were erased: a graph cached before that is no longer valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.backend.postgres.schema import lock
from assay.index.graph import GRAPH_FORMAT
from assay.text.analyser import Analyser

if TYPE_CHECKING:
    import psycopg

_PAGE = 1 << 20
_MOVE = """
UPDATE graph SET base = newest, last = (SELECT coalesce(max(seq), 0) FROM chunk)
FROM (SELECT max(number) AS newest FROM version) AS v WHERE made = '' AND (base IS NULL OR base < newest)
"""
_CHANGES = """
SELECT (SELECT count(*) FROM chunk WHERE seq > last AND died IS NULL)
  + (SELECT count(*) FROM chunk WHERE died > base AND seq <= last) FROM graph
"""
_PAGES = "SELECT name, part, held FROM graph JOIN graph_page USING (made) WHERE made = %s ORDER BY name, part"


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """The row about the graph. `base` is None before the first upkeep; `made` names the pages, "" where there are
    none; `kind` says by what rules they were built; `last` is the largest seq they can contain."""

    base: int | None
    last: int
    kind: str
    made: str
    erasures: int


def graph_kind(analyser: Analyser) -> str:
    """The rules a graph is built by: the same rows and the same kind give the same graph."""
    return f"{GRAPH_FORMAT} {analyser.digest}"


def read_stored_graph(db: psycopg.Connection[Any]) -> StoredGraph:
    row = db.execute("SELECT base, last, kind, made, erasures FROM graph").fetchone()
    assert row is not None  # created with the table
    return StoredGraph(*row)


def count_changes(db: psycopg.Connection[Any]) -> int:
    """Live chunks inserted and chunks deleted since the base; all live chunks where there is none."""
    row = db.execute(_CHANGES).fetchone()
    return int(row[0]) if row else 0


def move_base(db: psycopg.Connection[Any]) -> None:
    """Set the base of the next graph to the newest version; a graph with pages moves only together with them."""
    db.execute(_MOVE)


def save_pages(db: psycopg.Connection[Any], folder: Path, graph: StoredGraph) -> bool:
    """Replace the stored graph with the files of a folder; False when chunks were erased or reanalysed, or a newer
    graph was saved meanwhile. Part of the caller's transaction, which must be rolled back on False."""
    with db.cursor().copy("COPY graph_page (made, name, part, held) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["text", "text", "int4", "bytea"])
        for name, part, page in _pages(folder):
            copy.write_row((graph.made, name, part, page))
    lock(db)  # only now, so that writers do not wait for the pages
    current = read_stored_graph(db)
    row = db.execute("SELECT value::jsonb #>> '{}' FROM setting WHERE key = 'analyser'").fetchone()
    analysed = row is not None and graph.kind.endswith(f" {row[0]}")
    if current.erasures != graph.erasures or not analysed or (current.base or 0) > (graph.base or 0):
        return False
    db.execute(
        "UPDATE graph SET base = %s, last = %s, kind = %s, made = %s", (graph.base, graph.last, graph.kind, graph.made)
    )
    db.execute("DELETE FROM graph_page WHERE made <> %s", (graph.made,))
    return True


def _pages(folder: Path) -> Iterator[tuple[str, int, bytes]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            part = 0
            while (page := file.read(_PAGE)) or not part:  # an empty file is one empty page
                yield str(path.relative_to(folder)), part, page
                part += 1


def load_pages(db: psycopg.Connection[Any], made: str, folder: Path) -> bool:
    """Write the pages of that name to files in a folder; False when they no longer exist."""
    has_pages = False
    with db.cursor(name="graph", binary=True) as cursor:
        cursor.itersize = 8
        cursor.execute(_PAGES, (made,))
        for name, part, page in cursor:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab" if part else "wb") as file:  # a lost connection may have left a partial file
                file.write(page)
            has_pages = True
    return has_pages


def record_erasure(db: psycopg.Connection[Any], base: int | None, before: int | None = None) -> None:
    """Record that this transaction erased rows. Deletes the graph if its version is older than `before` (None: any
    version); the next one covers `base` (None: the newest version)."""
    db.execute("UPDATE graph SET erasures = erasures + 1")
    deleted = db.execute(
        "UPDATE graph SET base = coalesce(%s, (SELECT max(number) FROM version)), kind = '', made = '', "
        "last = (SELECT coalesce(max(seq), 0) FROM chunk) WHERE coalesce(base < %s, true)",
        (base, before),
    ).rowcount
    if deleted:
        db.execute("DELETE FROM graph_page")
