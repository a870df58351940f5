"""The chunk store in one SQLite file that also holds its word index: FTS5, filled by triggers.

    words    FTS5 over the analysed terms of every row, dead ones too, spelt so that its tokeniser cannot disagree
    doc      row → number of terms, characters, digest of its facts: what scoring needs, without reading texts
    field    every metadata field with the kinds of its values: what filters may name

The triggers call our analyser, so a row and its words are written in the same transaction, or neither.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import quote

from assay.errors import StoreError
from assay.store.db_errors import translate_errors
from assay.store.locks import lock_folder
from assay.store.schema import TABLES
from assay.store.sqlite import DATABASE, SqliteStore
from assay.text.analyser import Analyser
from assay.text.term_encoding import encode_term
from assay.types import Chunk

KIND = "one file"
_VALUE_KIND = (
    "CASE {0}.type WHEN 'text' THEN 'text' WHEN 'integer' THEN 'number' WHEN 'real' THEN 'number' ELSE 'flag' END"
)
_PLAIN = "{0}.type IN ('text', 'integer', 'real', 'true', 'false')"
_FILL = """
  INSERT INTO doc VALUES (new.seq, assay_length(new.text, new.meta), assay_chars(new.text), new.facts);
  INSERT INTO words (rowid, body) VALUES (new.seq, assay_body(new.text, new.meta));
"""
WORDS = f"""
CREATE TABLE doc (seq INTEGER PRIMARY KEY, terms INTEGER NOT NULL, chars INTEGER NOT NULL, facts BLOB NOT NULL);
CREATE TABLE field (name TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (name, kind)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='ascii', detail=full);
CREATE VIRTUAL TABLE place USING fts5vocab(words, 'instance');
CREATE TRIGGER chunk_born AFTER INSERT ON chunk BEGIN
  {_FILL}
  INSERT OR IGNORE INTO field SELECT m.key, {_VALUE_KIND.format("m")}
    FROM json_each(new.meta) m WHERE {_PLAIN.format("m")};
  INSERT OR IGNORE INTO field SELECT m.key, {_VALUE_KIND.format("x")}
    FROM json_each(new.meta) m, json_each(CASE m.type WHEN 'array' THEN m.value ELSE '[]' END) x
    WHERE {_PLAIN.format("x")};
END;
CREATE TRIGGER chunk_gone BEFORE DELETE ON chunk BEGIN
  INSERT INTO words (words, rowid, body) VALUES ('delete', old.seq, assay_body(old.text, old.meta));
  DELETE FROM doc WHERE seq = old.seq;
END;
"""


class OneFileStore(SqliteStore):
    """Like `SqliteStore`, but the place is the file itself, and nothing lies beside it but SQLite's own journal."""

    TABLES: ClassVar[str] = TABLES + WORDS
    KIND: ClassVar[str] = KIND

    @staticmethod
    def database(place: Path) -> Path:
        return place

    @property
    def scratch(self) -> Path | None:
        return None

    @property
    def analyser(self) -> Analyser:
        return Analyser(language=self.settings["language"])

    @classmethod
    def create(cls, place: Path, settings: Mapping[str, Any]) -> Self:
        _require_fts5()
        own = {**settings, "kind": KIND, "analyser": Analyser(language=settings["language"]).digest}
        return super().create(place, own)

    @classmethod
    def open(cls, place: Path) -> Self:
        """Rebuilds the word index if another release of the analyser made it; other processes wait meanwhile."""
        _require_fts5()
        if place.is_dir():
            raise StoreError(f"{place} is a folder, not a file", f"name a file, or say: local:{place}")
        if place.is_file():
            _check_database(place)
        store = super().open(place)
        if store.setting("analyser") != store.analyser.digest:
            if store.readonly:
                raise StoreError(
                    f"the words of {place} were read by another release of the analyser, and it is read-only here",
                    "open it once where it may be written",
                )
            store.rebuild_words()
        return store

    def prepare(self, db: sqlite3.Connection) -> None:
        @lru_cache(1)  # the triggers ask for a row's body and then for its length
        def body(text: str, meta: str) -> tuple[str, int]:
            terms = self.analyser.terms(Chunk("", "", text, 0, meta=json.loads(meta)).indexed_text)
            return " ".join(map(encode_term, terms)), len(terms)

        db.create_function("assay_body", 2, lambda text, meta: body(text, meta)[0], deterministic=True)
        db.create_function("assay_length", 2, lambda text, meta: body(text, meta)[1], deterministic=True)
        db.create_function("assay_chars", 1, len, deterministic=True)
        db.create_function("assay_within", 2, _contains_ignoring_case, deterministic=True)

    def rebuild_words(self) -> None:
        """Fill the word index from the chunks."""
        digest = self.analyser.digest
        with translate_errors(self.place):
            db = self.db
            db.execute("BEGIN IMMEDIATE")
            try:
                if self.setting("analyser") != digest:  # another may have done it while we waited
                    db.execute("INSERT INTO words (words) VALUES ('delete-all')")
                    db.execute("DELETE FROM doc")
                    db.execute(
                        "INSERT INTO doc SELECT seq, assay_length(text, meta), assay_chars(text), facts FROM chunk"
                    )
                    db.execute("INSERT INTO words (rowid, body) SELECT seq, assay_body(text, meta) FROM chunk")
                    db.execute("UPDATE setting SET value = ? WHERE key = 'analyser'", (json.dumps(digest),))
                db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise
        self.settings["analyser"] = digest

    def merge_words(self) -> None:
        """Make the word index one piece, without what was deleted from it."""
        with translate_errors(self.place):
            self.db.execute("INSERT INTO words (words) VALUES ('optimize')")

    def find_damage(self, deep: bool) -> str:
        damage = super().find_damage(deep)
        if damage or not deep or self.readonly:
            return damage
        try:
            self.db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
            rows, docs = self.db.execute("SELECT (SELECT count(*) FROM chunk), (SELECT count(*) FROM doc)").fetchone()
        except sqlite3.DatabaseError as error:
            return f"its word index is damaged: {error}"
        return "" if rows == docs else f"its word index holds {docs:,} rows of {rows:,}"

    def _check_model(self) -> None:
        super()._check_model()
        if self.setting("analyser") != self.analyser.digest:
            raise StoreError(f"{self.place} is in use by another release of the analyser", "use one release, or wait")

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        # On the folder, for no file may lie beside the store; SQLite's own locks would be lost with a second handle.
        with translate_errors(self.place), lock_folder(self.place.resolve().parent):
            yield

    def _damaged_error(self, why: str) -> StoreError:
        return _damaged_error(self.place, why)


def _damaged_error(place: Path, why: str) -> StoreError:
    return StoreError(
        f"{place} is not a one-file store, or it is damaged: {why}",
        f"give another name, or restore a backup: assay restore BACKUP --store NEW.sqlite; "
        f"if this is a folder's {DATABASE}, name the folder",
    )


def _check_database(place: Path) -> None:
    """Look before opening: a connection that may write already changes another program's database.

    Only SQLite looks into the file: see assay/store/database_checksum.py for what closing a handle of our own would do.
    """
    if not os.access(place, os.R_OK):
        raise StoreError(f"{place} cannot be read: Permission denied", "check the file's permissions")
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(place.resolve()))}?mode=ro", uri=True)) as db:
            found = db.execute("SELECT value FROM setting WHERE key = 'kind'").fetchone()
    except sqlite3.OperationalError as error:
        if "no such" not in str(error):
            return  # locked, or its log cannot be read from here: opening it will say so
        raise _damaged_error(place, str(error)) from error
    except sqlite3.DatabaseError as error:
        raise _damaged_error(place, str(error)) from error
    if found is None or found[0] != json.dumps(KIND):
        raise _damaged_error(place, "it does not say that it is one")


def _contains_ignoring_case(text: str, part: str) -> bool:
    """Does a text contain another, ignoring case?"""
    return part.casefold() in text.casefold()


def _require_fts5() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"the SQLite {sqlite3.sqlite_version} of this Python has no FTS5: {error}",
                "use a Python whose SQLite has it, or a folder as the store",
            ) from error
