"""Detects the kind and the text encoding of a file.

Text is decoded as its byte order mark says, else as UTF-8, else as Windows-1252 with a note; the choice is made
by a first pass over the whole file, so a file is never half decoded. A text with NUL bytes is not a text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from assay.errors import BadFile

BLOCK = 1 << 20  # bytes read at a time
LONGEST_LINE = 1 << 20  # characters; a longer line comes in pieces
FALLBACK = "cp1252"  # what text of unknown encoding most often is

_MARKS = (  # the longer UTF-32 marks first: the little-endian one begins like UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MAGIC = (  # first bytes → what the file really is
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive (Word, Excel and EPUB files are such)"),
    (b"\xd0\xcf\x11\xe0", "an old or password-protected Office file"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "an SQLite database"),
)
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL
)
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85]")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ODD = re.compile("[\0\r\x0b\x0c\x1c-\x1f\x85\ud800-\udfff]")


def bad_file(path: Path, reason: str, cure: str = "") -> BadFile:
    """A BadFile that names its path, whatever bytes the path has."""
    return BadFile(f"{printable_path(path)}: {reason}", cure)


def printable_path(path: Path) -> str:
    """Return a path that can always be printed."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def clean_text(text: str) -> str:
    """Return text as it is stored: line ends are \\n (form feeds and similar too), NUL and lone surrogates are U+FFFD.

    Idempotent. Afterwards the embedding model splits words at every white space character.
    """
    if not _ODD.search(text):
        return text
    return _UNSTORABLE.sub("\ufffd", _BREAKS.sub("\n", text).replace("\x1f", " "))


def detect_kind(head: bytes) -> str:
    """Return the kind of a file by its first bytes; empty when unknown."""
    if not head:
        return "an empty file"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "an HTML page" if _HTML.match(head) else ""


def read_head(path: Path, size: int = 1024) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def check_size(path: Path, most: int) -> None:
    """Raise BadFile for a file too large for a format that is read whole; text formats stream without a limit."""
    size = path.stat().st_size
    if size > most:
        raise bad_file(path, f"{size >> 20} MB, more than the {most >> 20} MB this format is read up to", "split it")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file, and how to decode it. `notes` lists what had to be guessed."""

    path: Path
    encoding: str
    notes: tuple[str, ...] = ()

    @property
    def errors(self) -> str:
        return "replace" if self.encoding == FALLBACK else "strict"  # five bytes mean nothing in Windows-1252

    def open(self, newline: str | None = None) -> TextIO:
        return self.path.open(encoding=self.encoding, errors=self.errors, newline=newline)

    def lines(self) -> Iterator[str]:
        """Yield the lines without their ends, cleaned; one longer than LONGEST_LINE in pieces."""
        with self.open() as file:
            rest = ""  # of a line whose end has not come yet
            while block := file.read(LONGEST_LINE):
                lines = clean_text(rest + block).split("\n")
                rest = lines.pop()
                yield from lines
                if len(rest) >= LONGEST_LINE:
                    cut = rest.rfind(" ") + 1 or len(rest)
                    yield rest[:cut]
                    rest = rest[cut:]
            yield rest


def inspect_text_file(path: Path, *, html: bool = False) -> TextFile:
    """Read the whole file once: BadFile when it is not text, or another format under a text name."""
    with path.open("rb") as file:
        head = file.read(BLOCK)
        marked = next((name for mark, name in _MARKS if head.startswith(mark)), "")
        kind = "" if marked or not head else detect_kind(head)  # a text may be empty
        if kind and not (html and kind == "an HTML page"):
            raise bad_file(path, f"is {kind}, not what its name says", "rename it to what it is, or remove it")
        decoder = codecs.getincrementaldecoder(marked or "utf-8")()
        decodes = True
        block = head
        while True:
            if not marked and b"\0" in block:
                raise bad_file(path, "contains NUL bytes, so it is not text", "save it as UTF-8, or remove it")
            if decodes:
                try:
                    decoder.decode(block, final=not block)
                except UnicodeDecodeError as error:
                    if marked:
                        raise bad_file(
                            path, f"says it is {marked} but is not: {error.reason}", "save it as UTF-8"
                        ) from error
                    decodes = False
            if not block:
                break
            block = file.read(BLOCK)
    if marked or decodes:
        return TextFile(path, marked or "utf-8")
    return TextFile(path, FALLBACK, ("not UTF-8; read as Windows-1252",))
