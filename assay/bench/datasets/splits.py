"""Selects the judgements of the splits train, dev, test and all.

    files there       train                 dev                   test            all
    train dev test    train.tsv             dev.tsv               test.tsv        the three files
    train test        the other half        a half of train.tsv   test.tsv        both files
    test              (none)                a half of test.tsv    the other half  the whole file

Any other split is the name of a qrels file, used whole. A query is in the dev half if the first byte of the sha256 of
its id (UTF-8) is even: the halves depend on the id alone, so they never change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from assay.bench.datasets.errors import DatasetError
from assay.errors import nearest

ALL = "all"
STANDARD = ("train", "dev", "test")
ALIASES = {"validation": "dev", "valid": "dev", "val": "dev"}
"""Other names of dev."""


@dataclass(frozen=True, slots=True)
class SplitSelection:
    """The files a split is read from, and which half of their queries: dev's, or the other one."""

    split: str
    files: tuple[str, ...]
    half: Literal["dev", "other"] | None = None

    @property
    def note(self) -> str:
        """How the split was derived, if it is not a file."""
        if self.half is None:
            return ""
        side = "even" if self.half == "dev" else "odd"
        return f"a half of the judgements {self.files[0]!r}: the first byte of sha256(query id) is {side}"

    def includes(self, query: str) -> bool:
        return self.half is None or is_in_dev_half(query) == (self.half == "dev")

    def includes_unlisted(self, query: str) -> bool:
        """Whether an unanswerable question that no file lists is in this split; dev and test get half of them each."""
        if self.split == "dev" or self.split == "test":
            return is_in_dev_half(query) == (self.split == "dev")
        return self.split != "train"


def is_in_dev_half(query: str) -> bool:
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0


def select_split(split: str, files: Collection[str]) -> SplitSelection:
    """Derive a split from the qrels files; DatasetError names the available splits."""
    standard = _standard_files(files)
    wanted = ALIASES.get(split, split)
    if wanted == ALL and standard:
        return SplitSelection(ALL, tuple(standard[name] for name in STANDARD if name in standard))
    pooled = "train" if "train" in standard else "test"
    if "dev" not in standard and pooled in standard and wanted in ("dev", pooled):
        return SplitSelection(wanted, (standard[pooled],), "dev" if wanted == "dev" else "other")
    if wanted in standard:
        return SplitSelection(wanted, (standard[wanted],))
    if split in files:
        return SplitSelection(split, (split,))
    raise DatasetError(f"there is no split {split!r}", nearest(split, list_splits(files)))


def list_splits(files: Collection[str]) -> list[str]:
    """The splits that `select_split` can derive from these files."""
    standard = _standard_files(files)
    return sorted({*files, *standard, *(("dev", ALL) if standard else ())})


def _standard_files(files: Collection[str]) -> dict[str, str]:
    """train, dev and test → their file. A single file of any other name counts as test."""
    standard = {ALIASES.get(name, name): name for name in sorted(files) if name in STANDARD or name in ALIASES}
    return standard or ({"test": next(iter(files))} if len(files) == 1 else {})
