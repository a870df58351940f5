"""Writes judgements as a dataset folder for `assay bench run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

from assay.bench.collection import Collection, Passage, dataset_id
from assay.bench.dataset_writer import Row, check_free, write_folder
from assay.bench.judge.ledger import Ledger, LedgerEntry, graded_entries

MAKER = "assay judge"
LEDGER = "judgements.jsonl"


@dataclass(frozen=True, slots=True)
class WrittenJudgements:
    """Counts of the written dataset. `lost` judgements refer to documents that the store no longer contains."""

    folder: Path
    queries: int
    judgements: int
    relevant: int
    lost: int
    meta: dict[str, Any]


def check_folder(folder: Path) -> None:
    """Check that the dataset may be written here. A folder with a ledger is ours, even after an interrupted write."""
    if not (folder / LEDGER).is_file():
        check_free(folder, MAKER)


def write_judgements(ledger: Ledger, collection: Collection, folder: Path, source: str) -> WrittenJudgements:
    """Write the dataset. Several grades become their low median; judged chunks of relevant documents are evidence."""
    check_folder(folder)
    document_ids = {document.id for document in collection.documents}
    places = {passage.id: passage for document in collection.documents for passage in document.passages}
    entries: dict[tuple[str, str], list[LedgerEntry]] = {}
    texts: dict[str, str] = {}
    lost = 0
    for one in graded_entries(ledger):
        document = dataset_id(one.doc_id)
        if document not in document_ids:
            lost += 1
            continue
        texts[one.query_id] = one.query
        entries.setdefault((one.query_id, document), []).append(one)
    rows: list[Row] = []
    evidence: list[dict[str, Any]] = []
    for (query, document), judged in entries.items():
        grade = median_low(one.grade for one in judged if one.grade is not None)
        rows.append((query, document, grade))
        if grade > 0:
            chunk_ids = {one.chunk_id for one in judged if one.grade}
            evidence += [_evidence(query, document, places[name]) for name in sorted(chunk_ids) if name in places]
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
            "judges": sorted({one.judge for one in graded_entries(ledger)}),
            "note": "Pooled: what no pipeline of the pool found was not judged.",
        },
    )
    return WrittenJudgements(folder, len(texts), len(rows), sum(grade > 0 for *_, grade in rows), lost, meta)


def _evidence(query: str, document: str, passage: Passage) -> dict[str, Any]:
    """The judged chunk as evidence, each with its own group, since nothing says that two state the same fact."""
    return {
        "query_id": query,
        "doc_id": document,
        "start": passage.start,
        "end": passage.end,
        "group": passage.id,
    }
