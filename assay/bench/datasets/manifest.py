"""Reads meta.json, the manifest of a dataset folder, and checks the files against it.

    {"label": "human", "counts": {"docs": 16, "queries": 47, "qrels": {"test": {"rows": 47, "positive": 47,
     "queries": 47}}}, "sha256": {"corpus.jsonl": "92e4…", "qrels/test.tsv": "690b…"}}

Every field is optional; those present must be true. `positive` counts judgements above 0, `queries` the queries
that have one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import read_json
from assay.bench.datasets.raw_dataset import Judgement

FILE = "meta.json"


@dataclass(frozen=True)
class Manifest:
    """A folder's meta.json, empty when there is none."""

    folder: Path
    fields: Mapping[str, Any]

    @staticmethod
    def of(folder: Path) -> Manifest:
        path = folder / FILE
        fields = read_json(path) if path.is_file() else {}
        if not isinstance(fields, Mapping):
            raise DatasetError(f"{path} is not a mapping", 'write {"counts": {…}, "sha256": {…}}, or remove it')
        return Manifest(folder, fields)

    @property
    def label(self) -> str:
        return str(self.fields.get("label", ""))

    def count(self, *path: str) -> int | None:
        """The number under counts, e.g. count("qrels", "test", "rows"); None if it is absent."""
        found: Any = self.fields.get("counts")
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found if isinstance(found, int) else None

    def check_count(self, found: int, *path: str) -> None:
        stated = self.count(*path)
        if stated is not None and stated != found:
            raise DatasetError(
                f"{self.folder / FILE} says {stated} for counts.{'.'.join(path)}, there are {found}",
                "get the files anew; if the change was meant: assay bench repair",
            )

    def check_judgements(self, name: str, rows: Sequence[Judgement]) -> None:
        good = [row for row in rows if row.grade > 0]
        self.check_count(len(rows), "qrels", name, "rows")
        self.check_count(len(good), "qrels", name, "positive")
        self.check_count(len({row.query for row in good}), "qrels", name, "queries")

    def check_file(self, path: Path) -> Path:
        """Return the path after checking the file's sha256, if the manifest names one."""
        digests = self.fields.get("sha256")
        name = path.relative_to(self.folder).as_posix()
        stated = digests.get(name) if isinstance(digests, Mapping) else None
        if stated is not None and path.is_file():
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != stated:
                raise DatasetError(
                    f"{path} was changed: its sha256 is {found[:12]}…, {FILE} says {str(stated)[:12]}…",
                    "get the file anew; if the change was meant: assay bench repair",
                )
        return path
