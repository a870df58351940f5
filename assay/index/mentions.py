"""Extracts a chunk's mentions for the graph: keys of things, and addresses of its document and its links, by class.

A mention is one string, `<table><key>\\0<class>`, so that postings are sorted, spilled and merged as words are, and
all classes of one key are adjacent:

    c…\\0f   a thing, firm: an identifier, a name inside a sentence, a name in the metadata
    c…\\0s   a thing, soft: capitals where a sentence or a heading begins
    c…\\0p   a pair of words, accepted by the statistics of the generation
    a…\\0d   an address of the chunk's own document
    a…\\0w   a wiki link to an address;  m: a Markdown link;  r: supersedes

Metadata adds more, for example from a language model (`ingest.triples`): `entities` is a list of names, `aliases` a
list of other names of the document, `triples` a list of "subject | relation | object". The chunk store holds them, so
an index built from them is reproducible and needs no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.text.entities import extract_entities, make_key
from assay.text.links import extract_links, extract_replacements, list_addresses
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
MAX_METADATA_NAMES = 100
"""Names taken from one chunk's metadata."""


def extract_mentions(chunk: Chunk, language: str) -> list[str]:
    """Return every mention of a chunk, each once."""
    return list(dict.fromkeys(_iterate_mentions(chunk, language)))


def _iterate_mentions(chunk: Chunk, language: str) -> Iterator[str]:
    body = extract_entities(chunk.text, language)
    headings = extract_entities(f"{chunk.title}\n{chunk.section}", language, heading=True)
    for kind, keys in (
        ("f", body.firm),
        ("s", body.soft),
        ("p", body.pairs),
        ("f", headings.firm),
        ("s", headings.soft),
    ):
        for key in keys:
            yield f"{THING}{key}\0{kind}"
    for name in _metadata_names(chunk.meta):
        yield f"{THING}{name}\0f"
    for address in list_addresses(chunk.doc_id, chunk.title, _texts(chunk.meta.get("aliases"))[:MAX_METADATA_NAMES]):
        yield f"{ADDRESS}{address}\0d"
    for link, address in (*extract_links(chunk.text, chunk.doc_id), *extract_replacements(chunk.meta)):
        yield f"{ADDRESS}{address}\0{LINKS[link]}"


def _metadata_names(meta: Mapping[str, Any]) -> list[str]:
    """Return the keys of the names in the metadata."""
    names = _texts(meta.get("entities")) + _texts(meta.get("aliases"))
    for triple in _texts(meta.get("triples")):
        ends = triple.split("|")
        names += [ends[0], ends[-1]] if len(ends) == 3 else []
    return [key for key in map(make_key, names[:MAX_METADATA_NAMES]) if key]


def _texts(value: Any) -> list[str]:
    members = value if isinstance(value, list | tuple) else [value]
    return [member for member in members if isinstance(member, str)]
