"""Checksums of the files of an index folder: CRC-32 of every file, and of every block of 4 kB.

CRC-32 finds every error of up to 32 consecutive bits and misses one in four billion of the others; zlib's, which comes
with Python, reads 2 to 5 GB a second, a cryptographic digest a quarter of that. It guards against damage, not against
somebody who writes a matching checksum. A file that is read as a whole is verified before it is read. A large file that
is memory-mapped is verified block by block, each block when it is first used. A file that was verified since the
machine started, and not written since, is not verified again (see `verified_files`).
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import StoreError
from assay.index.verified_files import Identity, identify_all, read_verified, settled, write_verified
from assay.types import Rows
from assay.util.file_checksum import READ, crc_of_file

BLOCK = 4_096
"""Bytes of a block: a page of memory, so that verifying reads no page that would not be read anyway."""
CHECKSUMS = "checksums"
"""The file with the checksums of all blocks, file after file, in the order of their names."""
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class DamagedRange:
    """Bytes of a file that are not what was written; `end` is beyond the last."""

    path: Path
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}, bytes {self.start:,} to {self.end:,}"


class DamagedIndex(StoreError, ValueError):
    """A file of an index is not what was written. Indexes are derived: the record can rebuild them."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "assay optimize --force rebuilds the index; the chunks themselves are safe")


class FolderChecks:
    """The checksums of a folder's files. Without any (a folder of an older release) everything passes."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.damage: DamagedIndex | None = None
        """What a check in the background found; the folder is not to be used any more."""
        self._sizes: dict[str, int] = manifest["files"]
        self._sums: dict[str, int] = manifest.get("crc32", {})
        self._identities = identify_all(folder, [*self._sizes, MANIFEST])
        self._recorded = _match(read_verified(folder), self._identities) if self._sums else {}
        self._whole: set[str] = set(self._recorded)
        self._blocks: dict[str, BlockChecks] = {}
        self._lock = threading.Lock()
        if ("crc32" in manifest or "own_crc32" in manifest) and MANIFEST not in self._whole:
            if manifest.get("own_crc32") != _crc_of_manifest(manifest):
                raise DamagedIndex(f"the index is damaged: {folder.name}/{MANIFEST}")
            self._whole.add(MANIFEST)
            self.verify(CHECKSUMS)

    def verify_lengths(self) -> None:
        """FileNotFoundError or DamagedIndex for a file that is missing or has another length."""
        for name, size in self._sizes.items():
            if name not in self._identities:
                raise FileNotFoundError(f"{self.folder}/{name}")
            if self._identities[name][2] != size:
                raise DamagedIndex(f"the index is damaged: {self.folder.name}/{name} is not {size:,} bytes long")

    @property
    def known(self) -> bool:
        """Whether there are checksums."""
        return bool(self._sums)

    def verify(self, *names: str) -> None:
        """Compare whole files with their checksums, each once; DamagedIndex for the first that differs."""
        for name in names:
            if name in self._sums and name not in self._whole:
                self.read(name)

    def read(self, name: str, pause: Callable[[], None] = lambda: None) -> None:
        """Compare a whole file with its checksum, even if it was before; `pause` is called for each megabyte."""
        if crc_of_file(self.folder / name, pause) != self._sums[name]:
            damage = next(iter(self._damage_of(name)), DamagedRange(self.folder / name, 0, self._sizes[name]))
            raise DamagedIndex(f"the index is damaged: {damage}")
        self._whole.add(name)

    def verify_all(self) -> None:
        """Compare every file with its checksum, and record it."""
        self.verify(*self._sums)
        self.save()

    def verify_below(self, subfolder: str) -> None:
        self.verify(*(name for name in self._sums if name.startswith(f"{subfolder}/")))

    @property
    def names(self) -> list[str]:
        """The files that have a checksum."""
        return list(self._sums)

    def read_changed(self, pause: Callable[[], None]) -> None:
        """Compare the files that were written, replaced or removed since they were opened."""
        now = identify_all(self.folder, self._sums)
        for name in self._sums:
            if now.get(name) != self._identities.get(name):
                self.read(name, pause)
                self._identities[name] = now[name]

    def complete(self, most: int) -> None:
        """Verify what is not verified yet, if it is at most so many bytes, so that the next process need not."""
        left = [name for name in settled(self._identities) if name in self._sums and name not in self._whole]
        if sum(self._sizes[name] for name in left) <= most:
            self.verify(*left)
        self.save()

    def save(self) -> None:
        """Record what was verified, for other processes."""
        if self._whole <= self._recorded.keys():
            return
        sound = settled({name: self._identities[name] for name in tuple(self._whole) if name in self._identities})
        sound = _match(sound, identify_all(self.folder, sound))
        if not sound.keys() <= self._recorded.keys():
            self._recorded = {**self._recorded, **sound}
            write_verified(self.folder, self._recorded)

    def blocks(self, name: str) -> BlockChecks | None:
        """The checks of a file's blocks; None where there are no checksums, or the whole file was verified."""
        if name not in self._sums or name in self._whole:
            return None
        with self._lock:
            if name not in self._blocks:
                self._blocks[name] = BlockChecks(self.folder / name, self._sizes[name], self._block_sums(name))
            return self._blocks[name]

    def find_damage(self) -> Iterator[DamagedRange]:
        """Read every file anew and yield what differs."""
        for name, size in self._sizes.items():
            path = self.folder / name
            try:
                if path.stat().st_size != size:
                    yield DamagedRange(path, min(path.stat().st_size, size), max(path.stat().st_size, size))
                elif name in self._sums and crc_of_file(path) != self._sums[name]:
                    yield from self._damage_of(name)
            except OSError:
                yield DamagedRange(path, 0, size)

    def _damage_of(self, name: str) -> Iterator[DamagedRange]:
        """The damaged ranges of one file; the whole file if the checksums of its blocks are damaged too."""
        path, size = self.folder / name, self._sizes[name]
        if name == CHECKSUMS or crc_of_file(self.folder / CHECKSUMS) != self._sums[CHECKSUMS]:
            yield DamagedRange(path, 0, size)
            return
        wrong = np.flatnonzero(_crc_of_blocks(path) != self._block_sums(name))
        for run in np.split(wrong, np.flatnonzero(np.diff(wrong) > 1) + 1) if len(wrong) else ():
            yield DamagedRange(path, int(run[0]) * BLOCK, min((int(run[-1]) + 1) * BLOCK, size))

    def _block_sums(self, name: str) -> NDArray[np.uint32]:
        first = 0
        for other in sorted(self._sizes):
            count = -(-self._sizes[other] // BLOCK)
            if other == name:
                return np.fromfile(self.folder / CHECKSUMS, "<u4", count, offset=4 * first)
            first += count if other != CHECKSUMS else 0
        raise KeyError(name)


class BlockChecks:
    """Verifies the blocks of one file, each when it is first used. It reads the file instead of its mapped pages, which
    cannot report an error of the disk."""

    def __init__(self, path: Path, size: int, sums: NDArray[np.uint32]) -> None:
        self._path, self._size, self._sums = path, size, sums
        self._sound = np.zeros(len(sums), np.bool_)
        self._left = len(sums)
        self._lock = threading.Lock()

    def verify_bytes(self, start: int, end: int) -> None:
        """Verify the blocks of a range of bytes."""
        if self._left and start < end:
            first, beyond = start // BLOCK, -(-end // BLOCK)
            if not self._sound[first:beyond].all():
                self._verify(np.flatnonzero(~self._sound[first:beyond]) + first)

    def verify_rows(self, rows: Rows, width: int) -> None:
        """Verify the blocks of these rows of `width` bytes each."""
        self.verify_spans(rows * width, rows * width + width)

    def verify_spans(self, starts: Rows, ends: Rows) -> None:
        """Verify the blocks of these ranges of bytes."""
        if not self._left or not len(starts):
            return
        first, last = starts // BLOCK, np.maximum(ends - 1, starts) // BLOCK
        last = np.minimum(last, len(self._sums) - 1)
        for step in range(int((last - first).max()) + 1):
            blocks = np.minimum(first + step, last)  # the blocks of a shorter range repeat its last one
            if not self._sound[blocks].all():
                self._verify(np.unique(blocks[~self._sound[blocks]]))

    def verify_all(self) -> None:
        self.verify_bytes(0, self._size)

    def _verify(self, blocks: Rows) -> None:
        with self._path.open("rb", buffering=0) as file:
            for block in blocks.tolist():
                if zlib.crc32(os.pread(file.fileno(), BLOCK, block * BLOCK)) != self._sums[block]:
                    damage = DamagedRange(self._path, block * BLOCK, min((block + 1) * BLOCK, self._size))
                    raise DamagedIndex(f"the index is damaged: {damage}")
        with self._lock:
            self._left -= int(np.count_nonzero(~self._sound[blocks]))
            self._sound[blocks] = True


def write_checksums(folder: Path, manifest: dict[str, Any]) -> None:
    """Compute the checksums of every file of a folder: blocks into a file, whole files into the manifest."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    with (folder / CHECKSUMS).open("wb") as file:
        for name in names:
            _crc_of_blocks(folder / name).tofile(file)
    manifest["files"] = {name: (folder / name).stat().st_size for name in sorted([*names, CHECKSUMS])}
    manifest["crc32"] = {name: crc_of_file(folder / name) for name in manifest["files"]}
    manifest["own_crc32"] = _crc_of_manifest(manifest)


def _match(recorded: Mapping[str, Identity], now: Mapping[str, Identity]) -> dict[str, Identity]:
    """The entries that are still true."""
    return {name: identity for name, identity in recorded.items() if now.get(name) == identity}


def _crc_of_manifest(manifest: dict[str, Any]) -> int:
    content = {key: value for key, value in manifest.items() if key != "own_crc32"}
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _crc_of_blocks(path: Path) -> NDArray[np.uint32]:
    sums: list[int] = []
    with path.open("rb", buffering=0) as file:
        while part := file.read(READ):
            view = memoryview(part)
            sums += [zlib.crc32(view[start : start + BLOCK]) for start in range(0, len(part), BLOCK)]
    return np.array(sums, np.uint32)
