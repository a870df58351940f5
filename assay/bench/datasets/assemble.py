"""Turns one split of a raw dataset into a checked `Dataset`, or raises a DatasetError."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from assay.bench.datasets import question_metadata
from assay.bench.datasets.digest import DatasetDigest
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place
from assay.bench.datasets.raw_dataset import EvidenceRows, Judgement, RawDataset, Record
from assay.bench.datasets.splits import SplitSelection, select_split
from assay.bench.metrics.ranking import MAX_GRADE
from assay.bench.types import Dataset, Label, Topic

Grades = dict[str, dict[str, int]]

_UNKNOWN_CURE = "mend the line, or let `assay bench repair` leave it out"


def assemble(source: RawDataset, split: str, display_name: str) -> Dataset:
    """Build the dataset of one split; `display_name` is the argument of `load` without absolute paths, for receipts."""
    if not source.topics:
        raise DatasetError(f"{source.name} has no queries", f"make some: assay bench synth {source.name}")
    selection = select_split(split, source.judgements)
    rows = [row for name in selection.files for row in source.judgements[name]()]
    listed_queries = {row.query for row in rows}
    graded = {query: found for query, found in _collect_grades(rows).items() if selection.includes(query)}
    unanswerable = source.abstain | {t.id for t in source.topics.values() if question_metadata.is_unanswerable(t.meta)}
    abstain = _select_unanswerable(source, unanswerable, graded, listed_queries, selection)
    judged = {query: found for query, found in graded.items() if query not in unanswerable}
    evidence_rows = source.evidence(frozenset(judged))
    digest = DatasetDigest()
    corpus = _read_corpus(source, evidence_rows, digest)
    _check_dangling(rows, source.topics, corpus.ids, source.name)
    if not any(grade > 0 for found in judged.values() for grade in found.values()):
        raise DatasetError(f"{source.name} has no judged query in split {selection.split!r}", "choose another split")
    topics = _topics_with_strata(source, unanswerable, {*judged, *abstain})
    evidence = evidence_rows.resolve(corpus.kept)
    label, label_note = _resolve_label(source, topics, judged)
    digest.questions(selection.split, topics, judged, evidence, abstain)
    notes = (
        selection.note,
        *source.notes,
        *_notes(corpus, judged, topics, source, selection, listed_queries),
        label_note,
    )
    return Dataset(
        name=source.name,
        split=selection.split,
        digest=digest.hexdigest(),
        label=label,
        documents=source.documents,
        document_count=len(corpus.ids),
        topics=topics,
        judgements=judged,
        evidence=evidence,
        abstain=abstain,
        source=display_name,
        notes=tuple(note for note in notes if note),
        half_of=selection.files[0] if selection.half else "",
    )


@dataclass(frozen=True)
class _Corpus:
    """The results of one pass over the documents."""

    ids: Mapping[str, Place]
    kept: Mapping[str, Record]
    created: Mapping[str, float]
    empty: frozenset[str]


def _read_corpus(source: RawDataset, evidence: EvidenceRows, digest: DatasetDigest) -> _Corpus:
    ids: dict[str, Place] = {}
    evidence_documents: dict[str, Record] = {}
    created: dict[str, float] = {}
    empty: set[str] = set()
    for place, record in source.documents.with_places():
        name = record["id"]
        if name in ids:
            raise DatasetError(f"{place}: document {name!r} again, first at {ids[name]}", "give every document its id")
        ids[name] = place
        digest.document(record)
        if "created" in record:
            created[name] = record["created"]
        if not record["text"].strip() and not record["title"].strip():
            empty.add(name)
        if evidence.wants(record):
            evidence_documents[name] = record
    if not ids:
        raise DatasetError(f"{source.name} has no documents", "fill its corpus")
    source.check_documents(len(ids))
    return _Corpus(ids, evidence_documents, created, frozenset(empty))


def _collect_grades(rows: Iterable[Judgement]) -> Grades:
    """query → document → grade. A pair judged twice is an error, even with equal grades."""
    found: dict[tuple[str, str], Judgement] = {}
    graded: Grades = {}
    for row in rows:
        earlier = found.setdefault((row.query, row.document), row)
        if earlier is not row:
            raise DatasetError(
                f"{row.place}: query {row.query!r} and document {row.document!r} are judged {row.grade}, "
                f"but {earlier.grade} at {earlier.place}",
                "judge every pair once",
            )
        if abs(row.grade) > MAX_GRADE:
            raise DatasetError(
                f"{row.place}: the grade {row.grade} is beyond {MAX_GRADE}", "grades are small: 0, 1, 2 …"
            )
        graded.setdefault(row.query, {})[row.document] = row.grade
    return graded


def _select_unanswerable(
    source: RawDataset,
    unanswerable: frozenset[str],
    graded: Grades,
    listed_queries: set[str],
    selection: SplitSelection,
) -> frozenset[str]:
    """The unanswerable questions of the split: those its files list, those whose metadata names the split, and of the
    rest those that `SplitSelection.includes_unlisted` assigns to it."""
    selected = {topic for topic in unanswerable if topic in graded}
    unlisted = unanswerable - listed_queries
    if unlisted:
        unlisted -= {
            row.query for name in source.judgements if name not in selection.files for row in source.judgements[name]()
        }
    for topic in unlisted:
        split = source.topics[topic].meta.get("split")
        has_split = isinstance(split, str) and split in source.judgements
        if (
            (split in selection.files and selection.includes(topic))
            if has_split
            else selection.includes_unlisted(topic)
        ):
            selected.add(topic)
    return frozenset(selected)


def _check_dangling(
    rows: Iterable[Judgement], topics: Mapping[str, Topic], ids: Mapping[str, Place], name: str
) -> None:
    for row in rows:
        if row.query not in topics:
            raise DatasetError(f"{row.place} judges query {row.query!r}, which {name} does not have", _UNKNOWN_CURE)
        if row.document not in ids:
            raise DatasetError(
                f"{row.place} judges document {row.document!r}, which {name} does not have", _UNKNOWN_CURE
            )


def _topics_with_strata(source: RawDataset, unanswerable: frozenset[str], wanted: set[str]) -> dict[str, Topic]:
    """The questions of the split in id order, with their strata. Strata fields are chosen from all questions."""
    fields = question_metadata.select_strata_fields(t for t in source.topics.values() if t.id not in unanswerable)
    return {
        name: replace(topic, strata=(*topic.strata, *question_metadata.list_strata(topic.meta, fields)))
        for name in sorted(wanted)
        if (topic := source.topics[name])
    }


def _resolve_label(
    source: RawDataset, topics: Mapping[str, Topic], judged: Mapping[str, Mapping[str, int]]
) -> tuple[Label, str]:
    """The label of the split, the least trusted one if several occur ("unstated" where nobody says who judged); a
    note."""
    whole = question_metadata.parse_label(source.label)
    found: set[Label] = {
        question_metadata.parse_label(topics[name].meta.get("label")) or whole or "unstated" for name in judged
    }
    mixed = f"labels are mixed: {', '.join(sorted(found))}" if len(found) > 1 else ""
    return question_metadata.least_trusted(found), mixed


def _notes(
    corpus: _Corpus,
    judged: Mapping[str, Mapping[str, int]],
    topics: Mapping[str, Topic],
    source: RawDataset,
    selection: SplitSelection,
    listed_queries: set[str],
) -> list[str]:
    """Remarks on the data that a reader of a result needs."""
    relevant = [(q, d) for q, found in judged.items() for d, grade in found.items() if grade > 0]
    fruitless = len(judged) - len({q for q, _ in relevant})
    late = [d for q, d in relevant if (at := topics[q].at) is not None and corpus.created.get(d, at) > at]
    unjudged = len(source.topics.keys() - listed_queries - topics.keys()) if selection.split == "all" else 0
    counted = {
        "documents are empty: they count, but nothing finds them": len(corpus.empty),
        "queries have no relevant document and are not scored": fruitless,
        "queries have no judgement and are left out": unjudged,
        "relevant documents were made after the question and stay hidden": len(late),
    }
    return [f"{count} {what}" for what, count in counted.items() if count]
