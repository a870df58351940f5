"""spans.jsonl: passages of raw documents that the corpus holds in pieces.

    documents.jsonl   the raw documents
    spans.jsonl       {"query_id", "corpus", "start", "end", "content"}: characters of a raw document
    corpus.jsonl      pieces of them, each with metadata.corpus, .start and .end

The corpus stays what is searched and judged: over a handful of raw documents a judgement of documents says
nothing. Every span is carried into the pieces it touches; one that a cut divides becomes a passage in each, and
each counts. `<folder>#documents` asks over the raw documents instead, for budgets over chunks of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from assay.bench.datasets.lines import Place
from assay.bench.datasets.passages import PassageRow, in_order
from assay.bench.datasets.source import Record
from assay.bench.types import Evidence
from assay.ingest.files import tidy

FILE, DOCUMENTS = "spans.jsonl", "documents.jsonl"


class _SpanPiece(NamedTuple):
    raw: str
    start: int
    end: int


@dataclass(frozen=True)
class InPieces:
    """Spans of raw documents, carried into the pieces of the corpus."""

    rows: Sequence[PassageRow]

    @cached_property
    def _by_document(self) -> Mapping[str, list[PassageRow]]:
        found: dict[str, list[PassageRow]] = {}
        for row in self.rows:
            found.setdefault(row.document, []).append(row)
        return found

    def _touching(self, piece: _SpanPiece) -> list[tuple[PassageRow, int, int]]:
        """(row, start, end) of the spans that share characters with a piece."""
        spans = ((row, *row.characters()) for row in self._by_document.get(piece.raw, ()))
        return [(row, start, end) for row, start, end in spans if start < piece.end and piece.start < end]

    def wants(self, record: Record) -> bool:
        piece = _piece(record)
        return piece is not None and bool(self._touching(piece))

    def resolve(self, kept: Mapping[str, Record]) -> Mapping[str, tuple[Evidence, ...]]:
        found: dict[str, dict[_SpanPiece, Evidence]] = {}
        held: set[Place] = set()
        for name in sorted(kept):
            text, piece = kept[name]["text"], _piece(kept[name])
            if piece is None:
                continue
            for row, start, end in self._touching(piece):
                low, high = max(start - piece.start, 0), min(end - piece.start, len(text))
                said = row.texts
                if said and said[0][low + piece.start - start : high + piece.start - start] != text[low:high]:
                    raise row.error(f"the text at [{start}, {end}) is another one in document {name!r}")
                passages = found.setdefault(row.query, {})
                passages.setdefault(
                    _SpanPiece(name, low, high), Evidence(name, low, high, tidy(text[low:high]), len(passages))
                )
                held.add(row.place)
        for row in self.rows:
            if row.place not in held:
                raise row.error("no document of the corpus holds this span")
        return in_order({query: list(passages.values()) for query, passages in found.items()})


def _piece(record: Record) -> _SpanPiece | None:
    """Which characters of which raw document this is; None when it does not say."""
    meta = record.get("metadata", {})
    raw, start, end = (meta.get(name) for name in ("corpus", "start", "end"))
    return _SpanPiece(raw, start, end) if isinstance(raw, str) and type(start) is int and type(end) is int else None
