"""reStructuredText: a section per adorned heading; levels in the order in which their adornments appear."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from assay.ingest.fields import facts_from
from assay.ingest.files import text_file
from assay.ingest.outline import LONGEST_HEADING, Heading, Outline, documents
from assay.types import Document

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*$")


def read(path: Path, name: str) -> Iterator[Document]:
    """The sections of a reStructuredText file under its heading paths."""
    source = text_file(path)
    yield from documents(name, Outline(_events(source.lines())), facts_from({}, notes=source.notes))


def _events(lines: Iterator[str]) -> Iterator[Heading | str]:
    """A heading is a line with an adornment as long as itself below it, and perhaps the same one above it."""
    levels: list[tuple[str, bool]] = []  # (character, has a line above), outermost first
    held: list[str] = []  # at most two lines: [a line above or a blank one, a possible title]
    for line in lines:
        below = _ADORNMENT.match(line)
        title = held[-1] if held else ""
        above = len(held) == 2 and held[0].rstrip() == line.rstrip()
        alone = len(held) < 2 or not held[0].strip() or above
        if below and alone and _is_title(title, above) and len(line.rstrip()) >= len(title.rstrip()):
            if len(held) == 2 and not above:
                yield held[0]
            style = (below[1], above)
            if style not in levels:
                levels.append(style)
            yield Heading(levels.index(style) + 1, " ".join(title.split()))
            held = []
            continue
        held.append(line)
        if len(held) > 2:
            yield held.pop(0)
    yield from held


def _is_title(line: str, above: bool) -> bool:
    if not line.strip() or len(line) > LONGEST_HEADING or _ADORNMENT.match(line):
        return False
    return above or not line[0].isspace()  # only a title with a line above may be indented
