"""The bank contract: unit vectors, their ids, their codes and lanes, in one NPZ file.

    vectors       float32 [N, D]    ‖v‖ = 1 within TOLERANCE
    bank_ids      int64   [N]       unique, from 0
    tmd_bits      uint16  [N]
    lane_indices  int16   [N]

A file is checked once: every norm, id and checksum. The result is written to a *seal* beside it (size, modification
time, digest); a file that still matches its seal opens by memory map, in milliseconds. The digest covers the names,
types, shapes and bytes of the columns, not the archive around them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank import npz
from assay.cascade.bank.errors import EmptyColumn, NegativeId, NotFinite, NotUnit, RepeatedId, WrongShape
from assay.types import Rows, Vectors
from assay.util.atomic_files import write_text

TOLERANCE = 1e-3
"""How far from 1 the length of a vector may be."""
CONTRACT: dict[str, tuple[Any, int]] = {
    "vectors": (np.float32, 2),
    "bank_ids": (np.int64, 1),
    "tmd_bits": (np.uint16, 1),
    "lane_indices": (np.int16, 1),
}
_BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class Bank:
    """An open bank; its columns are read-only views of the file."""

    path: Path
    vectors: Vectors
    ids: NDArray[np.int64]
    tmd_bits: NDArray[np.uint16]
    lanes: NDArray[np.int16]
    digest: str
    others: tuple[str, ...] = field(default=())
    """Columns of the file that the contract does not name."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    @cached_property
    def _by_id(self) -> tuple[NDArray[np.int64], NDArray[np.intp] | None]:
        """The sorted ids with their rows; None for the rows if the ids are sorted in the file."""
        if (self.ids[1:] > self.ids[:-1]).all():
            return self.ids, None
        order = np.argsort(self.ids, kind="stable")
        return self.ids[order], order

    def rows(self, ids: NDArray[np.int64]) -> Rows:
        """Rows of ids; −1 where the bank lacks one."""
        known, order = self._by_id
        place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        rows = place if order is None else order[place]
        return np.where(known[place] == ids, rows, -1).astype(np.int64)


def open_bank(path: str | Path, *, verify: bool = False) -> Bank:
    """Open a bank. A sealed file is trusted, any other is checked and sealed; `verify` ignores the seal."""
    file = Path(path)
    archive = npz.read_archive(file, CONTRACT)
    columns = {name: npz.find_column(archive, name, dtype, dims) for name, (dtype, dims) in CONTRACT.items()}
    size, dim = columns["vectors"].shape
    if not size or not dim:
        raise EmptyColumn(f"{file} holds no vectors: shape ({size}, {dim})", "add vectors to it", "vectors")
    for name, column in columns.items():
        if column.shape[0] != size:
            raise WrongShape(f"{name!r} has {column.shape[0]} rows, vectors has {size}", "one for each vector", name)
    before = file_stamp(file)
    arrays = {name: npz.map_column(file, column) for name, column in columns.items()}
    digest = None if verify else read_seal(file)
    if digest is None:
        npz.verify_checksums(file, columns.values())
        _check(file, arrays)
        digest = hash_columns(arrays)
        seal(file, digest, before)
    vectors, ids, bits, lanes = arrays.values()
    return Bank(file, vectors, ids, bits, lanes, digest, archive.others)


def write_bank(
    path: Path,
    vectors: Vectors,
    ids: NDArray[np.int64],
    tmd_bits: NDArray[np.uint16],
    lanes: NDArray[np.int16],
) -> Bank:
    """Write a new bank file and check it."""
    npz.write(path, dict(zip(CONTRACT, (vectors, ids, tmd_bits, lanes), strict=True)))
    return open_bank(path, verify=True)


def check_unit(vectors: Vectors, what: str, column: str) -> None:
    """Raise unless every row is finite and of length one."""
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK].astype(np.float64)
        length = np.sqrt(np.vecdot(block, block))
        if not np.isfinite(length).all():
            row = start + int(np.flatnonzero(~np.isfinite(length))[0])
            raise NotFinite(f"{what}: row {row} of {column!r} holds NaN or infinity", "drop or repair it", column)
        wrong = np.flatnonzero(np.abs(length - 1.0) > TOLERANCE)
        if len(wrong):
            raise NotUnit(
                f"{what}: row {start + int(wrong[0])} of {column!r} has length {length[wrong[0]]:.4f}, not 1",
                "divide every vector by its length",
                column,
            )


def hash_columns(arrays: dict[str, NDArray[Any]]) -> str:
    """sha256 over names, types, shapes and bytes of columns, in their order."""
    sha = hashlib.sha256()
    for name, array in arrays.items():
        sha.update(f"{name}|{array.dtype.str}|{array.shape}\n".encode())
        for start in range(0, len(array), _BLOCK):
            sha.update(np.ascontiguousarray(array[start : start + _BLOCK]).data)
    return sha.hexdigest()


def _check(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    ids = arrays["bank_ids"]
    if ids.min() < 0:
        raise NegativeId(f"{path}: bank_ids holds {ids.min()}", "number the vectors from 0", "bank_ids")
    ordered = np.sort(ids)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise RepeatedId(f"{path}: id {repeated[0]} stands twice in bank_ids", "give each vector its own", "bank_ids")
    check_unit(arrays["vectors"], str(path), "vectors")


# -- the seal


def seal_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.seal.json")


def seal(path: Path, digest: str, before: Mapping[str, int]) -> None:
    """Record that this file was checked; `before` is its stamp from before it was read, so that a file written
    meanwhile does not match. If the seal cannot be written, the file is checked again next time."""
    with contextlib.suppress(OSError):
        write_text(seal_path(path), json.dumps({**before, "digest": digest}, sort_keys=True) + "\n")


def read_seal(path: Path) -> str | None:
    """The digest of a file that has not changed since it was sealed, else None."""
    try:
        seal = json.loads(seal_path(path).read_text("utf-8"))
        same = {key: seal[key] for key in ("size", "mtime_ns")} == file_stamp(path)
        return str(seal["digest"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def file_stamp(path: Path) -> dict[str, int]:
    """Size and modification time of a file."""
    stat = path.stat()
    return {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
