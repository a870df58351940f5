"""Writes a dataset folder: corpus, queries, judgements per split, evidence, and a meta.json that can be checked.

    corpus.jsonl      {"_id", "title", "text", "metadata"}
    queries.jsonl     {"_id", "text", "metadata"}
    qrels/<split>.tsv query-id ⇥ corpus-id ⇥ score, under a header
    evidence.jsonl    {"query_id", "doc_id", "start", "end", "group"}: characters of the document's text
    meta.json         what it is, counts, and the sha256 of every other file

Every file is written atomically, meta.json last, so a folder whose meta.json fits its files is complete.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.util.atomic_files import atomic_writer

Row = tuple[str, str, int]
"""A judgement: query id, document id, grade."""


class FolderTaken(AssayError):
    """The folder for the dataset holds something that this command did not write."""

    exit_code = 2


def check_free(folder: Path, maker: str) -> None:
    """A folder that does not exist, is empty, or was written by the same command may be written."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    try:
        before = json.loads((folder / "meta.json").read_text("utf-8"))
        if isinstance(before, dict) and before.get("maker") == maker:
            return
    except (OSError, ValueError):
        pass
    raise FolderTaken(
        f"{folder} is there already, and `{maker}` did not write it", "name another folder with --out, or remove it"
    )


def write_folder(
    folder: Path,
    *,
    documents: Iterable[Mapping[str, Any]],
    queries: Sequence[Mapping[str, Any]],
    splits: Mapping[str, Sequence[Row]],
    evidence: Sequence[Mapping[str, Any]],
    meta: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the folder; return the content of its meta.json."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    files: dict[str, tuple[str, int]] = {
        "corpus.jsonl": _write_lines(folder / "corpus.jsonl", map(_json, documents)),
        "queries.jsonl": _write_lines(folder / "queries.jsonl", map(_json, queries)),
        "evidence.jsonl": _write_lines(folder / "evidence.jsonl", map(_json, evidence)),
    }
    for split, rows in splits.items():
        lines = ("\t".join((query, document, str(grade))) for query, document, grade in rows)
        files[f"qrels/{split}.tsv"] = _write_lines(
            folder / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *lines]
        )
    for stale in (folder / "qrels").glob("*.tsv"):
        if stale.stem not in splits:
            stale.unlink()
    content = {
        **meta,
        "counts": {
            "docs": files["corpus.jsonl"][1],
            "queries": len(queries),
            "evidence": len(evidence),
            "qrels": {split: _count_rows(rows) for split, rows in splits.items()},
        },
        "sha256": {name: digest for name, (digest, _) in files.items()},
    }
    _write_lines(folder / "meta.json", [json.dumps(content, ensure_ascii=False, indent=1)])
    return content


def _count_rows(rows: Sequence[Row]) -> dict[str, int]:
    positive = [row for row in rows if row[2] > 0]
    return {"rows": len(rows), "positive": len(positive), "queries": len({row[0] for row in positive})}


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _write_lines(path: Path, lines: Iterable[str]) -> tuple[str, int]:
    """Write lines atomically; return (sha256, number of lines)."""
    digest, number = hashlib.sha256(), 0
    with atomic_writer(path) as file:
        for line in lines:
            data = f"{line}\n".encode()
            digest.update(data)
            file.write(data)
            number += 1
    return digest.hexdigest(), number
