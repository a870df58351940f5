"""Reads PDF: a section per page, path ("page 3",). Pictures need OCR first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import MissingExtra
from assay.ingest.fields import DocumentFields, parse_fields
from assay.ingest.files import bad_file, clean_text, detect_kind, read_head
from assay.ingest.outline import Heading, Outline, build_documents
from assay.types import Document

_PDF_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?|Z)?")
_HYPHEN = re.compile("[\x02\ufffe\u00ad]\n?")  # marks of a word broken at the end of a line


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the text of every page; a very long file in parts."""
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingExtra("reading .pdf files", "docs") from error
    head = read_head(path)
    if b"%PDF-" not in head:
        what = detect_kind(head) or "something else"
        raise bad_file(path, f"is {what}, not a PDF", "rename it to what it is, or remove it")
    try:
        pdf = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise bad_file(
                path, "the PDF is encrypted", "remove the password (qpdf --decrypt), then add it again"
            ) from error
        raise bad_file(path, f"the PDF cannot be opened: {error}", "open and re-save it, or remove it") from error
    try:
        pages = _pages(pdf, path)
        blank = [number for number, text in enumerate(pages, 1) if not text]
        if len(blank) == len(pages):
            raise bad_file(
                path, f"its {len(pages)} pages hold no text; it is probably scanned", "run OCR first (ocrmypdf)"
            )
        fields = _read_fields(pdf, blank)
    finally:
        pdf.close()
    yield from build_documents(name, Outline(_events(pages)), fields)


def _pages(pdf: Any, path: Path) -> list[str]:
    """Return the text of each page, complete before the first document is yielded."""
    texts = []
    for number in range(len(pdf)):
        try:
            page = pdf[number]
            textpage = page.get_textpage()
            texts.append(_HYPHEN.sub("", clean_text(textpage.get_text_range())).strip())
            textpage.close()
            page.close()
        except Exception as error:
            raise bad_file(path, f"page {number + 1} cannot be read: {error}", "open and re-save it") from error
    return texts


def _events(pages: list[str]) -> Iterator[Heading | str]:
    for number, text in enumerate(pages, 1):
        if text:
            yield Heading(2, f"page {number}")
            yield from text.split("\n")


def _read_fields(pdf: Any, blank: list[int]) -> DocumentFields:
    properties = pdf.get_metadata_dict(skip_empty=True)
    notes = (f"no text on {len(blank)} of {len(pdf)} pages, the first is page {blank[0]}",) if blank else ()
    fields = {
        "title": properties.get("Title"),
        "author": properties.get("Author"),
        "subject": properties.get("Subject"),
        "tags": properties.get("Keywords"),
        "date": _iso(properties.get("CreationDate", "")) or _iso(properties.get("ModDate", "")),
    }
    return parse_fields({key: value for key, value in fields.items() if value}, notes=notes)


def _iso(text: str) -> str:
    """Return a PDF date, D:20250601120000+02'00', as ISO; other text unchanged."""
    match = _PDF_DATE.match(text)
    if not match:
        return text
    year, month, day, hour, minute, second = (
        part or default for part, default in zip(match.groups(), _DEFAULTS, strict=False)
    )
    zone = f"{match[7]}{match[8]}:{match[9] or '00'}" if match[7] else "+00:00"
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone}"


_DEFAULTS = ("1970", "01", "01", "00", "00", "00")
