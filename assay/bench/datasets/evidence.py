"""Reads the passages that answer a question: evidence.jsonl or supporting_facts.jsonl.

    {"query_id", "doc_id", "start", "end"}           characters [start, end) of the document's text
    {"query_id", "doc_id", "sentence" | "sentences"} sentences, counted from 0: of metadata.sentences where the
                                                     document has them, else as assay.text.sentences cuts them
    {"query_id", "doc_id", "text"}                   the passage itself, found in the document

`text` (or `content`) may be given with the other fields and must then equal the text at that place. Passages of one
question with the same `group` state the same fact; a passage without a group is a fact of its own. A repeated passage
counts once. spans.jsonl is read by spans.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.bench.datasets import spans
from assay.bench.datasets.defects import report_defect
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.passages import UNUSABLE, PassageRow, read_passages, sort_passages
from assay.bench.datasets.raw_dataset import EvidenceRows, NoEvidence, Record
from assay.bench.types import Evidence, Topic
from assay.ingest.dates import abbreviate
from assay.ingest.files import clean_text
from assay.text.sentences import Span, split_sentences

FILES = ("evidence.jsonl", "supporting_facts.jsonl")


def read_evidence(
    folder: Path, manifest: Manifest, topics: Mapping[str, Topic], judged: frozenset[str]
) -> EvidenceRows:
    """Read the evidence of these questions from the evidence file of the folder, if there is one."""
    if (folder / spans.FILE).is_file():
        return spans.SpanEvidence(read_passages(folder / spans.FILE, manifest, topics, judged))
    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    return DocumentEvidence(read_passages(path, manifest, topics, judged)) if path else NoEvidence()


@dataclass(frozen=True)
class DocumentEvidence:
    """Passages of documents of the corpus."""

    rows: Sequence[PassageRow]

    @cached_property
    def _documents(self) -> frozenset[str]:
        return frozenset(row.document for row in self.rows)

    def wants(self, record: Record) -> bool:
        return record["id"] in self._documents

    def resolve(self, documents: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]:
        found: dict[str, dict[tuple[str, int, int], Evidence]] = {}
        groups: dict[str, dict[object, int]] = {}
        for row in self.rows:
            try:
                if row.document not in documents:
                    raise row.missing()
                spans_found = list(_find_spans(row, documents[row.document]))
            except DatasetError as error:
                report_defect(UNUSABLE, error)
                continue
            text = documents[row.document]["text"]
            for start, end in spans_found:
                group_name = row.fields.get("group")
                own = (row.document, start, end)
                numbers = groups.setdefault(row.query, {})
                group = numbers.setdefault(own if group_name is None else str(group_name), len(numbers))
                found.setdefault(row.query, {}).setdefault(
                    own, Evidence(row.document, start, end, clean_text(text[start:end]), group)
                )
        return sort_passages({query: list(passages.values()) for query, passages in found.items()})


def _find_spans(row: PassageRow, record: Record) -> Iterator[Span]:
    """The character spans that a line names."""
    text: str = record["text"]
    quotes = row.texts
    if row.has_offsets:
        start, end = row.offsets(len(text))
        if quotes and quotes != (text[start:end],):
            raise row.error(f"the text at [{start}, {end}) is {abbreviate(text[start:end])}")
        yield start, end
    elif quotes:
        for passage in quotes:
            start = text.find(passage)
            if start < 0:
                raise row.error(f"{abbreviate(passage)} does not stand in document {row.document!r}")
            yield start, start + len(passage)
    else:
        cut = _split_sentences(row, record)
        for index in row.sentences:
            if index >= len(cut):
                raise row.error(f"sentence {index} of {len(cut)}", "count sentences from 0")
            yield cut[index]


def _split_sentences(row: PassageRow, record: Record) -> list[Span]:
    """The sentences of a document: from its metadata if present, else split by Assay."""
    text, own = record["text"], record.get("metadata", {}).get("sentences")
    if not isinstance(own, list):
        return split_sentences(text)
    cut: list[Span] = []
    at = 0
    for sentence in own:
        bare = str(sentence).strip()
        start = text.find(bare, at)
        if start < 0:
            raise row.error(f"sentence {abbreviate(bare)} does not stand in document {row.document!r}")
        at = start + len(bare)
        cut.append((start, at))
    return cut
