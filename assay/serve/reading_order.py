"""The order in which the chunks of a document are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from assay.sync import RECORDS
from assay.types import Chunk

if TYPE_CHECKING:  # the engine is loaded at the first call
    from assay.kb import KnowledgeBase


def in_reading_order(kb: KnowledgeBase, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Chunks by document, section and place in the section. Documents of a file and sections have no numbers: the order
    in which the store received their chunks is the order of the file."""
    found = list(chunks)
    origins = {name for chunk in found for name in origins_of(chunk.doc_id)} if len(found) > 1 else set()
    received = {head.id: place for name in sorted(origins) for place, head in enumerate(kb.store.heads(name))}
    first: dict[tuple[str, ...], int] = {}
    for chunk in found:
        place = received.get(chunk.id, len(received))
        for part in ((chunk.doc_id,), (chunk.doc_id, chunk.section)):
            first[part] = min(place, first.get(part, place))

    def place_of(chunk: Chunk) -> tuple[int, int, int, str]:
        section = first[chunk.doc_id, chunk.section]
        return first[(chunk.doc_id,)], section, int(chunk.meta.get("start", 0)), chunk.id

    return sorted(found, key=place_of)


def origins_of(doc_id: str) -> Iterator[str]:
    """Every name that the file or record of a document can have: its own, FILE of FILE#NUMBER, or a record's."""
    yield doc_id
    yield f"{RECORDS}/{doc_id}"
    yield from (doc_id[:place] for place, letter in enumerate(doc_id) if letter == "#")
