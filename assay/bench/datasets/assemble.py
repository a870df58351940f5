"""A split of a source becomes a `Dataset`, or an error that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from assay.bench.datasets import rules
from assay.bench.datasets.digest import Digest
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place
from assay.bench.datasets.source import EvidenceRows, Judgement, RawDataset, Record
from assay.bench.datasets.splits import SplitPlan, plan
from assay.bench.metrics.ranked import HIGHEST
from assay.bench.types import Dataset, Label, Topic

Graded = dict[str, dict[str, int]]


def assemble(source: RawDataset, split: str, given: str) -> Dataset:
    """The dataset of one split; `given` is what `load` was asked for, as a receipt may show it."""
    if not source.topics:
        raise DatasetError(f"{source.name} has no queries", f"make some: assay bench synth {source.name}")
    how = plan(split, source.judgements)
    rows = [row for name in how.files for row in source.judgements[name]()]
    listed = {row.query for row in rows}
    graded = {query: found for query, found in _graded(rows).items() if how.takes(query)}
    unanswerable = source.abstain | {t.id for t in source.topics.values() if rules.is_unanswerable(t.meta)}
    abstain = _abstaining(source, unanswerable, graded, listed, how)
    judged = {query: found for query, found in graded.items() if query not in unanswerable}
    evidence_rows = source.evidence(frozenset(judged))
    digest = Digest()
    corpus = _read_corpus(source, evidence_rows, digest)
    _check_dangling(rows, source.topics, corpus.ids, source.name)
    if not any(grade > 0 for found in judged.values() for grade in found.values()):
        raise DatasetError(f"{source.name} has no judged query in split {how.split!r}", "choose another split")
    topics = _stratified(source, unanswerable, {*judged, *abstain})
    evidence = evidence_rows.resolve(corpus.kept)
    label, label_note = _label(source, topics, judged)
    digest.questions(how.split, topics, judged, evidence, abstain)
    notes = (how.note, *source.notes, *_notes(corpus, judged, topics, source, how, listed), label_note)
    return Dataset(
        name=source.name,
        split=how.split,
        digest=digest.hexdigest(),
        label=label,
        documents=source.documents,
        document_count=len(corpus.ids),
        topics=topics,
        judgements=judged,
        evidence=evidence,
        abstain=abstain,
        source=given,
        notes=tuple(note for note in notes if note),
    )


@dataclass(frozen=True)
class _Corpus:
    """What one pass over the documents found."""

    ids: Mapping[str, Place]
    kept: Mapping[str, Record]
    created: Mapping[str, float]
    empty: frozenset[str]


def _read_corpus(source: RawDataset, evidence: EvidenceRows, digest: Digest) -> _Corpus:
    ids: dict[str, Place] = {}
    kept: dict[str, Record] = {}
    created: dict[str, float] = {}
    empty: set[str] = set()
    for place, record in source.documents.placed():
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
            kept[name] = record
    if not ids:
        raise DatasetError(f"{source.name} has no documents", "fill its corpus")
    source.check_documents(len(ids))
    return _Corpus(ids, kept, created, frozenset(empty))


def _graded(rows: Iterable[Judgement]) -> Graded:
    """query → document → grade; a pair that is judged twice is an error even if both say the same."""
    found: dict[tuple[str, str], Judgement] = {}
    graded: Graded = {}
    for row in rows:
        earlier = found.setdefault((row.query, row.document), row)
        if earlier is not row:
            raise DatasetError(
                f"{row.place}: query {row.query!r} and document {row.document!r} are judged {row.grade}, "
                f"but {earlier.grade} at {earlier.place}",
                "judge every pair once",
            )
        if abs(row.grade) > HIGHEST:
            raise DatasetError(f"{row.place}: the grade {row.grade} is beyond {HIGHEST}", "grades are small: 0, 1, 2 …")
        graded.setdefault(row.query, {})[row.document] = row.grade
    return graded


def _abstaining(
    source: RawDataset, unanswerable: frozenset[str], graded: Graded, listed: set[str], how: SplitPlan
) -> frozenset[str]:
    """The unanswerable questions of the split: those its files list; those its name is written on; and of those that
    no file lists and nothing is written on, the share that `Plan.takes_unlisted` gives it."""
    here = {topic for topic in unanswerable if topic in graded}
    open_ones = unanswerable - listed
    if open_ones:
        open_ones -= {
            row.query for name in source.judgements if name not in how.files for row in source.judgements[name]()
        }
    for topic in open_ones:
        said = source.topics[topic].meta.get("split")
        named = isinstance(said, str) and said in source.judgements
        if (said in how.files and how.takes(topic)) if named else how.takes_unlisted(topic):
            here.add(topic)
    return frozenset(here)


def _check_dangling(
    rows: Iterable[Judgement], topics: Mapping[str, Topic], ids: Mapping[str, Place], name: str
) -> None:
    for row in rows:
        if row.query not in topics:
            raise DatasetError(f"{row.place} judges query {row.query!r}, which {name} does not have", "mend the line")
        if row.document not in ids:
            raise DatasetError(
                f"{row.place} judges document {row.document!r}, which {name} does not have", "mend the line"
            )


def _stratified(source: RawDataset, unanswerable: frozenset[str], wanted: set[str]) -> dict[str, Topic]:
    """The questions of the split in id order, with their strata; which fields are strata, all questions decide."""
    fields = rules.strata_fields(t for t in source.topics.values() if t.id not in unanswerable)
    return {
        name: replace(topic, strata=(*topic.strata, *rules.strata(topic.meta, fields)))
        for name in sorted(wanted)
        if (topic := source.topics[name])
    }


def _label(
    source: RawDataset, topics: Mapping[str, Topic], judged: Mapping[str, Mapping[str, int]]
) -> tuple[Label, str]:
    """Who judged the split; where several did, the least trusted of them, and a note."""
    whole = rules.label_of(source.label) or "human"
    found = {rules.label_of(topics[name].meta.get("label")) or whole for name in judged}
    mixed = f"labels are mixed: {', '.join(sorted(found))}" if len(found) > 1 else ""
    return rules.least_trusted(found), mixed


def _notes(
    corpus: _Corpus,
    judged: Mapping[str, Mapping[str, int]],
    topics: Mapping[str, Topic],
    source: RawDataset,
    how: SplitPlan,
    listed: set[str],
) -> list[str]:
    """What a reader of a result should know about the data."""
    relevant = [(q, d) for q, found in judged.items() for d, grade in found.items() if grade > 0]
    fruitless = len(judged) - len({q for q, _ in relevant})
    late = [d for q, d in relevant if (at := topics[q].at) is not None and corpus.created.get(d, at) > at]
    unjudged = len(source.topics.keys() - listed - topics.keys()) if how.split == "all" else 0
    counted = {
        "documents are empty: they count, but nothing finds them": len(corpus.empty),
        "queries have no relevant document and are not scored": fruitless,
        "queries have no judgement and are left out": unjudged,
        "relevant documents were made after the question and stay hidden": len(late),
    }
    return [f"{count} {what}" for what, count in counted.items() if count]
