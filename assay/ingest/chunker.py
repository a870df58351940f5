"""A document becomes chunks: under one heading path each, small enough for the embedding model, with stable ids.

What is embedded is `Chunk.indexed_text`: title, section path and text, a line each. Law:

    wordpiece.count(chunk.indexed_text) + 2 <= 256           (the model adds [CLS] and [SEP])

A chunk's text is an exact part of its section's text: `meta["start"]` is where it begins there, in characters.
Chunks do not overlap and never cross a section; together they hold all text of the document, in order.

The id is derived from what the chunk is: 80 bits of blake2b over the document id, the section path, the text, and
how many times this text came before under this path. A chunk that an edit does not touch keeps its id; its other
facts (title, start, metadata) may change under the same id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any, NamedTuple

from assay.ingest.cut import fits, weigh, word_units
from assay.ingest.files import tidy
from assay.ingest.pack import Room, pack
from assay.text.language import language_of
from assay.text.tokens import count_tokens
from assay.text.wordpiece import count
from assay.types import Chunk, Document

LIMIT = 254
"""WordPiece tokens of `indexed_text`: the model reads 256, two of which it adds itself."""
HEADER_LINE = 32
"""WordPiece tokens of the title, and of the section path; what is longer is trimmed."""
SAMPLE = 300
"""Characters from which the language of a document is told."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How large chunks are, in WordPiece tokens of their text (weights, see `cut`)."""

    name: str
    least: int
    target: int
    most: int


PROFILES = {
    "default": Profile("default", least=48, target=200, most=LIMIT),
    "fine": Profile("fine", least=40, target=72, most=90),
}


def chunk_document(document: Document, profile: Profile) -> list[Chunk]:
    """The chunks of a document, in order; none for an empty one."""
    return chunk_documents((document,), profile)[0]


def chunk_documents(documents: Sequence[Document], profile: Profile) -> list[list[Chunk]]:
    """The chunks of some documents: what `chunk_document` gives for each, a fifth faster.

    One kind of work at a time: the tables of the two tokenisers and of the language model do not fit the
    processor's cache together.
    """
    titles = [trimmed(document.title, HEADER_LINE) for document in documents]
    pieces = [list(_pieces(document, title, profile)) for document, title in zip(documents, titles, strict=True)]
    tokens = [[count_tokens(piece.text) for piece in cut] for cut in pieces]
    facts = [_facts(document, title) for document, title in zip(documents, titles, strict=True)]
    return [list(_chunks(*each)) for each in zip(documents, pieces, tokens, facts, strict=True)]


def _chunks(document: Document, pieces: list[_ChunkPiece], tokens: list[int], facts: dict[str, Any]) -> Iterator[Chunk]:
    times: Counter[str] = Counter()
    for piece, size in zip(pieces, tokens, strict=True):
        identity = chunk_id(document.id, piece.path, piece.text, 0)
        times[identity] += 1
        if times[identity] > 1:
            identity = chunk_id(document.id, piece.path, piece.text, times[identity] - 1)
        meta = {**facts, "section": piece.line, "start": piece.start}
        yield Chunk(identity, document.id, piece.text, size, document.created, document.importance, meta)


class _ChunkPiece(NamedTuple):
    """What will be a chunk: a text, where it stands, and the line that says so."""

    path: tuple[str, ...]
    line: str
    start: int
    text: str


def _pieces(document: Document, title: str, profile: Profile) -> Iterator[_ChunkPiece]:
    left = LIMIT - count(title)
    for section in document.sections:
        text = tidy(section.text)
        line = section_line(section.path, document.title)
        most = min(profile.most, left - count(line))
        for start, end in pack(text, Room(profile.least, min(profile.target, most), most)):
            yield _ChunkPiece(section.path, line, start, text[start:end])


_PAIRS = ["".join(pair) for pair in product("abcdefghijklmnopqrstuvwxyz234567", repeat=2)]
"""Ten bits as two characters: `base64.b32encode` would take as long as the digest itself, four times over."""


def chunk_id(doc_id: str, path: tuple[str, ...], text: str, times_before: int) -> str:
    """16 characters a-z2-7: base32 of 80 bits of blake2b over what the chunk is."""
    said = "\x1f".join((doc_id, *path, str(times_before), text))
    digest = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    number = int.from_bytes(digest)
    return "".join([_PAIRS[number >> place & 1023] for place in range(70, -1, -10)])


def section_line(path: tuple[str, ...], title: str) -> str:
    """The heading path as one line, "A > B"; a first heading that repeats the title says nothing new.

    When it is too long the outer headings go first: "… > B".
    """
    steps = list(path[1:] if path and path[0] == title else path)
    line = " ".join(tidy(" > ".join(steps)).split())
    if fits(line, HEADER_LINE):
        return line
    while len(steps) > 1 and weigh(" > ".join(steps)) > HEADER_LINE - 2:
        steps.pop(0)
    return trimmed(" > ".join(("…", *steps)), HEADER_LINE)


def trimmed(text: str, most: int) -> str:
    """The text on one line, cut at a word so that it weighs at most `most` tokens."""
    line = " ".join(tidy(text).split())
    if fits(line, most):
        return line
    first = next(word_units(line, 0, len(line), most - 1))
    return f"{line[: first.end]}…"


def _facts(document: Document, title: str) -> dict[str, Any]:
    """What all chunks of a document share: its metadata, its title, and its language where it can be told."""
    facts = {**document.meta, "title": title}
    if "lang" not in facts and (language := language_of(_sample(document))):
        facts["lang"] = language
    return facts


def _sample(document: Document) -> str:
    """The beginning of a document."""
    sample = ""
    for section in document.sections:
        if len(sample) >= SAMPLE:
            break
        sample = f"{sample}\n{section.text[: SAMPLE - len(sample)]}"
    return sample
