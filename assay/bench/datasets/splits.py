"""Which judgements are train, dev and test?

    files there       train                 dev                   test            all
    train dev test    train.tsv             dev.tsv               test.tsv        the three files
    train test        the other half        a half of train.tsv   test.tsv        both files
    test              (none)                a half of test.tsv    the other half  the whole file

Any other split is the name of a qrels file, taken whole. A query is in the dev half when the first byte of the
sha256 of its id (UTF-8) is even: halves depend on nothing but the id, so they never move.
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
class SplitPlan:
    """The files a split is read from, and which half of their queries: dev's, or the other one."""

    split: str
    files: tuple[str, ...]
    half: Literal["dev", "other"] | None = None

    @property
    def note(self) -> str:
        """How the split was made, where no file says it."""
        if self.half is None:
            return ""
        side = "even" if self.half == "dev" else "odd"
        return f"a half of the judgements {self.files[0]!r}: the first byte of sha256(query id) is {side}"

    def takes(self, query: str) -> bool:
        return self.half is None or in_dev_half(query) == (self.half == "dev")

    def takes_unlisted(self, query: str) -> bool:
        """Is a question that no file lists (nothing answers it) asked in this split? It is halved over dev and test."""
        if self.split == "dev" or self.split == "test":
            return in_dev_half(query) == (self.split == "dev")
        return self.split != "train"


def in_dev_half(query: str) -> bool:
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0


def plan(split: str, files: Collection[str]) -> SplitPlan:
    """How to make a split out of the qrels files there; DatasetError names the splits that can be had."""
    known = _known(files)
    wanted = ALIASES.get(split, split)
    if wanted == ALL and known:
        return SplitPlan(ALL, tuple(known[name] for name in STANDARD if name in known))
    pooled = "train" if "train" in known else "test"
    if "dev" not in known and pooled in known and wanted in ("dev", pooled):
        return SplitPlan(wanted, (known[pooled],), "dev" if wanted == "dev" else "other")
    if wanted in known:
        return SplitPlan(wanted, (known[wanted],))
    if split in files:
        return SplitPlan(split, (split,))
    raise DatasetError(f"there is no split {split!r}", nearest(split, offered(files)))


def offered(files: Collection[str]) -> list[str]:
    """The splits `plan` can make out of these files."""
    known = _known(files)
    return sorted({*files, *known, *(("dev", ALL) if known else ())})


def _known(files: Collection[str]) -> dict[str, str]:
    """train, dev and test → the file that holds them. A single file of any other name counts as test."""
    known = {ALIASES.get(name, name): name for name in sorted(files) if name in STANDARD or name in ALIASES}
    return known or ({"test": next(iter(files))} if len(files) == 1 else {})
