"""Passages that answer, beside judgements of documents: evidence.jsonl or supporting_facts.jsonl.

    {"query_id", "doc_id", "start", "end"}           characters [start, end) of the document's text
    {"query_id", "doc_id", "sentence" | "sentences"} sentences, counted from 0: of metadata.sentences where the
                                                     document has them, else as assay.text.sentences cuts them
    {"query_id", "doc_id", "text"}                   the passage itself, found in the document

`text` (or `content`) may stand beside the others: it must then be what stands there. Passages of one question
that share a `group` say the same; a passage without a group is a fact of its own. A passage named twice counts
once. spans.jsonl is read by spans.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.bench.datasets import spans
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.passages import PassageRow, in_order, rows
from assay.bench.datasets.source import EvidenceRows, NoEvidence, Record
from assay.bench.types import Evidence, Topic
from assay.ingest.dates import brief
from assay.ingest.files import tidy
from assay.text.sentences import Span, sentences

FILES = ("evidence.jsonl", "supporting_facts.jsonl")


def read(folder: Path, manifest: Manifest, topics: Mapping[str, Topic], judged: frozenset[str]) -> EvidenceRows:
    """The evidence of these questions, from whichever file the folder has."""
    if (folder / spans.FILE).is_file():
        return spans.InPieces(rows(folder / spans.FILE, manifest, topics, judged))
    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    return InDocuments(rows(path, manifest, topics, judged)) if path else NoEvidence()


@dataclass(frozen=True)
class InDocuments:
    """Passages of the corpus's own documents."""

    rows: Sequence[PassageRow]

    @cached_property
    def _documents(self) -> frozenset[str]:
        return frozenset(row.document for row in self.rows)

    def wants(self, record: Record) -> bool:
        return record["id"] in self._documents

    def resolve(self, kept: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]:
        found: dict[str, dict[tuple[str, int, int], Evidence]] = {}
        groups: dict[str, dict[object, int]] = {}
        for row in self.rows:
            if row.document not in kept:
                raise row.missing()
            text = kept[row.document]["text"]
            for start, end in _places(row, kept[row.document]):
                named = row.fields.get("group")
                own = (row.document, start, end)
                numbers = groups.setdefault(row.query, {})
                group = numbers.setdefault(own if named is None else str(named), len(numbers))
                found.setdefault(row.query, {}).setdefault(
                    own, Evidence(row.document, start, end, tidy(text[start:end]), group)
                )
        return in_order({query: list(passages.values()) for query, passages in found.items()})


def _places(row: PassageRow, record: Record) -> Iterator[Span]:
    """The characters a line speaks of."""
    text: str = record["text"]
    said = row.texts
    if row.has_characters:
        start, end = row.characters(len(text))
        if said and said != (text[start:end],):
            raise row.error(f"the text at [{start}, {end}) is {brief(text[start:end])}")
        yield start, end
    elif said:
        for passage in said:
            start = text.find(passage)
            if start < 0:
                raise row.error(f"{brief(passage)} does not stand in document {row.document!r}")
            yield start, start + len(passage)
    else:
        cut = _sentences(row, record)
        for index in row.sentences:
            if index >= len(cut):
                raise row.error(f"sentence {index} of {len(cut)}", "count sentences from 0")
            yield cut[index]


def _sentences(row: PassageRow, record: Record) -> list[Span]:
    """The sentences of a document: its own where it names them, else ours."""
    text, own = record["text"], record.get("metadata", {}).get("sentences")
    if not isinstance(own, list):
        return sentences(text)
    cut: list[Span] = []
    at = 0
    for sentence in own:
        bare = str(sentence).strip()
        start = text.find(bare, at)
        if start < 0:
            raise row.error(f"sentence {brief(bare)} does not stand in document {row.document!r}")
        at = start + len(bare)
        cut.append((start, at))
    return cut
