"""What a chunk gives to the graph: keys of things it speaks of and addresses it has or leads to, each with its class.

A candidate is one string, `<table><key>\\0<class>`, so that postings are sorted, spilled and merged as words are, and
all classes of one key stand side by side:

    c…\\0f   a thing, firmly: an identifier, a name inside a sentence, a name given in the metadata
    c…\\0s   a thing, softly: capitals where a sentence or a heading begins
    c…\\0p   a pair of words, to be judged by the statistics of the generation
    a…\\0d   an address of the chunk's own document
    a…\\0w   a wiki link to an address;  m: a Markdown link;  r: supersedes

Metadata is the way in for whoever knows more, a language model included (`ingest.triples`): `entities` is a list of
names, `aliases` one of other names of the document, `triples` one of "subject | relation | object". They are part of
the record of truth, so an index built from them is reproducible and needs no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.text.entities import key_of, spoken
from assay.text.links import addresses, links, replaced
from assay.types import Chunk

FIRM, SOFT, WIKI, MARKDOWN, SUPERSEDES, PAIR = 1, 2, 4, 8, 16, 32
"""Bits of a posting. An address is firm where it is linked to, and soft in the document that has it."""
CLASSES: Mapping[str, int] = {
    "f": FIRM,
    "s": SOFT,
    "p": FIRM | PAIR,
    "d": SOFT,
    "w": FIRM | WIKI,
    "m": FIRM | MARKDOWN,
    "r": FIRM | SUPERSEDES,
}
LINKS: Mapping[str, str] = {"wiki": "w", "markdown": "m", "supersedes": "r"}
THING, ADDRESS = "c", "a"
MOST_GIVEN = 100
"""Names taken from one chunk's metadata."""


def candidates(chunk: Chunk, language: str) -> list[str]:
    """Every candidate of a chunk, each once."""
    return list(dict.fromkeys(_candidates(chunk, language)))


def _candidates(chunk: Chunk, language: str) -> Iterator[str]:
    said = spoken(chunk.text, language)
    above = spoken(f"{chunk.title}\n{chunk.section}", language, heading=True)
    for kind, keys in (("f", said.firm), ("s", said.soft), ("p", said.pairs), ("f", above.firm), ("s", above.soft)):
        for key in keys:
            yield f"{THING}{key}\0{kind}"
    for name in _given(chunk.meta):
        yield f"{THING}{name}\0f"
    for place in addresses(chunk.doc_id, chunk.title, _texts(chunk.meta.get("aliases"))[:MOST_GIVEN]):
        yield f"{ADDRESS}{place}\0d"
    for link, place in (*links(chunk.text, chunk.doc_id), *replaced(chunk.meta)):
        yield f"{ADDRESS}{place}\0{LINKS[link]}"


def _given(meta: Mapping[str, Any]) -> list[str]:
    """The names that the metadata gives."""
    names = _texts(meta.get("entities")) + _texts(meta.get("aliases"))
    for triple in _texts(meta.get("triples")):
        ends = triple.split("|")
        names += [ends[0], ends[-1]] if len(ends) == 3 else []
    return [key for key in map(key_of, names[:MOST_GIVEN]) if key]


def _texts(value: Any) -> list[str]:
    members = value if isinstance(value, list | tuple) else [value]
    return [member for member in members if isinstance(member, str)]
