"""Judgements as a dataset folder that `assay bench run` reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

from assay.bench.collection import Collection, Passage, dataset_id
from assay.bench.dataset_writer import Row, check_free, write_folder
from assay.bench.judge.ledger import Ledger, LedgerEntry, graded

MAKER = "assay judge"
LEDGER = "judgements.jsonl"


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it. `lost` judgements speak of documents that the store no longer holds."""

    folder: Path
    queries: int
    judgements: int
    relevant: int
    lost: int
    meta: dict[str, Any]


def check_place(folder: Path) -> None:
    """May the dataset be written here? A folder with a ledger is ours, even if we were killed while we wrote."""
    if not (folder / LEDGER).is_file():
        check_free(folder, MAKER)


def write_judgements(ledger: Ledger, collection: Collection, folder: Path, source: str) -> Written:
    """Grades of several judges become their low median. The judged chunk of a relevant document is its evidence."""
    check_place(folder)
    known = {document.id for document in collection.documents}
    places = {passage.id: passage for document in collection.documents for passage in document.passages}
    said: dict[tuple[str, str], list[LedgerEntry]] = {}
    texts: dict[str, str] = {}
    lost = 0
    for one in graded(ledger):
        document = dataset_id(one.doc_id)
        if document not in known:
            lost += 1
            continue
        texts[one.query_id] = one.query
        said.setdefault((one.query_id, document), []).append(one)
    rows: list[Row] = []
    evidence: list[dict[str, Any]] = []
    for (query, document), judged in said.items():
        grade = median_low(one.grade for one in judged if one.grade is not None)
        rows.append((query, document, grade))
        if grade > 0:
            shown = {one.chunk_id for one in judged if one.grade}
            evidence += [_evidence(query, document, places[name]) for name in sorted(shown) if name in places]
    meta = write_folder(
        folder,
        documents=(document.record() for document in collection.documents),
        queries=[{"_id": query, "text": texts[query], "metadata": {"label": "human"}} for query in sorted(texts)],
        splits={"test": rows},
        evidence=evidence,
        meta={
            "name": folder.name,
            "maker": MAKER,
            "source": source,
            "label": "human",
            "judges": sorted({one.judge for one in graded(ledger)}),
            "note": "Pooled: what no pipeline of the pool found was not judged.",
        },
    )
    return Written(folder, len(texts), len(rows), sum(grade > 0 for *_, grade in rows), lost, meta)


def _evidence(query: str, document: str, passage: Passage) -> dict[str, Any]:
    """The judged chunk; each is a fact of its own, because nobody said that two of them say the same."""
    return {
        "query_id": query,
        "doc_id": document,
        "start": passage.start,
        "end": passage.end,
        "group": passage.id,
    }
