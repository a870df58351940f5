"""meta.json: what a folder says of itself, checked against what is there.

    {"label": "human", "counts": {"docs": 16, "queries": 47, "qrels": {"test": {"rows": 47, "positive": 47,
     "queries": 47}}}, "sha256": {"corpus.jsonl": "92e4…", "qrels/test.tsv": "690b…"}}

Everything is optional; what is said must be true. `positive` counts judgements above 0, `queries` the queries
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
from assay.bench.datasets.source import Judgement

FILE = "meta.json"


@dataclass(frozen=True)
class Manifest:
    """A folder's meta.json, empty when there is none."""

    folder: Path
    said: Mapping[str, Any]

    @staticmethod
    def of(folder: Path) -> Manifest:
        path = folder / FILE
        said = read_json(path) if path.is_file() else {}
        if not isinstance(said, Mapping):
            raise DatasetError(f"{path} is not a mapping", 'write {"counts": {…}, "sha256": {…}}, or remove it')
        return Manifest(folder, said)

    @property
    def label(self) -> str:
        return str(self.said.get("label", ""))

    def count(self, *path: str) -> int | None:
        """The number said under counts, e.g. count("qrels", "test", "rows"); None when it is not said."""
        found: Any = self.said.get("counts")
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found if isinstance(found, int) else None

    def check_count(self, found: int, *path: str) -> None:
        said = self.count(*path)
        if said is not None and said != found:
            raise DatasetError(
                f"{self.folder / FILE} says {said} for counts.{'.'.join(path)}, there are {found}",
                "get the files anew, or correct meta.json",
            )

    def check_judgements(self, name: str, rows: Sequence[Judgement]) -> None:
        good = [row for row in rows if row.grade > 0]
        self.check_count(len(rows), "qrels", name, "rows")
        self.check_count(len(good), "qrels", name, "positive")
        self.check_count(len({row.query for row in good}), "qrels", name, "queries")

    def check_file(self, path: Path) -> Path:
        """A file whose sha256 is the one said, if one is said."""
        digests = self.said.get("sha256")
        name = path.relative_to(self.folder).as_posix()
        said = digests.get(name) if isinstance(digests, Mapping) else None
        if said is not None and path.is_file():
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != said:
                raise DatasetError(
                    f"{path} was changed: its sha256 is {found[:12]}…, {FILE} says {str(said)[:12]}…",
                    "get the file anew; if the change was meant, correct meta.json",
                )
        return path
