"""Reads Word files (.docx): headings, paragraphs and tables in order, with tracked insertions, without deletions."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import MissingExtra
from assay.ingest.fields import DocumentFields, parse_fields
from assay.ingest.files import bad_file, clean_text, detect_kind, read_head
from assay.ingest.outline import LONGEST_HEADING, Heading, Outline, build_documents
from assay.ingest.reader_limits import RESAVE_OR_RAISE_MEMORY
from assay.types import Document

CORE_PROPERTIES = "docProps/core.xml"
MOST_UNPACKED = 256 << 20  # bytes of all parts together: a small file can unpack to anything

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING_STYLE = re.compile(r"heading ([1-9])", re.IGNORECASE)
_INLINE = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_CONTAINERS = frozenset(f"{_W}{tag}" for tag in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"))


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the body of a Word file; headers, footers, footnotes and text boxes are left out."""
    try:
        import docx
    except ImportError as error:
        raise MissingExtra("reading .docx files", "docs") from error
    parts = _check_package(path)
    try:
        document = docx.Document(str(path))
    except Exception as error:  # the parser raises whatever its XML and zip layers raise
        # When memory runs out the XML layer says so in many ways, so the cure names the limit, too.
        raise bad_file(path, f"the Word file cannot be opened: {error}", RESAVE_OR_RAISE_MEMORY) from error
    events = list(_events(document))
    # Without that part the library creates one, dated now; the wall clock must not enter a store.
    fields = _read_fields(document.core_properties) if CORE_PROPERTIES in parts else parse_fields({})
    yield from build_documents(name, Outline(events), fields)


def _check_package(path: Path) -> set[str]:
    """Return the names of the package's parts; BadFile when it is no Word file or too large."""
    head = read_head(path)
    if not head.startswith(b"PK"):
        what = detect_kind(head) or "something else"
        raise bad_file(path, f"is {what}, not a .docx", "save it as .docx without a password, or remove it")
    try:
        with zipfile.ZipFile(path) as package:
            parts = package.infolist()
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise bad_file(path, f"the Word file is damaged: {error}", "open and re-save it, or remove it") from error
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MOST_UNPACKED:
        raise bad_file(path, f"unpacks to {unpacked >> 20} MB, more than {MOST_UNPACKED >> 20} MB", "split it")
    if not any(part.filename == "word/document.xml" for part in parts):
        raise bad_file(path, "is a zip archive but not a Word file", "rename it to what it is, or remove it")
    return {part.filename for part in parts}


def _events(document: Any) -> Iterator[Heading | str]:
    levels = _heading_levels(document)
    for block in _iterate_children(document.element.body, f"{_W}p", f"{_W}tbl"):
        if block.tag == f"{_W}tbl":
            yield ""
            yield from _rows(block)
            yield ""
            continue
        text = _text(block)
        level = levels.get(_style_id(block))
        if level is not None and text.strip() and len(text) <= LONGEST_HEADING:
            yield Heading(level, " ".join(text.split()))
        elif block.find(f"{_W}pPr/{_W}numPr") is not None and text.strip():
            yield f"- {text.strip()}"
        else:
            yield from text.split("\n")
            yield ""


def _iterate_children(parent: Any, *tags: str) -> Iterator[Any]:
    """Yield the children of these tags in document order, also those inside content controls and tracked insertions."""
    for child in parent:
        if child.tag in tags:
            yield child
        elif child.tag in _CONTAINERS:
            yield from _iterate_children(child, *tags)


def _text(paragraph: Any) -> str:
    """Return the visible text; deleted text is `delText`, which is not `t`. Pictures and text boxes are skipped."""
    parts: list[str] = []
    skipped = (f"{_W}drawing", f"{_W}pict", f"{_W}pPr", f"{_W}object")
    stack = [paragraph]
    while stack:
        node = stack.pop()
        if node.tag == f"{_W}t":
            parts.append(node.text or "")
        elif node.tag in _INLINE:
            parts.append(_INLINE[node.tag])
        elif node.tag not in skipped:
            stack.extend(reversed(node))
            if node.tag == f"{_W}p" and parts:
                parts.append(" ")  # paragraphs of one cell
    return clean_text("".join(parts)).rstrip()


def _rows(table: Any) -> Iterator[str]:
    """A line `| a | b |` per row; a table inside a cell is part of the cell's text."""
    for row in _iterate_children(table, f"{_W}tr"):
        cells = [" ".join(_text(cell).split()) for cell in _iterate_children(row, f"{_W}tc")]
        if any(cells):
            yield f"| {' | '.join(cells)} |"


def _style_id(paragraph: Any) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return "" if style is None else str(style.get(f"{_W}val", ""))


def _heading_levels(document: Any) -> dict[str, int]:
    """Return style id → level: "Title" is 0, "Heading 1" is 1, …; built-in names are English in every Word."""
    levels: dict[str, int] = {}
    for style in document.styles:
        name = style.name or ""
        match = _HEADING_STYLE.fullmatch(name)
        if match:
            levels[style.style_id] = int(match[1])
        elif name.lower() == "title":
            levels[style.style_id] = 0
    return levels


def _read_fields(properties: Any) -> DocumentFields:
    fields = {
        "title": properties.title,
        "author": properties.author,
        "subject": properties.subject,
        "tags": properties.keywords,
        "lang": properties.language,
        "date": properties.created or properties.modified,
    }
    return parse_fields({key: value for key, value in fields.items() if value})
