"""Groups headings and lines into sections, and sections into documents of bounded size.

Readers yield a stream of `Heading`s and lines, `Outline` groups it into sections under their heading paths, and
`build_documents` collects sections until a document is full. Both stream, so a file of any size is read in bounded
memory: a section ends after PIECE characters at the next blank line (at 2 × PIECE at any line), a document
after PART characters; the further documents of a file are called `name#part-2`, `name#part-3`, …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.ingest.fields import DocumentFields
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
    without text below it becomes the text of its own section, so its words are never lost.
    """

    def __init__(self, events: Iterable[Heading | str]) -> None:
        self._events = events
        self.title = ""

    def __iter__(self) -> Iterator[Section]:
        path: list[Heading] = []
        lines: list[str] = []
        size = 0
        has_content = True  # is the innermost heading followed by text or by a deeper heading?
        first = True
        for event in self._events:
            if isinstance(event, Heading):
                if text := _join_lines(lines):
                    yield Section(_titles(path), text)
                elif not has_content and event.level <= path[-1].level and path[-1].title:
                    yield Section(_titles(path), path[-1].title)
                if first and event.level <= 1:
                    self.title = event.title
                while path and path[-1].level >= event.level:
                    path.pop()
                path.append(event)
                lines, size, has_content, first = [], 0, False, False
            else:
                lines.append(event)
                size += len(event) + 1
                if size > PIECE and (size > 2 * PIECE or not event.strip()):
                    if text := _join_lines(lines):
                        yield Section(_titles(path), text)
                        has_content = True
                    lines, size = [], 0
        if text := _join_lines(lines):
            yield Section(_titles(path), text)
        elif not has_content and path[-1].title:
            yield Section(_titles(path), path[-1].title)


def _titles(path: list[Heading]) -> tuple[str, ...]:
    return tuple(heading.title for heading in path if heading.title)


def _join_lines(lines: list[str]) -> str:
    """Return the lines as one text, without blank lines around it; the indent of the first line stays."""
    return "\n".join(lines).rstrip().lstrip("\n") if lines else ""


def build_documents(name: str, outline: Outline, fields: DocumentFields) -> Iterator[Document]:
    """Yield the documents of one file: one, unless it holds more than PART characters.

    The title is the one in the fields, else the first heading of level 1, else the file's name.
    """
    number = 0
    sections: list[Section] = []
    size = 0
    for section in outline:
        if size and size + len(section.text) > PART:
            number += 1
            yield _document(name, number, sections, fields, outline.title)
            sections, size = [], 0
        sections.append(section)
        size += len(section.text)
    if sections or not number:
        yield _document(name, number + 1, sections, fields, outline.title)


def _document(name: str, number: int, sections: list[Section], fields: DocumentFields, heading: str) -> Document:
    return Document(
        id=name if number == 1 else f"{name}#part-{number}",
        title=fields.title or heading or PurePosixPath(name).stem,
        sections=tuple(sections),
        created=fields.created,
        importance=fields.importance,
        meta=fields.meta,
    )
