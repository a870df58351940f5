"""Reads mail (.eml): the subject is the title, the headers are metadata, the plain text is the text; attachments
become documents of their own.

Charsets that do not exist or do not fit fall back to UTF-8, then Windows-1252; raw bytes in headers are decoded the
same way; missing headers stay missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses
from pathlib import Path

from assay.ingest.fields import DocumentFields, parse_fields
from assay.ingest.files import bad_file, check_size, clean_text, detect_kind, read_head
from assay.ingest.outline import Outline, build_documents
from assay.ingest.readers.attachments import attachment_parts, read_attachments
from assay.ingest.readers.html import html_text
from assay.types import Document

MOST_BYTES = 128 << 20
LONGEST_HEADER = 1 << 15  # characters; the standard library reads words and parameters of a header in quadratic time

_HEADER = re.compile(rb"(?:From [^\n]*\r?\n)?[!-9;-~]+[ \t]*:")


def read(path: Path, name: str) -> Iterator[Document]:
    """Yield the document of one message."""
    check_size(path, MOST_BYTES)
    head = read_head(path)
    if kind := detect_kind(head):
        raise bad_file(path, f"is {kind}, not a mail", "rename it to what it is, or remove it")
    if not _HEADER.match(head.removeprefix(b"\xef\xbb\xbf").lstrip()):
        raise bad_file(path, "does not begin with mail headers", "rename it to .txt if it is plain text")
    yield from message_documents(parse_message(path.read_bytes()), name)


def message_documents(message: Message, name: str, notes: tuple[str, ...] = ()) -> list[Document]:
    """The mail itself, then its attachments."""
    parts = [(_decode_header(part.get_filename() or "unnamed"), _content(part)) for part in attachment_parts(message)]
    attached, problems = read_attachments(parts, name, message_fields(message))
    fields = message_fields(message, (*notes, *problems))
    return [*build_documents(name, Outline(message_text(message).split("\n")), fields), *attached]


def parse_message(data: bytes) -> Message:
    """Return a message; of a header longer than LONGEST_HEADER the end is left out."""
    message: Message = message_from_bytes(data.removeprefix(b"\xef\xbb\xbf").lstrip(), policy=policy.compat32)
    for part in message.walk():
        headers = [(key, str(value)) for key, value in part.raw_items()]
        for name in {key.lower() for key, value in headers if len(value) > LONGEST_HEADER}:
            del part[name]
            for key, value in headers:
                if key.lower() == name:
                    part[key] = value[:LONGEST_HEADER]
    return message


def message_fields(message: Message, notes: tuple[str, ...] = ()) -> DocumentFields:
    """Return subject, people, date and id of a message."""
    fields = {
        "title": _header(message, "subject") or "(no subject)",
        "from": _header(message, "from"),
        "to": _addresses(message, "to"),
        "cc": _addresses(message, "cc"),
        "date": _header(message, "date"),
        "message_id": message_id(message),
        "in_reply_to": _header(message, "in-reply-to").strip("<> "),
        "attachments": [_decode_header(part.get_filename() or "") for part in message.walk() if part.get_filename()],
    }
    return parse_fields({key: value for key, value in fields.items() if value}, notes=notes)


def message_id(message: Message) -> str:
    return _header(message, "message-id").strip("<> ")


def message_text(message: Message) -> str:
    """Return the plain parts, or without any the readable text of the HTML parts, without attachments."""
    plain: list[str] = []
    html: list[str] = []
    for part in message.walk():
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        kind = part.get_content_type()
        if kind == "text/plain" or kind.startswith("multipart/"):  # a multipart without parts is its text
            plain.append(_payload(part))
        elif kind == "text/html":
            html.append(_payload(part))
    texts = [text for text in plain if text.strip()] or [html_text(text) for text in html]
    return "\n\n".join(text.strip("\n") for text in texts)


def _payload(part: Message) -> str:
    return clean_text(_decode(_content(part), str(part.get_content_charset() or "utf-8")))


def _content(part: Message) -> bytes:
    raw = part.get_payload(decode=True)
    return raw if isinstance(raw, bytes) else str(raw or "").encode("utf-8", "replace")


def _decode(data: bytes, charset: str) -> str:
    """Decode with the declared charset, then UTF-8, then Windows-1252, which always succeeds."""
    for name in (charset, "utf-8"):
        try:
            return data.decode(name)
        except (LookupError, UnicodeError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def _headers(message: Message, name: str) -> list[str]:
    return [_decode_header(str(value)) for key, value in message.raw_items() if key.lower() == name]


def _header(message: Message, name: str) -> str:
    return next(iter(_headers(message, name)), "")


def _decode_header(value: str) -> str:
    """Return a header with its =?utf-8?…?= words and raw bytes decoded, on one line."""
    try:
        words = decode_header(value)
    except (HeaderParseError, ValueError):
        words = [(value, None)]
    text = "".join(
        _decode(word, charset or "utf-8")
        if isinstance(word, bytes)
        else _decode(word.encode("utf-8", "surrogateescape"), "utf-8")
        for word, charset in words
    )
    return " ".join(clean_text(text).split())


def _addresses(message: Message, name: str) -> list[str]:
    """Return `Name <address>` of every address in a header."""
    pairs = getaddresses(_headers(message, name))
    return [f"{person} <{address}>" if person else address for person, address in pairs if address]
