"""Finds the file that a chunk came from, by the id of its document and the folders of the store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.ingest.readers import has_reader


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a chunk came from.

    name    the file as `assay ls` calls it, `handbook/keys.md`; the document's id for a record given as data
    path    the file on disk, as it was added; None for a record
    part    what the document is inside of the file: a message, a row, an attachment; "" for a whole file
    """

    name: str
    path: Path | None = None
    part: str = ""

    def relative_path(self, start: Path) -> str:
        """The path as a shell in `start` would write it; the name where there is no path."""
        if self.path is None:
            return self.name
        return str(self.path.relative_to(start) if self.path.is_relative_to(start) else self.path)


def find_origin(doc_id: str, folders: Mapping[str, str]) -> Origin:
    """The origin of a document; `folders` maps the names in a store to the folders (or single files) they stand for,
    "" for records."""
    owners = [name for name, root in folders.items() if root and re.match(rf"{re.escape(name)}(?:[/#]|$)", doc_id)]
    if not owners:
        return Origin(doc_id)
    owner = max(owners, key=len)
    rest = doc_id[len(owner) :]
    inside, part = _split_part(rest[1:]) if rest.startswith("/") else ("", rest[1:])
    root = Path(folders[owner])
    return Origin(f"{owner}/{inside}" if inside else owner, root / inside if inside else root, part)


def _split_part(inside: str) -> tuple[str, str]:
    """The path of a file and the part of it: cut at the first # that follows the name of a readable file, because
    folders and files may have a # in their names."""
    for match in re.finditer("#", inside):
        if has_reader(PurePosixPath(inside[: match.start()]).suffix):
            return inside[: match.start()], inside[match.end() :]
    return inside, ""
