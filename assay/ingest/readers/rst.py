"""Reads reStructuredText: a section per adorned heading; levels in the order in which their adornments appear."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from assay.ingest.fields import parse_fields
from assay.ingest.files import inspect_text_file
from assay.ingest.outline import LONGEST_HEADING, Heading, Outline, build_documents
from assay.types import Document

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the sections of a reStructuredText file under their heading paths."""
    text_file = inspect_text_file(path)
    yield from build_documents(name, Outline(_events(text_file.lines())), parse_fields({}, notes=text_file.notes))


def _events(lines: Iterator[str]) -> Iterator[Heading | str]:
    """A heading is a line with an adornment as long as itself below it, and perhaps the same one above it."""
    levels: list[tuple[str, bool]] = []  # (character, has a line above), outermost first
    pending: list[str] = []  # at most two lines: [a line above or a blank one, a possible title]
    for line in lines:
        below = _ADORNMENT.match(line)
        title = pending[-1] if pending else ""
        above = len(pending) == 2 and pending[0].rstrip() == line.rstrip()
        alone = len(pending) < 2 or not pending[0].strip() or above
        if below and alone and _is_title(title, above) and len(line.rstrip()) >= len(title.rstrip()):
            if len(pending) == 2 and not above:
                yield pending[0]
            style = (below[1], above)
            if style not in levels:
                levels.append(style)
            yield Heading(levels.index(style) + 1, " ".join(title.split()))
            pending = []
            continue
        pending.append(line)
        if len(pending) > 2:
            yield pending.pop(0)
    yield from pending


def _is_title(line: str, above: bool) -> bool:
    if not line.strip() or len(line) > LONGEST_HEADING or _ADORNMENT.match(line):
        return False
    return above or not line[0].isspace()  # only a title with a line above may be indented
