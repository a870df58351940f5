"""The Lance tables of a store: append-only, and visible only through the versions that name them.

    chunk      every row ever inserted, with its terms          vector_*   seq → unit vector, one table per model
    death      seq → the version that deleted it                     fact       settings, tags, sources and files
    version    the commit point: a row here commits its rows

What a killed writer left has a higher number than the newest version: readers ignore it, the next writer removes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from assay.backend.lance.file_ledger import FileLedger
from assay.errors import AssayError, MissingExtra, StoreError
from assay.store.commit_journal import ACCEPT
from assay.store.db_errors import to_store_error

FORMAT = 1
NAMES = ("chunk", "death", "fact", "version")
KEYS = ("seq", "id", "doc_id", "origin", "tokens", "length", "facts", "mark", "born")
"""Columns that the catalogue holds of every row."""
TRUTH = ("seq", "id", "doc_id", "text", "tokens", "created", "importance", "meta", "facts", "born")


def schemas() -> dict[str, Any]:
    pa = import_arrow()
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
    pa = import_arrow()
    return pa.schema([("seq", pa.int64()), ("value", pa.list_(pa.float32(), dim))])


def import_arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtra("a store in Lance tables", "lance") from error
    return pyarrow


class Tables:
    """The tables in one folder. Every read sees the newest commit of any process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, Any] = {}
        self.files = FileLedger(folder)
        with translate_lance_errors(folder):
            self._db = connect(folder)

    def __getitem__(self, name: str) -> Any:
        if name not in self._open:
            with translate_lance_errors(self.folder):
                self._open[name] = self._db.open_table(name)
        return self._open[name]

    def make(self, name: str, schema: Any) -> None:
        with translate_lance_errors(self.folder):
            self._open[name] = self._db.create_table(name, schema=schema, exist_ok=True)

    def replace(self, name: str, rows: Any) -> None:
        """Replace all rows, in one commit."""
        with translate_lance_errors(self.folder):
            self._open[name] = self._db.create_table(name, rows, mode="overwrite")

    def drop(self, name: str) -> None:
        self._open.pop(name, None)
        with translate_lance_errors(self.folder):
            self.files.drop(name)
            self._db.drop_table(name, ignore_missing=True)

    def verify(self) -> None:
        """StoreError when a file is not what was written, or Lance opens an older version of a table than was."""
        with translate_lance_errors(self.folder):
            self.files.verify()
            if self._find_lost_commits():
                self.files.verify()  # another process may have dropped a table since
                lost = self._find_lost_commits()
                if lost:
                    raise StoreError(f"{self.folder} has lost commits: {lost}", ACCEPT)

    def _find_lost_commits(self) -> str:
        for name, newest in self.files.newest_versions().items():
            found = int(self[name].version) if (self.folder / f"{name}.lance").is_dir() else 0
            if found < newest:
                return f"the table {name!r} is at version {found}, and {newest} was written"
        return ""

    def names(self) -> list[str]:
        with translate_lance_errors(self.folder):
            return sorted(path.stem for path in self.folder.glob("*.lance"))

    def read(self, name: str, columns: Sequence[str], where: str | None = None) -> Any:
        """These columns of the rows for which a condition holds, as an Arrow table."""
        with translate_lance_errors(self.folder):
            query = self[name].search().select(list(columns)).limit(None)
            return (query if where is None else query.where(where)).to_arrow()

    def add(self, name: str, columns: dict[str, Any]) -> None:
        with translate_lance_errors(self.folder):
            self[name].add(import_arrow().table(columns, schema=self[name].schema))

    def delete(self, name: str, where: str) -> None:
        with translate_lance_errors(self.folder):
            self[name].delete(where)

    def count(self, name: str) -> int:
        with translate_lance_errors(self.folder):
            return int(self[name].count_rows())

    def close(self) -> None:
        self.files.save()
        self._open.clear()


def connect(folder: Path) -> Any:
    try:
        import lancedb
    except ImportError as error:
        raise MissingExtra("a store in Lance tables", "lance") from error
    # Without the interval another handle goes on reading what it saw first.
    return lancedb.connect(str(folder), read_consistency_interval=timedelta(0))


_PANICS = ("PanicException", "RustPanic")
"""How Rust code that meets damage it does not expect ends in Python: not as ordinary exceptions."""


@contextlib.contextmanager
def translate_lance_errors(folder: Path) -> Iterator[None]:
    """Translate errors of Lance into StoreErrors with a cure."""
    try:
        yield
    except AssayError:
        raise
    except PermissionError as error:
        raise to_store_error(error, folder) from error
    except UnicodeEncodeError as error:
        raise StoreError(
            "a name or text holds lone surrogates, which no store can hold", "replace them, e.g. by U+FFFD"
        ) from error
    except BaseException as error:
        if not isinstance(error, OSError | RuntimeError | ValueError) and type(error).__name__ not in _PANICS:
            raise
        message = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "not found" in message.lower():
            raise StoreError(
                f"{folder} has lost a table or a file: {message[:200]}", "restore the folder from a copy, or add anew"
            ) from error
        if "not what was written" in message or type(error).__name__ in _PANICS:
            raise StoreError(f"{folder} is damaged: {message[:200]}", "restore the folder from a copy") from error
        raise StoreError(f"{folder}: {message[:200]}", "check the disk's space and the folder's permissions") from error
