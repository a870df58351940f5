"""The sequence contract: which vector followed which, in two halves that share no id.

    train_curr_ids, train_next_ids, val_curr_ids, val_next_ids       int64 [T]
    train_context_ids, val_context_ids                               int64 [T, C], optional; oldest first, −1 where none

A *window* is a current id, its next id and its context. No id may occur in windows of both halves: a model that
saw a neighbouring window has seen the answer. Targets are ids; vectors are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank import npz
from assay.cascade.bank.bank import Bank, hash_columns
from assay.cascade.bank.errors import EmptyColumn, TargetIsCurrent, UnknownId, WindowsOverlap, WrongShape

HALVES = ("train", "val")
COLUMNS = tuple(f"{half}_{word}_ids" for half in HALVES for word in ("curr", "next", "context"))
NONE = -1
Ids64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """One half: current and next ids, and the ids before the current one (C may be 0)."""

    current: Ids64
    following: Ids64
    context: Ids64

    def __len__(self) -> int:
        return len(self.current)

    def all_ids(self) -> Ids64:
        """All ids of all windows, once each."""
        ids = np.unique(np.concatenate([self.current, self.following, self.context.ravel()]))
        known: Ids64 = ids[ids != NONE]
        return known


@dataclass(frozen=True, eq=False)
class Sequences:
    train: Pairs
    val: Pairs
    digest: str


def open_sequences(path: str | Path, bank: Bank, *, train: bool = True) -> Sequences:
    """Checked sequences over a bank. `train=False` is for a file that only holds the validation half."""
    file = Path(path)
    archive = npz.read_archive(file, COLUMNS)
    halves = {half: _read_half(archive, half) for half in HALVES if train or half != "train" or _has(archive, half)}
    empty = np.empty(0, np.int64)
    first = halves.get("train", Pairs(empty, empty, np.empty((0, 0), np.int64)))
    sequences = Sequences(first, halves["val"], hash_columns(_arrays(halves)))
    npz.verify_checksums(file, (archive.columns[name] for name in _arrays(halves)))
    for half, pairs in halves.items():
        _check(file, half, pairs, bank)
    check_disjoint(sequences.train, sequences.val, str(file))
    return sequences


def write_sequences(path: Path, train: Pairs, val: Pairs, bank: Bank) -> Sequences:
    npz.write(path, _arrays({"train": train, "val": val}))
    return open_sequences(path, bank)


def check_disjoint(train: Pairs, val: Pairs, where: str) -> None:
    """Raise if windows of the two halves share an id."""
    shared = np.intersect1d(train.all_ids(), val.all_ids(), assume_unique=True)
    if len(shared):
        raise WindowsOverlap(
            f"{where}: {len(shared)} ids stand in windows of both halves, first {shared[0]}: what is measured was "
            "learned",
            "split by document, before windows are cut",
            "val_curr_ids",
        )


def _has(archive: npz.Archive, half: str) -> bool:
    return f"{half}_curr_ids" in archive.columns or f"{half}_next_ids" in archive.columns


def _read_half(archive: npz.Archive, half: str) -> Pairs:
    file = archive.path
    names = [f"{half}_curr_ids", f"{half}_next_ids"]
    current, following = (npz.map_column(file, npz.find_column(archive, name, np.int64, 1)) for name in names)
    name = f"{half}_context_ids"
    context: Ids64 = np.empty((len(current), 0), np.int64)
    if name in archive.columns:
        context = npz.map_column(file, npz.find_column(archive, name, np.int64, 2))
    for column, array in ((names[1], following), (name, context)):
        if len(array) != len(current):
            raise WrongShape(
                f"{column!r} has {len(array)} rows, {names[0]!r} has {len(current)}", "one for each", column
            )
    if not len(current):
        raise EmptyColumn(f"{file}: {names[0]!r} is empty", "give at least one pair", names[0])
    return Pairs(current, following, context)


def _arrays(halves: Mapping[str, Pairs]) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {}
    for half, pairs in halves.items():
        columns |= {f"{half}_curr_ids": pairs.current, f"{half}_next_ids": pairs.following}
        if pairs.context.shape[1]:
            columns[f"{half}_context_ids"] = pairs.context
    return columns


def _check(file: Path, half: str, pairs: Pairs, bank: Bank) -> None:
    context = pairs.context[pairs.context != NONE]
    named = {"curr": pairs.current, "next": pairs.following, "context": context}
    for word, ids in named.items():
        lost = ids[bank.rows(ids) < 0]
        if len(lost):
            column = f"{half}_{word}_ids"
            raise UnknownId(
                f"{file}: {column!r} names id {lost[0]}, which the bank does not hold ({len(lost)} such places)",
                "use the bank these sequences were made for",
                column,
            )
    same = np.flatnonzero(pairs.current == pairs.following)
    if len(same):
        raise TargetIsCurrent(
            f"{file}: row {same[0]} of {half!r} has {pairs.current[same[0]]} as current and next id",
            "drop the pair: a search never returns the current vector",
            f"{half}_next_ids",
        )
