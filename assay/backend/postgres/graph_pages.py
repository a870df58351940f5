"""The graph in the database: one row that says which version's chunks it is about, and its files as pages.

The row's `base` is what a generation is to the embedded store: upkeep moves it to the newest version, and what was
born and died since is laid over it. Pages are written when somebody first asks for a walk, and from then on whenever
the base moves, in one transaction with the row. Readers copy all pages in one statement, which is one moment, so old
pages may go at once. `erasures` counts how often rows were erased: whoever held a graph before that must take another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.backend.postgres.schema import lock
from assay.index.graph import GRAPH_FORMAT
from assay.text.analyse import Analyser

if TYPE_CHECKING:
    import psycopg

_PAGE = 1 << 20
_MOVED = """
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
    """What the database says of its graph. `base` is None before the first upkeep; `made` names the pages, "" where
    there are none, `kind` says by what rules they were made, `last` is the newest row they can know."""

    base: int | None
    last: int
    kind: str
    made: str
    erasures: int


def kind_of(analyser: Analyser) -> str:
    """By what rules a graph is made: the same rows and the same kind give the same graph."""
    return f"{GRAPH_FORMAT} {analyser.digest}"


def kept(db: psycopg.Connection[Any]) -> StoredGraph:
    row = db.execute("SELECT base, last, kind, made, erasures FROM graph").fetchone()
    assert row is not None  # made with the table
    return StoredGraph(*row)


def changes(db: psycopg.Connection[Any]) -> int:
    """Chunks born and still alive, and chunks dead, since the base; all that live where there is none."""
    row = db.execute(_CHANGES).fetchone()
    return int(row[0]) if row else 0


def move(db: psycopg.Connection[Any]) -> None:
    """Let the next graph be about the newest version; one that has pages moves only together with them."""
    db.execute(_MOVED)


def save(db: psycopg.Connection[Any], folder: Path, made: StoredGraph) -> bool:
    """Put the files of a folder into the database in place of what is there; False when chunks were erased, analysed
    anew, or a newer graph was put there meanwhile. Part of the caller's transaction, which False must undo."""
    with db.cursor().copy("COPY graph_page (made, name, part, held) FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["text", "text", "int4", "bytea"])
        for name, part, held in _pages(folder):
            copy.write_row((made.made, name, part, held))
    lock(db)  # only now: writers wait for a moment, not for the pages
    there = kept(db)
    row = db.execute("SELECT value::jsonb #>> '{}' FROM setting WHERE key = 'analyser'").fetchone()
    analysed = row is not None and made.kind.endswith(f" {row[0]}")
    if there.erasures != made.erasures or not analysed or (there.base or 0) > (made.base or 0):
        return False
    db.execute("UPDATE graph SET base = %s, last = %s, kind = %s, made = %s", (made.base, made.last, *_named(made)))
    db.execute("DELETE FROM graph_page WHERE made <> %s", (made.made,))
    return True


def _named(made: StoredGraph) -> tuple[str, str]:
    return made.kind, made.made


def _pages(folder: Path) -> Iterator[tuple[str, int, bytes]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            part = 0
            while (held := file.read(_PAGE)) or not part:  # an empty file is one empty page
                yield str(path.relative_to(folder)), part, held
                part += 1


def load(db: psycopg.Connection[Any], made: str, folder: Path) -> bool:
    """Copy the pages of that name into files in a folder; False when they are there no more."""
    found = False
    with db.cursor(name="graph", binary=True) as cursor:
        cursor.itersize = 8
        cursor.execute(_PAGES, (made,))
        for name, part, held in cursor:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab" if part else "wb") as file:  # a lost connection may have left the beginning
                file.write(held)
            found = True
    return found


def erased(db: psycopg.Connection[Any], base: int | None, before: int | None = None) -> None:
    """Rows were erased in this transaction. The graph goes, if it is about a version older than `before` (any version,
    where that is None), and the next one is about `base` (the newest version, where that is None)."""
    db.execute("UPDATE graph SET erasures = erasures + 1")
    gone = db.execute(
        "UPDATE graph SET base = coalesce(%s, (SELECT max(number) FROM version)), kind = '', made = '', "
        "last = (SELECT coalesce(max(seq), 0) FROM chunk) WHERE coalesce(base < %s, true)",
        (base, before),
    ).rowcount
    if gone:
        db.execute("DELETE FROM graph_page")
