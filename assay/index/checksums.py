"""Checksums of the files of an index folder: XXH3 of every file, and of every block of 4 kB.

XXH3 of 64 bits reads about as fast as memory and misses damage once in 2^64 times; it guards against damage, not
against somebody who writes a matching checksum. Indexes of earlier releases have CRC-32 and are verified by it. A file
that is read as a whole is verified before it is read. A large file that is memory-mapped is verified block by block,
each block when it is first used. A file that was verified since the machine started, and not written since, is not
verified again (see `verified_files`).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import StoreError
from assay.index.verified_files import Identity, identify_all, read_verified, settled, write_verified
from assay.types import Rows
from assay.util.file_checksum import ALGORITHMS, CRC32, READ, XXH3, ChecksumAlgorithm

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
        used = [one for one in ALGORITHMS if not {one.name, _own(one)}.isdisjoint(manifest)]
        self._algorithm = used[0] if used else CRC32
        self._sums: dict[str, int] = manifest.get(self._algorithm.name, {})
        self._identities = identify_all(folder, [*self._sizes, MANIFEST])
        self._recorded = _match(read_verified(folder), self._identities) if self._sums else {}
        self._whole: set[str] = set(self._recorded)
        self._blocks: dict[str, BlockChecks] = {}
        self._lock = threading.Lock()
        own = _own(self._algorithm)
        self.manifest_is_sound = not used or (
            MANIFEST in self._whole or manifest.get(own) == _sum_manifest(manifest, self._algorithm)
        )

    def verify_manifest(self) -> None:
        """DamagedIndex unless the manifest and the checksums of the blocks are what was written."""
        if not self.manifest_is_sound:
            raise DamagedIndex(f"the index is damaged: {self.folder.name}/{MANIFEST}")
        self._whole.update([MANIFEST] if self._sums else ())
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
        if self._algorithm.of_file(self.folder / name, pause) != self._sums[name]:
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
                self._blocks[name] = BlockChecks(
                    self.folder / name, self._sizes[name], self._block_sums(name), self._algorithm
                )
            return self._blocks[name]

    def find_damage(self) -> Iterator[DamagedRange]:
        """Read every file anew and yield what differs."""
        for name, size in self._sizes.items():
            path = self.folder / name
            try:
                if path.stat().st_size != size:
                    yield DamagedRange(path, min(path.stat().st_size, size), max(path.stat().st_size, size))
                elif name in self._sums and self._algorithm.of_file(path, _go_on) != self._sums[name]:
                    yield from self._damage_of(name)
            except OSError:
                yield DamagedRange(path, 0, size)

    def _damage_of(self, name: str) -> Iterator[DamagedRange]:
        """The damaged ranges of one file; the whole file if the checksums of its blocks are damaged too."""
        path, size = self.folder / name, self._sizes[name]
        listed = self.folder / CHECKSUMS
        if name == CHECKSUMS or self._algorithm.of_file(listed, _go_on) != self._sums[CHECKSUMS]:
            yield DamagedRange(path, 0, size)
            return
        wrong = np.flatnonzero(_sum_blocks(path, self._algorithm) != self._block_sums(name))
        for run in np.split(wrong, np.flatnonzero(np.diff(wrong) > 1) + 1) if len(wrong) else ():
            yield DamagedRange(path, int(run[0]) * BLOCK, min((int(run[-1]) + 1) * BLOCK, size))

    def _block_sums(self, name: str) -> NDArray[np.unsignedinteger]:
        first, dtype = 0, np.dtype(self._algorithm.dtype)
        for other in sorted(self._sizes):
            count = -(-self._sizes[other] // BLOCK)
            if other == name:
                return np.fromfile(self.folder / CHECKSUMS, dtype, count, offset=dtype.itemsize * first)
            first += count if other != CHECKSUMS else 0
        raise KeyError(name)


class BlockChecks:
    """Verifies the blocks of one file, each when it is first used. It reads the file instead of its mapped pages, which
    cannot report an error of the disk."""

    def __init__(self, path: Path, size: int, sums: NDArray[np.unsignedinteger], algorithm: ChecksumAlgorithm) -> None:
        self._path, self._size, self._sums = path, size, sums
        self._sum = algorithm.of_bytes
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
        numbers, sums = blocks.tolist(), self._sums[blocks].tolist()
        handle = os.open(self._path, os.O_RDONLY)
        try:
            for block, expected in zip(numbers, sums, strict=True):
                if self._sum(os.pread(handle, BLOCK, block * BLOCK)) != expected:
                    damage = DamagedRange(self._path, block * BLOCK, min((block + 1) * BLOCK, self._size))
                    raise DamagedIndex(f"the index is damaged: {damage}")
        finally:
            os.close(handle)
        with self._lock:
            self._left -= int(np.count_nonzero(~self._sound[blocks]))
            self._sound[blocks] = True


def write_checksums(folder: Path, manifest: dict[str, Any], algorithm: ChecksumAlgorithm = XXH3) -> None:
    """Compute the checksums of every file of a folder: blocks into a file, whole files into the manifest."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    with (folder / CHECKSUMS).open("wb") as file:
        for name in names:
            _sum_blocks(folder / name, algorithm).tofile(file)
    manifest["files"] = {name: (folder / name).stat().st_size for name in sorted([*names, CHECKSUMS])}
    manifest[algorithm.name] = {name: algorithm.of_file(folder / name, _go_on) for name in manifest["files"]}
    manifest[_own(algorithm)] = _sum_manifest(manifest, algorithm)


def _match(recorded: Mapping[str, Identity], now: Mapping[str, Identity]) -> dict[str, Identity]:
    """The entries that are still true."""
    return {name: identity for name, identity in recorded.items() if now.get(name) == identity}


def _go_on() -> None:
    """No pause between two parts of a file."""


def _own(algorithm: ChecksumAlgorithm) -> str:
    """The manifest's key of the checksum of the manifest itself."""
    return f"own_{algorithm.name}"


def _sum_manifest(manifest: dict[str, Any], algorithm: ChecksumAlgorithm) -> int:
    content = {key: value for key, value in manifest.items() if key != _own(algorithm)}
    return algorithm.of_bytes(json.dumps(content, sort_keys=True).encode())


def _sum_blocks(path: Path, algorithm: ChecksumAlgorithm) -> NDArray[np.unsignedinteger]:
    sums: list[int] = []
    with path.open("rb", buffering=0) as file:
        while part := file.read(READ):
            view = memoryview(part)
            sums += [algorithm.of_bytes(view[start : start + BLOCK]) for start in range(0, len(part), BLOCK)]
    return np.array(sums, algorithm.dtype)
