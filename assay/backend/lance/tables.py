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

from assay.backend.lance.cut_files import is_whole, list_versions, names_any
from assay.backend.lance.file_ledger import FileLedger
from assay.errors import AssayError, MissingExtra, StoreError
from assay.store.commit_journal import ACCEPT
from assay.store.db_errors import to_store_error
from assay.store.locks import try_lock_file

FORMAT = 1
NAMES = ("chunk", "death", "fact", "version")
KEYS = ("seq", "id", "doc_id", "origin", "tokens", "length", "facts", "mark", "born")
"""Columns that the catalogue holds of every row."""
TRUTH = ("seq", "id", "doc_id", "text", "tokens", "created", "importance", "meta", "facts", "born")
TAKEN_BACK = "assay-taken-back"
"""A text beside the tables: one line for every version that was taken back."""
_WEEK, _FOREVER = timedelta(days=7), timedelta(days=36_500)


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

    def make_filled(self, name: str, rows: Any) -> None:
        """Make a table with its first rows, or none."""
        with translate_lance_errors(self.folder):
            self._open[name] = self._db.create_table(name, rows)
            try:
                self.check_written(name)
            except StoreError:
                self.drop(name)
                raise

    def replace(self, name: str, rows: Any) -> None:
        """Replace all rows, in one commit."""
        with translate_lance_errors(self.folder):
            self._open[name] = self._db.create_table(name, rows, mode="overwrite")
            self.check_written(name)

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
            self.check_written(name)

    def delete(self, name: str, where: str) -> None:
        with translate_lance_errors(self.folder):
            self[name].delete(where)
            self.check_written(name)

    def optimize(self, name: str, older_than: timedelta = _WEEK, unverified: bool = False) -> None:
        """Merge small files, then remove those that only older versions need, and with `unverified` those of none."""
        with translate_lance_errors(self.folder):
            merged, version = -1, int(self[name].version)
            while merged != version:  # Lance merges in steps
                merged = version
                self[name].optimize(cleanup_older_than=_FOREVER)
                self.check_written(name)  # before what was merged is removed
                version = int(self[name].version)
            self[name].optimize(cleanup_older_than=older_than, delete_unverified=unverified)
            self.check_written(name)

    def check_written(self, name: str) -> None:
        """StoreError when the newest version of a table names a file that the disk cut short."""
        cut = self._find_cut(name)
        if cut:
            raise StoreError(
                f"the disk cut a file of {self.folder} short; nothing of this step was written: {cut[0].name}",
                "free some space and check the disk, then try again",
            )

    def _find_cut(self, name: str) -> list[Path]:
        """A file that another process is writing is short too. So it is looked at again, after the manifest: what that
        names was complete before, or never will be."""
        with translate_lance_errors(self.folder), contextlib.suppress(FileNotFoundError):  # erased meanwhile
            short = self.files.find_cut(name)
            versions = list_versions(self.folder / f"{name}.lance") if short else []
            named = [path for path in short if versions and names_any(versions[0][1], [path])]
            return [path for path in named if not is_whole(path)]
        return []

    def find_cut(self) -> list[Path]:
        """Files that the disk cut short and the newest version of a table names."""
        return [path for name in self.names() for path in self._find_cut(name)]

    def take_back(self) -> None:
        """Restore each table whose newest version names a file that the disk cut short to the newest version that does
        not, and say so in the file `TAKEN_BACK`. The caller holds the lock of writers. No step that was acknowledged is
        lost: it ends with `check_written`."""
        for name in self.names():
            cut = self._find_cut(name)
            versions = list_versions(self.folder / f"{name}.lance") if cut else []
            with translate_lance_errors(self.folder):
                good = next((version for version, manifest in versions if not names_any(manifest, cut)), None)
                if good is not None:
                    self[name].restore(good)
                    line = f"{name}: the disk cut {cut[0].name} short; version {good} instead of {versions[0][0]}"
                    with (self.folder / TAKEN_BACK).open("a", encoding="utf-8") as record:
                        record.write(f"{line}\n")

    def recover(self) -> None:
        """Take back what a writer left that was killed while the disk failed. One that is still at work does it itself;
        without a ledger nothing tells its steps from acknowledged ones."""
        if self.files.is_begun and self.find_cut():
            with translate_lance_errors(self.folder), try_lock_file(self.folder / ".writing") as free:
                if free:
                    self.take_back()

    @contextlib.contextmanager
    def taking_back(self) -> Iterator[None]:
        """When the block fails, `take_back`. If that fails too, the next one to open the store does it."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(AssayError):
                self.take_back()
            raise

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
