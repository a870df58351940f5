"""Reads Markdown: front matter as fields, a section per heading (ATX and setext, outside code fences and comments)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from assay.ingest.fields import parse_fields
from assay.ingest.files import inspect_text_file
from assay.ingest.front_matter import split_front_matter
from assay.ingest.outline import LONGEST_HEADING, Heading, Outline, build_documents
from assay.types import Document

_FENCE = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)*(`{3,}(?=[^`]*$)|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_ATX_TAIL = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_NO_PARAGRAPH = re.compile(r"\s{4}|\t|\s*(?:[-*+>|]|\d+[.)]\s|<)")  # what a setext line cannot make a heading of
_EMBEDDED = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]{64,}")

# A heading as displayed: link texts without targets, no emphasis, code marks, tags or {#anchors}.
_MARKUP = re.compile(r"[\[{<*_`\\]")  # what all of it begins with
_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_ANCHOR = re.compile(r"[ \t]*\{[#.:][^}]*\}[ \t]*$")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3}|`+)(?=\S)(.+?)(?<=\S)\1(?!\w)")


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the sections of a Markdown file under their heading paths."""
    text_file = inspect_text_file(path)
    front = split_front_matter(text_file.lines())
    fields = parse_fields(front.fields, lenient=True, notes=(*text_file.notes, *front.notes))
    yield from build_documents(name, Outline(_events(front.lines)), fields)


def _events(lines: Iterator[str]) -> Iterator[Heading | str]:
    """Yield lines and headings. One line is pending, because the next may underline it."""
    fence = ""  # the marks that opened the current code block
    comment = False
    pending: str | None = None
    alone = True  # does the pending line begin a paragraph?
    for line in lines:
        if len(line) > 1000 and "base64," in line:
            line = _EMBEDDED.sub("data:", line)  # an embedded picture is not text
        if fence:
            yield line
            closing = line.strip()
            if closing[:1] == fence[0] and len(closing) >= len(fence) and not closing.strip(fence[0]):
                fence = ""
            continue
        if comment:
            yield line
            comment = "-->" not in line
            continue
        mark = line.lstrip()[:1]
        if mark and mark in "=-" and pending and alone and _underlines(pending, line):
            yield Heading(1 if mark == "=" else 2, heading_text(pending))
            pending, alone = None, True
            continue
        if pending is not None:
            yield pending
            alone = not pending.strip()
        pending = None
        if mark == "#" and (atx := _ATX.match(line)) and len(line) <= LONGEST_HEADING:
            yield Heading(len(atx[1]), heading_text(_ATX_TAIL.sub("", atx[2] or "")))
            alone = True
            continue
        opened = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if opened:
            yield line
            fence, alone = opened[1], True
        elif mark == "<" and line.lstrip().startswith("<!--") and "-->" not in line:
            yield line
            comment, alone = True, True
        else:
            pending = line
    if pending is not None:
        yield pending


def _underlines(pending: str, line: str) -> bool:
    """Does this line make the one before it, a paragraph of one line, a heading?"""
    return bool(
        pending.strip() and len(pending) <= LONGEST_HEADING and _SETEXT.match(line) and not _NO_PARAGRAPH.match(pending)
    )


def heading_text(text: str) -> str:
    """A heading without its markup."""
    if not _MARKUP.search(text):
        return " ".join(text.split())
    text = _LINK.sub(r"\1", _ANCHOR.sub("", text))
    text = _EMPHASIS.sub(r"\2", _TAG.sub("", text))
    return " ".join(text.replace("\\", "").split())
