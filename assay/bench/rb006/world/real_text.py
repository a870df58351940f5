"""Real text as the body of a world: public handbooks, mails, release notes and proposals, cut into chunks of 40 to 90
tokens.

The order is fixed: the documents of a source by the hash of their id, the sources of a group in turn, the second group
after the first. So a larger corpus begins with the smaller one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from assay.bench.datasets.catalog import locate
from assay.bench.rb006.world.documents import WorldChunk
from assay.bench.rb006.world.renderer import LEAST_TOKENS, MOST_TOKENS
from assay.errors import QueryError
from assay.ingest.dates import parse_moment
from assay.text.sentences import split_sentences
from assay.text.token_count import count_tokens

SOURCE_GROUPS: Sequence[Sequence[str]] = (("gitlab_handbook", "enron_berkeley", "k8s_changelog"), ("keps", "peps"))
"""Datasets of $ASSAY_DATA: a policy handbook, mails, versioned release notes; then two kinds of proposals."""
GROUPED_BY_VERSION = frozenset({"k8s_changelog"})
"""Datasets whose documents are single notes: those of one version are read as one document."""
_DATES = ("date", "last_commit", "creation-date", "Created")
_TARGET = 66
_HEADING = re.compile(r"#{1,6}\s+(?P<title>.+)")
_MARKUP = re.compile(r"!?\[(?P<label>[^\[\]]*)\]\([^()\s]*\)|<!--.*?-->", re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True)
class RealBody:
    """The chunks of the real text, and what they come from."""

    groups: tuple[tuple[Path, ...], ...]

    @classmethod
    def find(cls) -> RealBody:
        """The body from $ASSAY_DATA; an error with the cure when a dataset is missing."""
        return cls(tuple(tuple(locate(name) for name in group) for group in SOURCE_GROUPS))

    def describe(self) -> dict[str, dict[str, str]]:
        """Dataset → where it comes from (with the commit) and the digest of its corpus."""
        found = {}
        for folder in (folder for group in self.groups for folder in group):
            meta = json.loads((folder / "meta.json").read_text("utf-8"))
            found[folder.name] = {"source": meta["source"], "corpus": meta["sha256"]["corpus.jsonl"]}
        return found

    def chunks(self) -> Iterator[WorldChunk]:
        """All chunks in their fixed order."""
        for group in self.groups:
            documents = [_read_documents(folder) for folder in group]
            while documents:
                left = []
                for source in documents:
                    document = next(source, None)
                    if document is not None:
                        yield from _cut(document)
                        left.append(source)
                documents = left


@dataclass(frozen=True, slots=True)
class _Document:
    id: str
    title: str
    version: str
    day: date | None
    text: str


def _read_documents(folder: Path) -> Iterator[_Document]:
    """The documents of a dataset, by the hash of their id: a prefix is a fair sample."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        documents = [_parse(folder.name, json.loads(line)) for line in lines]
    if folder.name in GROUPED_BY_VERSION:
        documents = _join_versions(folder.name, documents)
    return iter(sorted(documents, key=lambda document: hashlib.sha256(document.id.encode()).digest()))


def _parse(source: str, row: Mapping[str, Any]) -> _Document:
    meta = row.get("metadata") or {}
    written = next((str(meta[name]) for name in _DATES if meta.get(name)), "")
    return _Document(
        f"{source}/{row['_id']}", str(row["title"]), str(meta.get("version") or ""), _to_day(written), str(row["text"])
    )


def _to_day(text: str) -> date | None:
    try:
        return datetime.fromtimestamp(parse_moment(text), UTC).date() if text else None
    except (QueryError, OverflowError, ValueError):
        return None


def _join_versions(source: str, documents: Sequence[_Document]) -> list[_Document]:
    """Join the notes of each version, in their order."""
    versions: dict[str, list[_Document]] = {}
    for document in documents:
        versions.setdefault(document.version, []).append(document)
    return [
        _Document(
            f"{source}/{version}",
            notes[0].title.partition(":")[0],
            version,
            notes[0].day,
            "\n\n".join(note.text for note in notes),
        )
        for version, notes in versions.items()
    ]


def _cut(document: _Document) -> Iterator[WorldChunk]:
    """Cut a document at sentences into chunks of 40 to 90 tokens; a rest that is too short is left out."""
    base = hashlib.sha256(document.id.encode()).hexdigest()[:12]
    number = 0
    for section, text in _pack(document.text):
        size = count_tokens(text)
        if LEAST_TOKENS <= size <= MOST_TOKENS:
            name = f"r{base}-{number:03d}"
            yield WorldChunk(name, document.title, section, document.day, document.version, text, size)
            number += 1


def _pack(text: str) -> Iterator[tuple[str, str]]:
    """(heading, sentences): a text ends at a heading, when it is long enough, or before it becomes too long."""
    pieces: list[str] = []
    section = ""
    for piece, heading in _read_pieces(text):
        joined = " ".join(pieces)
        if pieces and (
            heading != section or count_tokens(joined) >= _TARGET or count_tokens(f"{joined} {piece}") > MOST_TOKENS
        ):
            yield section, joined
            pieces = []
        section = heading
        pieces.append(piece)
    if pieces:
        yield section, " ".join(pieces)


def _read_pieces(text: str) -> Iterator[tuple[str, str]]:
    """(sentence, heading above it); a sentence that is too long is cut at words."""
    heading = ""
    for start, end in split_sentences(text):
        sentence = " ".join(_MARKUP.sub(lambda found: found["label"] or "", text[start:end]).split())
        found = _HEADING.fullmatch(sentence)
        if found:
            heading = found["title"].strip("# ")
        elif _LETTER.search(sentence):
            for piece in _split_long(sentence):
                yield piece, heading


def _split_long(sentence: str) -> Iterator[str]:
    if count_tokens(sentence) <= _TARGET:
        yield sentence
        return
    words: list[str] = []
    for word in sentence.split():
        if words and count_tokens(" ".join([*words, word])) > _TARGET:
            yield " ".join(words)
            words = []
        words.append(word)
    if words:
        yield " ".join(words)
