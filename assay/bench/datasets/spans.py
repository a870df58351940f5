"""Reads spans.jsonl: passages of raw documents that the corpus contains in pieces.

    documents.jsonl   the raw documents
    spans.jsonl       {"query_id", "corpus", "start", "end", "content"}: characters of a raw document
    corpus.jsonl      pieces of them, each with metadata.corpus, .start and .end

The corpus is searched and judged: with a handful of raw documents a judgement of documents is meaningless. Every span
is mapped to the pieces it overlaps; a span across a boundary becomes a passage in each piece, and each counts.
`<folder>#documents` searches the raw documents instead, to measure budgets over other chunks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from assay.bench.datasets.defects import report_defect
from assay.bench.datasets.lines import Place
from assay.bench.datasets.passages import UNUSABLE, PassageRow, sort_passages
from assay.bench.datasets.raw_dataset import Record
from assay.bench.types import Evidence
from assay.ingest.files import clean_text

FILE, DOCUMENTS = "spans.jsonl", "documents.jsonl"


class _SpanPiece(NamedTuple):
    raw: str
    start: int
    end: int


@dataclass(frozen=True)
class SpanEvidence:
    """Spans of raw documents, mapped to the pieces of the corpus."""

    rows: Sequence[PassageRow]

    @cached_property
    def _by_document(self) -> Mapping[str, list[PassageRow]]:
        found: dict[str, list[PassageRow]] = {}
        for row in self.rows:
            found.setdefault(row.document, []).append(row)
        return found

    def _touching(self, piece: _SpanPiece) -> list[tuple[PassageRow, int, int]]:
        """(row, start, end) of the spans that overlap a piece."""
        spans = ((row, *row.offsets()) for row in self._by_document.get(piece.raw, ()))
        return [(row, start, end) for row, start, end in spans if start < piece.end and piece.start < end]

    def wants(self, record: Record) -> bool:
        piece = _parse_piece(record)
        return piece is not None and bool(self._touching(piece))

    def resolve(self, documents: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]:
        found: dict[str, dict[_SpanPiece, Evidence]] = {}
        resolved_places: set[Place] = set()
        for name in sorted(documents):
            text, piece = documents[name]["text"], _parse_piece(documents[name])
            if piece is None:
                continue
            for row, start, end in self._touching(piece):
                low, high = max(start - piece.start, 0), min(end - piece.start, len(text))
                quotes = row.texts
                resolved_places.add(row.place)
                if quotes and quotes[0][low + piece.start - start : high + piece.start - start] != text[low:high]:
                    error = row.error(f"the text at [{start}, {end}) is another one in document {name!r}")
                    report_defect(UNUSABLE, error)
                    continue
                passages = found.setdefault(row.query, {})
                passages.setdefault(
                    _SpanPiece(name, low, high), Evidence(name, low, high, clean_text(text[low:high]), len(passages))
                )
        for row in self.rows:
            if row.place not in resolved_places:
                report_defect(UNUSABLE, row.error("no document of the corpus holds this span"))
        return sort_passages({query: list(passages.values()) for query, passages in found.items()})


def _parse_piece(record: Record) -> _SpanPiece | None:
    """The raw document and the characters of a piece; None if its metadata does not name them."""
    meta = record.get("metadata", {})
    raw, start, end = (meta.get(name) for name in ("corpus", "start", "end"))
    return _SpanPiece(raw, start, end) if isinstance(raw, str) and type(start) is int and type(end) is int else None
