"""Candidates and snapshots for the tests of packers."""

from assay.engine.context import PackCandidate
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.token_count import count_tokens
from assay.types import Chunk


def make_chunk(number, text, title="", doc="", section="", created=float("nan"), **meta):
    meta = {"title": title, "section": section, **meta}
    return Chunk(f"c{number}", doc or f"d{number}", text, count_tokens(text), created, 1.0, meta)


def make_candidates(chunks, scores=None):
    scores = scores or [1.0 - place / 100 for place in range(len(chunks))]
    return [
        PackCandidate(place, chunk, score) for place, (chunk, score) in enumerate(zip(chunks, scores, strict=True), 1)
    ]


def make_case(*texts, **options):
    """Candidates of plain texts and their snapshot."""
    chunks = [make_chunk(number, text, **options) for number, text in enumerate(texts, 1)]
    return make_candidates(chunks), MemorySnapshot(chunks)
