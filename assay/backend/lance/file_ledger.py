"""The checksums of all files of Lance tables, in one file beside the tables.

Lance notices little of what happens to its files: a flipped bit in the table of deletions brings chunks back, a lost
manifest takes commits back. Files of Lance are never changed once they are written, so a commit ends by listing the new
ones:

    CRC32 LENGTH PATH          a file that was written
    drop TABLE                 the files of a table are gone on purpose

Each line has a checksum of its own. Files are verified when they are first met by a process, unless another one did so
since the machine started (`index/verified_files`). What no line lists, left by a killed writer, is not verified.
"""

from __future__ import annotations

import contextlib
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

from assay.backend.lance.cut_files import FOLDERS as WRITTEN_IN_PARTS
from assay.backend.lance.cut_files import NEWEST, is_whole
from assay.errors import StoreError
from assay.index.verified_files import Identity, identify, read_verified, settled, write_verified
from assay.store.commit_journal import ACCEPT
from assay.util.file_checksum import crc_of_file

NAME = "assay-files"
_FOLDERS = ("data", "_versions", "_deletions", "_transactions", "_indices")
_MUTABLE = "latest_version_hint.json"


class FileLedger:
    """The files of one folder of tables. Writers hold the store's lock; readers read up to the last whole line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._files: dict[str, tuple[int, int]] = {}  # path → checksum, length
        self._read: tuple[int, int] = (0, 0)  # the inode of the ledger, and how far it was read
        self._sound: dict[str, Identity] = {}
        self._whole: set[str] = set()  # unlisted files that the disk did not cut short
        self._recorded = read_verified(folder)

    @property
    def _path(self) -> Path:
        return self.folder / NAME

    # -- reading

    def verify(self) -> None:
        """Verify every listed file that was not yet; StoreError for the first that is not what was written."""
        with self._lock:
            self._load()
            for path in self._files.keys() - self._sound.keys():
                damage = self._check(path)
                if damage:
                    raise StoreError(f"{self.folder} is damaged: {damage}", ACCEPT)

    def find_damage(self) -> list[str]:
        """Read every listed file anew; what is wrong with which."""
        with self._lock:
            self._load()
            self._sound.clear()
            self._recorded = {}
            return [damage for path in sorted(self._files) if (damage := self._check(path))]

    def newest_versions(self) -> dict[str, int]:
        """Table → the newest version that was written of it."""
        newest: dict[str, int] = {}
        with self._lock:
            for path in self._files:
                table, _, name = path.partition(".lance/_versions/")
                if name.endswith(".manifest") and name[:-9].isdigit():
                    newest[table] = max(newest.get(table, 0), NEWEST - int(name[:-9]))
        return newest

    def find_cut(self, table: str) -> list[Path]:
        """Files of a table that no line lists and that the disk cut short."""
        with self._lock:
            self._load()
            return [self.folder / path for path in sorted(self._fresh(table)) if not self._is_whole(path)]

    @property
    def is_begun(self) -> bool:
        """Whether the folder has a ledger: every commit that was acknowledged since was found to be whole."""
        return self._path.exists()

    def _fresh(self, table: str) -> set[str]:
        return {path for path in self._walk(f"{table}.lance", WRITTEN_IN_PARTS) if path not in self._files}

    def _is_whole(self, path: str) -> bool:
        """Whether the disk did not cut a file short; remembered, because files never change."""
        if path not in self._whole and path.split("/")[1] in WRITTEN_IN_PARTS:
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile by a compaction
                if not is_whole(self.folder / path):
                    return False
            self._whole.add(path)
        return True

    def _check(self, path: str) -> str:
        """What is wrong with a file, or nothing. Lance removes files that no version needs, so a missing one is not:
        Lance itself misses it if it does."""
        crc, size = self._files[path]
        try:
            identity = identify(f"{self.folder}/{path}")
            if self._recorded.get(path) != identity and crc_of_file(self.folder / path) != crc:
                return f"{path}, bytes 0 to {size:,}, are not what was written"
            self._sound[path] = identity
        except FileNotFoundError:
            return ""
        except PermissionError as error:  # no damage, and nothing to be accepted
            raise StoreError(
                f"{self.folder / path} cannot be read: {error.strerror}", "check its permissions"
            ) from error
        except OSError as error:
            return f"{path} cannot be read: {error.strerror or error}"
        return ""

    def _load(self) -> None:
        """Read the lines that were added since, or all of them if the ledger was written anew."""
        try:
            with self._path.open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                start = self._read[1] if self._read[0] == inode else 0
                if not start:
                    self._files.clear()
                file.seek(start)
                content = file.read()
        except FileNotFoundError:
            self._files, self._read = {}, (0, 0)
            return
        end = content.rfind(b"\n") + 1  # what follows was cut off by a kill, or is being written
        for line in content[:end].split(b"\n")[:-1]:
            self._apply(line)
        self._read = (inode, start + end)

    def _apply(self, line: bytes) -> None:
        content, _, crc = line.rpartition(b" ")
        if f"{zlib.crc32(content):08x}".encode() != crc:
            raise StoreError(f"{self._path} is damaged: it lists the checksums of the tables' files", ACCEPT)
        first, _, rest = content.decode().partition(" ")
        if first == "drop":
            self._files = {path: known for path, known in self._files.items() if not path.startswith(f"{rest}.lance/")}
        else:
            size, _, path = rest.partition(" ")
            self._files[path] = (int(first, 16), int(size))

    # -- writing

    def add_new(self) -> None:
        """List the files that are not listed yet and whole, and leave out those that are gone. Without a place to write
        this (a full disk) the commit is there all the same, and the next one lists its files."""
        with self._lock, contextlib.suppress(OSError):
            self._load()
            present = set(self._walk())
            fresh: dict[str, tuple[int, int]] = {}
            for path in present - self._files.keys():
                if not self._is_whole(path):  # of a step that was refused
                    continue
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile by a compaction
                    identity = identify(f"{self.folder}/{path}")
                    fresh[path] = (crc_of_file(self.folder / path), identity[2])
                    self._sound[path] = identity
            kept = {path: known for path, known in self._files.items() if path in present}
            if len(kept) < len(self._files):
                self._replace({**kept, **fresh})
            elif fresh:
                self._append([_spell(path, *known) for path, known in fresh.items()])

    def drop(self, table: str) -> None:
        """List that a table is about to be removed."""
        with self._lock:
            self._load()
            if any(path.startswith(f"{table}.lance/") for path in self._files):
                self._append([f"drop {table}"])

    def accept(self) -> None:
        """List everything as it is now."""
        with self._lock:
            self._path.unlink(missing_ok=True)
        self.add_new()

    def save(self) -> None:
        """Record what was verified, for other processes."""
        with self._lock:
            sound = settled(self._sound)
            if any(self._recorded.get(path) != identity for path, identity in sound.items()):
                write_verified(self.folder, sound)

    def _walk(self, tables: str = "*.lance", folders: tuple[str, ...] = _FOLDERS) -> Iterator[str]:
        """Every finished file of tables; what Lance is still writing begins with a dot or has a hash sign."""
        for table in self.folder.glob(tables):
            for part in folders:
                for root, _, files in os.walk(table / part):
                    inside = Path(root).relative_to(self.folder).as_posix()
                    whole = (name for name in files if name[0] != "." and "#" not in name and name != _MUTABLE)
                    yield from (f"{inside}/{name}" for name in whole)

    def _append(self, lines: list[str]) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            os.ftruncate(handle, self._read[1])  # half a line of a killed writer
            os.lseek(handle, 0, os.SEEK_END)
            os.write(handle, _encode(lines))
        finally:
            os.close(handle)
        self._load()

    def _replace(self, files: dict[str, tuple[int, int]]) -> None:
        temporary = self._path.with_name(f".{NAME}.{os.getpid()}")
        try:
            temporary.write_bytes(_encode([_spell(path, *known) for path, known in files.items()]))
            temporary.replace(self._path)
        finally:
            temporary.unlink(missing_ok=True)
        self._load()


def _spell(path: str, crc: int, size: int) -> str:
    return f"{crc:08x} {size} {path}"


def _encode(lines: list[str]) -> bytes:
    return "".join(f"{line} {zlib.crc32(line.encode()):08x}\n" for line in lines).encode()
