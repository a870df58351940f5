"""The tables of a store kept in Lance: append-only, and visible only through the versions that name them.

    chunk      every row ever born, with its analysed words          vector_*   seq → unit vector, one table per model
    death      seq → the version in which it died                    fact       settings, tags, sources and files
    version    the commit point: a row here makes its rows count

What a killed writer left has a higher number than the newest version: nobody sees it, and the next writer removes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from assay.errors import AssayError, MissingExtra, StoreError

FORMAT = 1
NAMES = ("chunk", "death", "fact", "version")
KEYS = ("seq", "id", "doc_id", "origin", "tokens", "length", "facts", "mark", "born")
"""What the catalogue holds of every row."""
TRUTH = ("seq", "id", "doc_id", "text", "tokens", "created", "importance", "meta", "facts", "born")


def schemas() -> dict[str, Any]:
    pa = arrow()
    number, text, real, raw = pa.int64(), pa.string(), pa.float64(), pa.binary()
    chunk = {"seq": number, "id": text, "doc_id": text, "origin": text, "text": text, "tokens": number}
    chunk |= {"created": real, "importance": real, "meta": text, "facts": raw, "mark": raw, "born": number}
    chunk |= {"body": text, "length": number, "chars": number}
    tables = {
        "chunk": chunk,
        "death": {"seq": number, "died": number},
        "fact": {"kind": text, "key": text, "value": text, "version": number},
        "version": {"number": number, "note": text, "last_seq": number, "rows": number, "deaths": number},
    }
    return {name: pa.schema(list(columns.items())) for name, columns in tables.items()}


def vector_schema(dim: int) -> Any:
    pa = arrow()
    return pa.schema([("seq", pa.int64()), ("value", pa.list_(pa.float32(), dim))])


def arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtra("a store in Lance tables", "lance") from error
    return pyarrow


class Tables:
    """The tables in one folder. Every look sees the newest commit, whoever made it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, Any] = {}
        with told(folder):
            self._db = connected(folder)

    def __getitem__(self, name: str) -> Any:
        if name not in self._open:
            with told(self.folder):
                self._open[name] = self._db.open_table(name)
        return self._open[name]

    def make(self, name: str, schema: Any) -> None:
        with told(self.folder):
            self._open[name] = self._db.create_table(name, schema=schema, exist_ok=True)

    def replace(self, name: str, rows: Any) -> None:
        """Other rows in place of all there are, in one commit."""
        with told(self.folder):
            self._open[name] = self._db.create_table(name, rows, mode="overwrite")

    def drop(self, name: str) -> None:
        self._open.pop(name, None)
        with told(self.folder):
            self._db.drop_table(name, ignore_missing=True)

    def names(self) -> list[str]:
        with told(self.folder):
            return sorted(path.stem for path in self.folder.glob("*.lance"))

    def read(self, name: str, columns: Sequence[str], where: str | None = None) -> Any:
        """These columns of the rows for which a condition holds, as an Arrow table."""
        with told(self.folder):
            query = self[name].search().select(list(columns)).limit(None)
            return (query if where is None else query.where(where)).to_arrow()

    def add(self, name: str, columns: dict[str, Any]) -> None:
        with told(self.folder):
            self[name].add(arrow().table(columns, schema=self[name].schema))

    def delete(self, name: str, where: str) -> None:
        with told(self.folder):
            self[name].delete(where)

    def count(self, name: str) -> int:
        with told(self.folder):
            return int(self[name].count_rows())

    def close(self) -> None:
        self._open.clear()


def connected(folder: Path) -> Any:
    try:
        import lancedb
    except ImportError as error:
        raise MissingExtra("a store in Lance tables", "lance") from error
    # At once: without it another handle goes on reading what it saw first.
    return lancedb.connect(str(folder), read_consistency_interval=timedelta(0))


def quoted(text: str) -> str:
    """A text as a literal of a condition."""
    return "'" + text.replace("'", "''") + "'"


@contextlib.contextmanager
def told(folder: Path) -> Iterator[None]:
    """Lance's complaints as StoreErrors with a cure."""
    try:
        yield
    except AssayError:
        raise
    except PermissionError as error:
        raise StoreError(f"{folder} cannot be written: {error}", "check the folder's permissions") from error
    except UnicodeEncodeError as error:
        raise StoreError(
            "a name or text holds lone surrogates, which no store can hold", "replace them, e.g. by U+FFFD"
        ) from error
    except (OSError, RuntimeError, ValueError) as error:
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "not found" in said.lower():
            raise StoreError(
                f"{folder} has lost a table or a file: {said[:200]}", "restore the folder from a copy, or add anew"
            ) from error
        raise StoreError(f"{folder}: {said[:200]}", "check the disk's space and the folder's permissions") from error
