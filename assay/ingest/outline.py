"""Headings and lines become sections; sections become documents of bounded size.

Readers give a stream of `Heading`s and lines, `Outline` groups it into sections under their heading paths, and
`documents` gathers sections until a document is full. Both stream, so a file of any size is read in bounded
memory: a section ends after PIECE characters at the next blank line (at 2 × PIECE at any line), a document
after PART characters; the further documents of a file are called `name#part-2`, `name#part-3`, …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.ingest.fields import Facts
from assay.types import Document, Section

PIECE = 1 << 20  # characters of one section
PART = 8 << 20  # characters of one document
LONGEST_HEADING = 300  # characters; longer ones are text that looks like a heading


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: level 1 is the outermost, 0 the title of a format that has such a thing."""

    level: int
    title: str


class Outline:
    """The sections of a stream of headings and lines, in order.

    `title` is the first heading if that is of level 0 or 1, known once the iteration has passed it. A heading
    under which nothing stands is the text of its own section: its words are never lost.
    """

    def __init__(self, events: Iterable[Heading | str]) -> None:
        self._events = events
        self.title = ""

    def __iter__(self) -> Iterator[Section]:
        path: list[Heading] = []
        lines: list[str] = []
        size = 0
        told = True  # has the innermost heading been followed by text or by a deeper heading?
        first = True
        for event in self._events:
            if isinstance(event, Heading):
                if text := _joined(lines):
                    yield Section(_titles(path), text)
                elif not told and event.level <= path[-1].level and path[-1].title:
                    yield Section(_titles(path), path[-1].title)
                if first and event.level <= 1:
                    self.title = event.title
                while path and path[-1].level >= event.level:
                    path.pop()
                path.append(event)
                lines, size, told, first = [], 0, False, False
            else:
                lines.append(event)
                size += len(event) + 1
                if size > PIECE and (size > 2 * PIECE or not event.strip()):
                    if text := _joined(lines):
                        yield Section(_titles(path), text)
                        told = True
                    lines, size = [], 0
        if text := _joined(lines):
            yield Section(_titles(path), text)
        elif not told and path[-1].title:
            yield Section(_titles(path), path[-1].title)


def _titles(path: list[Heading]) -> tuple[str, ...]:
    return tuple(heading.title for heading in path if heading.title)


def _joined(lines: list[str]) -> str:
    """The lines as one text, without blank lines around it; the indent of the first line stays."""
    return "\n".join(lines).rstrip().lstrip("\n") if lines else ""


def documents(name: str, outline: Outline, facts: Facts) -> Iterator[Document]:
    """The documents of one file: one, unless it holds more than PART characters.

    The title is what the facts say, else the first heading of level 1, else the file's name.
    """
    number = 0
    held: list[Section] = []
    size = 0
    for section in outline:
        if size and size + len(section.text) > PART:
            number += 1
            yield _document(name, number, held, facts, outline.title)
            held, size = [], 0
        held.append(section)
        size += len(section.text)
    if held or not number:
        yield _document(name, number + 1, held, facts, outline.title)


def _document(name: str, number: int, held: list[Section], facts: Facts, heading: str) -> Document:
    return Document(
        id=name if number == 1 else f"{name}#part-{number}",
        title=facts.title or heading or PurePosixPath(name).stem,
        sections=tuple(held),
        created=facts.created,
        importance=facts.importance,
        meta=facts.meta,
    )
