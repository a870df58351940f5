"""The receipts of a folder: their names, a summary of each, and whole ones.

A summary is read once and kept until its file has another time or size. Reading checks the digest, so an entry that
was changed by hand says so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench.receipt import Receipt, ReceiptError, read
from assay.serve.document_list import NotFound


@dataclass(frozen=True, slots=True)
class ReceiptFile:
    """A file as it was when it was found."""

    path: Path
    modified: int
    size: int


class ReceiptList:
    """The receipts below a folder, by their path inside it. Safe to share between threads."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._summaries: dict[str, tuple[ReceiptFile, dict[str, Any]]] = {}
        self._lock = threading.Lock()

    def find(self) -> dict[str, ReceiptFile]:
        """Every JSON file below the folder, sorted by name."""
        return {} if self._folder is None else dict(sorted(_walk(self._folder, "")))

    def read(self, name: str) -> Receipt:
        """A whole receipt. A name is looked up and never opened as a path; ReceiptError names it as /receipts does."""
        path = self._require(name).path
        try:
            return read(path)
        except ReceiptError as error:
            raise ReceiptError(error.message.replace(str(path), name), error.cure) from error

    def summarise(self, names: dict[str, ReceiptFile]) -> list[dict[str, Any]]:
        """What a list shows of these files."""
        with self._lock:  # two requests at once would read everything twice
            return [self._summarise(name, file) for name, file in names.items()]

    def _require(self, name: str) -> ReceiptFile:
        found = self.find().get(name)
        if found is None:
            raise NotFound(f"there is no receipt called {name[:100]!r}", "names are listed by /receipts")
        return found

    def _summarise(self, name: str, file: ReceiptFile) -> dict[str, Any]:
        known = self._summaries.get(name)
        if known is None or known[0] != file:
            known = self._summaries[name] = file, _make_summary(name, file.path)
        return known[1]


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, ReceiptFile]]:
    """JSON files below a folder; links to folders are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(folder / entry.name, f"{prefix}{entry.name}/")
            elif entry.name.endswith(".json") and entry.is_file():
                facts = entry.stat()
                yield f"{prefix}{entry.name}", ReceiptFile(Path(entry.path), facts.st_mtime_ns, facts.st_size)


def _make_summary(name: str, path: Path) -> dict[str, Any]:
    try:
        receipt = read(path)
    except ReceiptError as error:
        return {"name": name, "kind": None, "error": error.message.replace(str(path), name)}
    canonical = receipt.canonical
    return {
        "name": name,
        "kind": receipt.kind,
        "digest": receipt.digest,
        "dataset": canonical.get("dataset"),
        "system": (canonical.get("system") or {}).get("name"),
        "aggregates": (canonical.get("aggregates") or {}).get("all"),
    }
