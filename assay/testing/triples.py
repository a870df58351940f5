"""The contract of a reader of triples: it gives (subject, relation, object) or nothing, whatever a chunk holds.

def test_contract() -> None:
    check_triple_reader(MyReader("gpt"))
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from assay.errors import BadFile, LawBroken
from assay.ingest.triples import READER_FIELD, TRIPLES_FIELD, add_triples
from assay.protocols import TripleReader
from assay.testing.components import check_members, class_name
from assay.testing.sample import CHUNKS
from assay.types import Chunk

HOSTILE = (
    *CHUNKS,
    Chunk(
        "hostile-1",
        "hostile",
        "a | b \\0 🔑 \u202e | [[c]] " * 50,
        400,
        meta={"title": "|", "n": 1, "deep": {"a": [1]}},
    ),
    Chunk("hostile-2", "hostile", "x" * 100_000, 1),
)
"""The sample, and chunks that are long, odd, or full of bars."""


def check_triple_reader(reader: TripleReader, chunks: Sequence[Chunk] = HOSTILE) -> None:
    """Three texts with something in them, each time; the same twice (law 5); the chunk itself is left as it was."""
    check_members(reader, TripleReader, "reader of triples")
    name = class_name(reader)
    for chunk in chunks:
        before = copy.deepcopy(chunk.meta)
        try:
            first, second = (add_triples(chunk, name, reader, {}).meta for _ in range(2))
        except BadFile as error:
            raise LawBroken(f"{name}, chunk {chunk.id}: {error.message}") from error
        if chunk.meta != before:
            raise LawBroken(f"{name}, chunk {chunk.id}: changed the chunk's metadata")
        if first[TRIPLES_FIELD] != second[TRIPLES_FIELD]:
            by = first[READER_FIELD]
            raise LawBroken(f"{name}, chunk {chunk.id}: two runs differ (law 5): {by} should say the same twice")
