"""Mends a BEIR folder so that it loads strictly: values, judgements and evidence that fit nothing; then hashes it anew.

    corpus, queries    NaN and infinities become null
    qrels              judgements of unknown queries or documents, and repeated ones of the same grade, are left out
    evidence           lines that fit no question or document are left out; a file without any line that fits is set
                       aside as another program's
    meta.json          the counts and sha256 of the files as they are now

A file that changes is kept beside the new one as NAME.before. Contradictions (an id used twice, a pair judged twice
with different grades) are not mended: only a person knows which is right, and loading names them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.bench.datasets import beir, catalog, evidence, spans
from assay.bench.datasets.defects import collect_defects
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import parse_json, read_json_lines, read_lines
from assay.bench.datasets.manifest import FILE as META
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.passages import read_passages
from assay.bench.types import Topic
from assay.util.atomic_files import write_text

BEFORE = ".before"
FOREIGN = ".foreign"


@dataclass
class Repair:
    """What was mended, for people, and which files have another content now."""

    changes: list[str] = field(default_factory=list)
    files: dict[Path, str] = field(default_factory=dict)
    """The new contents."""
    foreign: list[Path] = field(default_factory=list)
    """Files of another program, to be set aside."""


def repair_folder(source: str, write: bool = True) -> Repair:
    """Mend the folder of a dataset; without `write`, only say what would be done."""
    folder = catalog.locate(source)
    if not beir.is_beir_folder(folder):
        raise DatasetError(f"{folder} is no dataset: it has no {beir.CORPUS}", "name a BEIR folder")
    for packed in folder.glob("*.gz"):
        raise DatasetError(f"{packed} is packed, and only plain files are mended", f"gunzip {packed}")
    repair = Repair()
    for name in (beir.CORPUS, beir.QUERIES):
        if (folder / name).is_file():
            _mend_lines(
                folder / name,
                _plain_json,
                "lines hold values that are no numbers",
                repair,
            )
    documents, queries = (
        {str(row.get("_id", row.get("id", ""))) for _, row in read_json_lines(folder / name)}
        if (folder / name).is_file()
        else set()
        for name in (beir.CORPUS, beir.QUERIES)
    )
    for path in sorted((folder / beir.QRELS).glob("*.tsv")):
        seen: set[str] = set()
        _mend_lines(path, _judgement_check(queries, documents, seen), "judgements fit nothing, or are repeated", repair)
    for name in (*evidence.FILES, spans.FILE):
        if (folder / name).is_file():
            _mend_evidence(folder / name, queries, repair)
    if write:
        _write(folder, repair)
    return repair


def _mend_lines(path: Path, mend: Callable[[str, str], str | None], what: str, repair: Repair) -> None:
    """Pass every line through `mend`, which returns it, another one, or None to leave it out."""
    kept, changed = [], 0
    for place, line in read_lines(path):
        mended = mend(line, place)
        changed += mended != line
        if mended is not None:
            kept.append(mended)
    if changed:
        repair.changes.append(f"{path.name}: {changed} {what}")
        repair.files[path] = "".join(f"{line}\n" for line in kept)


def _plain_json(line: str, place: str) -> str:
    """The line itself, or, if it holds NaN or an infinity, the same with null."""
    with collect_defects(strict=False) as defects:
        value = parse_json(line, place)
    return json.dumps(value, ensure_ascii=False) if defects.counts else line


def _judgement_check(queries: set[str], documents: set[str], seen: set[str]) -> Callable[[str, str], str | None]:
    def check(line: str, place: str) -> str | None:
        cells = [cell.strip() for cell in line.split("\t")]
        if place.endswith(":1") and cells[0].lower() in beir.HEADERS:
            return line
        if len(cells) != 3 or cells[0] not in queries or cells[1] not in documents or "\t".join(cells) in seen:
            return None
        seen.add("\t".join(cells))
        return line

    return check


def _mend_evidence(path: Path, queries: set[str], repair: Repair) -> None:
    """Leave out the lines that the loader cannot use, or set the file aside if it can use none."""
    topics = {name: Topic(name, "") for name in queries}
    corpus = path.with_name(beir.CORPUS)
    usable = set(_usable_lines(path, topics, corpus))
    places = [place for place, _ in read_lines(path)]
    if not usable:
        repair.changes.append(f"{path.name}: no line fits; set aside as {path.name}{FOREIGN}")
        repair.foreign.append(path)
    elif len(usable) < len(places):
        _mend_lines(
            path, lambda line, place: line if place in usable else None, "lines of evidence fit nothing", repair
        )


def _usable_lines(path: Path, topics: Mapping[str, Topic], corpus: Path) -> Iterator[str]:
    with collect_defects(strict=False):
        rows = read_passages(path, Manifest(path.parent, {}), topics, frozenset(topics))
    find = spans.SpanEvidence if path.name == spans.FILE else evidence.DocumentEvidence
    wanted = find(rows)
    with collect_defects(strict=False):
        documents = {record["id"]: record for record in beir.JsonLinesCorpus(corpus) if wanted.wants(record)}
    for row in rows:
        with collect_defects(strict=False) as defects:
            find((row,)).resolve(documents)
        if not defects.counts:
            yield row.place


def _write(folder: Path, repair: Repair) -> None:
    for path in repair.foreign:
        os.replace(path, path.with_name(path.name + FOREIGN))
    for path, content in repair.files.items():
        kept = path.with_name(path.name + BEFORE)
        if not kept.exists():
            os.replace(path, kept)
        write_text(path, content)
    meta = folder / META
    before = json.loads(meta.read_text("utf-8")) if meta.is_file() else {}
    after = {**before, **_describe(folder, before)}
    if after != before:
        repair.changes.append(f"{META}: counts and sha256 of the files as they are now")
        write_text(meta, json.dumps(after, indent=1, ensure_ascii=False) + "\n")


def _describe(folder: Path, before: Mapping[str, Any]) -> dict[str, Any]:
    """Counts and digests; counts that meta.json did not state are added only for documents, queries and judgements."""
    files = [folder / name for name in (beir.CORPUS, beir.QUERIES, *evidence.FILES, spans.FILE, spans.DOCUMENTS)]
    files = [path for path in (*files, *sorted((folder / beir.QRELS).glob("*.tsv"))) if path.is_file()]
    lines = {path.relative_to(folder).as_posix(): sum(1 for _ in read_lines(path)) for path in files}
    qrels = {}
    for path in sorted((folder / beir.QRELS).glob("*.tsv")):
        rows = beir.read_judgements(path, Manifest(folder, {}))
        good = [row for row in rows if row.grade > 0]
        qrels[path.stem] = {"rows": len(rows), "positive": len(good), "queries": len({row.query for row in good})}
    stated = before.get("counts") if isinstance(before.get("counts"), dict) else {}
    extras = {name: lines[name] for name in (stated or {}).get("extras", {}) if name in lines}
    counts = {**(stated or {}), "docs": lines[beir.CORPUS], "queries": lines.get(beir.QUERIES, 0), "qrels": qrels}
    if extras:
        counts["extras"] = extras
    return {"counts": counts, "sha256": {name: _sha256(folder / name) for name in sorted(lines)}}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
