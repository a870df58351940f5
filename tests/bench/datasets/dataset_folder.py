"""Small BEIR folders, written by tests and then damaged by them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

DOCUMENTS = (
    {"_id": "d1", "title": "Keys", "text": "Rotate the key. Tell nobody.", "metadata": {"part": "rules"}},
    {"_id": "d2", "title": "", "text": "The kitchen closes at six.", "metadata": {"date": "2024-05-01"}},
    {"_id": "d3", "title": "Nothing", "text": "A third document."},
)
QUERIES = (
    {"_id": "q1", "text": "when to rotate keys"},
    {"_id": "q2", "text": "kitchen hours"},
    {"_id": "q3", "text": "who knows", "metadata": {"abstain": True}},
)
JUDGEMENTS = {"dev": [("q2", "d2", 1), ("q2", "d3", 0)], "test": [("q1", "d1", 2), ("q3", "d3", 0)]}


def write(
    folder: Path,
    documents: Iterable[Mapping[str, Any]] = DOCUMENTS,
    queries: Iterable[Mapping[str, Any]] = QUERIES,
    judgements: Mapping[str, Sequence[tuple[Any, ...]]] = JUDGEMENTS,
    **files: Iterable[Mapping[str, Any]],
) -> Path:
    """A dataset folder; further keywords are further JSON Lines files, e.g. evidence=[…]."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    for name, rows in {"corpus": documents, "queries": queries, **files}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    for name, rows in judgements.items():
        lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in rows)]
        (folder / "qrels" / f"{name}.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def describe(folder: Path, **counts: Any) -> None:
    """A meta.json with true digests and the counts given."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "meta.json"]
    digests = {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (folder / "meta.json").write_text(json.dumps({"counts": counts, "sha256": digests}), "utf-8")
