"""Reads the attachments of a mail with the readers of their formats: `name#attachments/report.pdf`.

An attachment that nothing reads, or that cannot be read, costs a note on its mail and nothing else. Its text is dated
like the mail unless it has a date of its own.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from email.message import Message
from pathlib import Path, PurePosixPath

from assay.errors import BadFile, MissingExtra
from assay.ingest.fields import DocumentFields
from assay.ingest.files import clean_text
from assay.ingest.readers import has_reader, load_reader
from assay.types import Document

MOST_ATTACHMENTS = 200
MOST_DEPTH = 3
"""Mails in mails: how many levels of attachments are read."""
_MARK = "#attachments/"
_TEXTS = ("text/plain", "text/html")


def attachment_parts(message: Message) -> Iterator[Message]:
    """The parts of a mail that are files of their own; text that is shown with the mail is not."""
    for part in message.walk():
        if part.is_multipart():
            continue
        attached = part.get_content_disposition() == "attachment"
        if attached or (part.get_filename() and part.get_content_type() not in _TEXTS):
            yield part


def read_attachments(
    parts: list[tuple[str, bytes]], name: str, fields: DocumentFields
) -> tuple[list[Document], list[str]]:
    """The documents of attachments given as (file name, content), and notes on those that were not read."""
    documents: list[Document] = []
    notes: list[str] = []
    seen: Counter[str] = Counter()
    for file_name, content in parts[:MOST_ATTACHMENTS]:
        shown = PurePosixPath(clean_text(file_name).replace("\\", "/")).name or "unnamed"
        if not has_reader(PurePosixPath(shown).suffix):
            continue  # a picture, a calendar entry: named in the metadata of the mail
        if name.count(_MARK) >= MOST_DEPTH:
            notes.append(f"attachment {shown}: not read, it is {MOST_DEPTH} mails deep")
            continue
        seen[shown] += 1
        own = f"{name}{_MARK}{shown}" + (f"~{seen[shown]}" if seen[shown] > 1 else "")
        try:
            documents += [_adopt(one, shown, fields) for one in _read(content, PurePosixPath(shown).suffix, own)]
        except (BadFile, MissingExtra) as error:
            notes.append(f"attachment {shown}: {error.reason.text.partition(': ')[2] or error.reason.text}")
        except Exception as error:  # parsers raise anything; an attachment never costs its mail
            notes.append(f"attachment {shown}: cannot be read: {type(error).__name__}: {error}")
    if len(parts) > MOST_ATTACHMENTS:
        notes.append(f"only the first {MOST_ATTACHMENTS} of {len(parts)} attachments were read")
    return documents, notes


def _read(content: bytes, suffix: str, name: str) -> list[Document]:
    """The documents of a file that exists only as bytes: readers take a path."""
    with tempfile.TemporaryDirectory(prefix="assay-attachment-") as folder:
        path = Path(folder) / f"attachment{suffix.lower()}"
        path.write_bytes(content)
        return list(load_reader(suffix)(path, name))


def _adopt(document: Document, file_name: str, mail: DocumentFields) -> Document:
    """A document of an attachment with what its mail knows about it."""
    known = {key: mail.meta[key] for key in ("from", "message_id") if key in mail.meta}
    return replace(
        document,
        title=file_name if document.title == PurePosixPath(document.id).stem else document.title,
        created=mail.created if document.created != document.created else document.created,
        meta={**document.meta, **known, "attachment": file_name, "mail": mail.title},
    )
