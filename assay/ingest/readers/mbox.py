"""Reads mailboxes (.mbox): one document per message, `name#<message id>`, and one per attachment.

It streams, one message in memory at a time.

A message begins with a line `From …` at the start or after an empty line, when a header follows it; `>From ` in a
body loses one `>`. A message without id is named by the digest of its bytes; a repeated id gets `~2`, `~3`, …
A message that the parser cannot read becomes its raw text with a note: one bad mail never fails a mailbox.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from email.message import Message
from hashlib import blake2b
from pathlib import Path

from assay.ingest.fields import parse_fields
from assay.ingest.files import bad_file, clean_text, detect_kind, read_head
from assay.ingest.outline import Outline, build_documents
from assay.ingest.readers.eml import MOST_BYTES, message_documents, message_id, parse_message
from assay.ingest.readers.html import html_text
from assay.types import Document

_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:")
_ESCAPED = re.compile(rb">+From ")
_LINE = 1 << 20  # bytes; a longer line comes in pieces


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the messages of a mailbox, in order."""
    head = read_head(path)
    if head and not head.startswith(b"From "):
        what = f"is {kind}" if (kind := detect_kind(head)) else "does not begin with 'From '"
        raise bad_file(path, f"{what}, so it is not a mailbox", "rename it to what it is, or remove it")
    html_text("")  # if the HTML parser is missing, raise before the first message
    seen: Counter[bytes] = Counter()
    for data, notes in _messages(path):
        identity, message = _identify(data)
        key = blake2b(identity.encode("utf-8", "replace"), digest_size=8).digest()
        seen[key] += 1
        suffix = f"~{seen[key]}" if seen[key] > 1 else ""
        yield from _read_message(data, message, f"{name}#{identity}{suffix}", notes)


def _identify(data: bytes) -> tuple[str, Message | Exception]:
    """The id of a message, and the message or why it is none."""
    digest = blake2b(data, digest_size=8).hexdigest()
    try:
        message = parse_message(data)
        return message_id(message) or digest, message
    except Exception as error:
        return digest, error


def _read_message(data: bytes, message: Message | Exception, name: str, notes: tuple[str, ...]) -> Iterable[Document]:
    try:
        if isinstance(message, Exception):
            raise message
        return message_documents(message, name, notes)
    except Exception as error:
        note = f"not a readable mail ({error}); taken as plain text"
        fields = parse_fields({"title": "(unreadable)"}, notes=(*notes, note))
        return build_documents(name, Outline(clean_text(data.decode("utf-8", "replace")).split("\n")), fields)


def _messages(path: Path) -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Yield the bytes of each message, without its `From ` line, and a note where it was too long."""
    lines: list[bytes] = []
    size = 0
    separator = b""  # a line that may begin a message; the next line decides
    after_blank = True
    with path.open("rb") as file:
        for line in iter(lambda: file.readline(_LINE), b""):
            if separator:
                if _HEADER.match(line):
                    if lines:
                        yield _message(lines, size)
                    lines, size = [], 0
                elif size <= MOST_BYTES:
                    lines.append(separator)
                separator = b""
            if after_blank and line.startswith(b"From "):
                separator, after_blank = line, False
                continue
            after_blank = not line.strip()
            size += len(line)
            if size <= MOST_BYTES:
                lines.append(line[1:] if _ESCAPED.match(line) else line)
    if lines:
        yield _message(lines, size)


def _message(lines: list[bytes], size: int) -> tuple[bytes, tuple[str, ...]]:
    note = (f"longer than {MOST_BYTES >> 20} MB; its end was not read",) if size > MOST_BYTES else ()
    return b"".join(lines), note
