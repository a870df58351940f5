"""Splits a document into chunks: under one heading path each, small enough for the embedding model, with stable ids.

What is embedded is `Chunk.indexed_text`: title, section path and text, a line each. Law:

    count_pieces(chunk.indexed_text) + 2 <= 256           (the model adds [CLS] and [SEP])

A chunk's text is an exact part of its section's text: `meta["start"]` is where it begins there, in characters.
Chunks do not overlap and never cross a section; together they hold all text of the document, in order.

The id is a digest: 80 bits of blake2b over the document id, the section path, the text, and
how many times this text occurred before under this path. A chunk that an edit does not touch keeps its id; its title,
start and metadata may change under the same id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any, NamedTuple

from assay.ingest.files import clean_text
from assay.ingest.packing import SizeLimits, pack_chunks
from assay.ingest.text_units import fits, split_into_words, weigh
from assay.text.language import detect_language
from assay.text.token_count import count_tokens
from assay.text.wordpiece import count_pieces
from assay.types import Chunk, Document

LIMIT = 254
"""WordPiece tokens of `indexed_text`: the model reads 256, two of which it adds itself."""
HEADER_LINE = 32
"""WordPiece tokens of the title, and of the section path; a longer line is trimmed."""
SAMPLE = 300
"""Characters from which the language of a document is detected."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How large chunks are, in WordPiece tokens of their text (weights, see `text_units`)."""

    name: str
    least: int
    target: int
    most: int


PROFILES = {
    "default": Profile("default", least=48, target=200, most=LIMIT),
    "fine": Profile("fine", least=40, target=72, most=90),
}


def chunk_document(document: Document, profile: Profile) -> list[Chunk]:
    """Return the chunks of a document, in order; none for an empty one."""
    return chunk_documents((document,), profile)[0]


def chunk_documents(documents: Sequence[Document], profile: Profile) -> list[list[Chunk]]:
    """Return the chunks of several documents: the same as `chunk_document` for each, a fifth faster.

    Each kind of work runs for all documents at once: the tables of the two tokenisers and of the language model do not
    fit the processor's cache together.
    """
    titles = [trim_line(document.title, HEADER_LINE) for document in documents]
    pieces = [
        list(_split_document(document, title, profile)) for document, title in zip(documents, titles, strict=True)
    ]
    tokens = [[count_tokens(piece.text) for piece in of_document] for of_document in pieces]
    metadata = [_shared_metadata(document, title) for document, title in zip(documents, titles, strict=True)]
    return [list(_build_chunks(*each)) for each in zip(documents, pieces, tokens, metadata, strict=True)]


def _build_chunks(
    document: Document, pieces: list[_ChunkPiece], tokens: list[int], shared: dict[str, Any]
) -> Iterator[Chunk]:
    times: Counter[str] = Counter()
    for piece, size in zip(pieces, tokens, strict=True):
        identity = chunk_id(document.id, piece.path, piece.text, 0)
        times[identity] += 1
        if times[identity] > 1:
            identity = chunk_id(document.id, piece.path, piece.text, times[identity] - 1)
        meta = {**shared, "section": piece.line, "start": piece.start}
        yield Chunk(identity, document.id, piece.text, size, document.created, document.importance, meta)


class _ChunkPiece(NamedTuple):
    """The text of a future chunk, its section path and line, and its start in the section."""

    path: tuple[str, ...]
    line: str
    start: int
    text: str


def _split_document(document: Document, title: str, profile: Profile) -> Iterator[_ChunkPiece]:
    room = LIMIT - count_pieces(title)
    for section in document.sections:
        text = clean_text(section.text)
        line = format_section(section.path, document.title)
        most = min(profile.most, room - count_pieces(line))
        for start, end in pack_chunks(text, SizeLimits(profile.least, min(profile.target, most), most)):
            yield _ChunkPiece(section.path, line, start, text[start:end])


_PAIRS = ["".join(pair) for pair in product("abcdefghijklmnopqrstuvwxyz234567", repeat=2)]
"""Ten bits as two characters: `base64.b32encode` would take as long as the digest itself, four times over."""


def chunk_id(doc_id: str, path: tuple[str, ...], text: str, times_before: int) -> str:
    """Return 16 characters a-z2-7: base32 of 80 bits of blake2b over the fields that identify the chunk."""
    identity = "\x1f".join((doc_id, *path, str(times_before), text))
    digest = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    number = int.from_bytes(digest)
    return "".join([_PAIRS[number >> place & 1023] for place in range(70, -1, -10)])


def format_section(path: tuple[str, ...], title: str) -> str:
    """Return the heading path as one line, "A > B", without a first heading that repeats the title.

    When it is too long the outer headings are dropped first: "… > B".
    """
    steps = list(path[1:] if path and path[0] == title else path)
    line = " ".join(clean_text(" > ".join(steps)).split())
    if fits(line, HEADER_LINE):
        return line
    while len(steps) > 1 and weigh(" > ".join(steps)) > HEADER_LINE - 2:
        steps.pop(0)
    return trim_line(" > ".join(("…", *steps)), HEADER_LINE)


def trim_line(text: str, most: int) -> str:
    """Return the text on one line, cut at a word so that it weighs at most `most` tokens."""
    line = " ".join(clean_text(text).split())
    if fits(line, most):
        return line
    first = next(split_into_words(line, 0, len(line), most - 1))
    return f"{line[: first.end]}…"


def _shared_metadata(document: Document, title: str) -> dict[str, Any]:
    """Return the metadata of all chunks of a document: its own, its title, and its language where detected."""
    meta = {**document.meta, "title": title}
    if "lang" not in meta and (language := detect_language(_language_sample(document))):
        meta["lang"] = language
    return meta


def _language_sample(document: Document) -> str:
    """Return the beginning of a document."""
    sample = ""
    for section in document.sections:
        if len(sample) >= SAMPLE:
            break
        sample = f"{sample}\n{section.text[: SAMPLE - len(sample)]}"
    return sample
