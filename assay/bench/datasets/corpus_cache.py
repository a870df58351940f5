"""Documents kept in memory after they were parsed once, so that checks, digests and the index share one parse.

A corpus above MOST_CHARACTERS is not kept: each pass reads its file again, and memory stays constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.bench.datasets.lines import Place
from assay.bench.datasets.raw_dataset import DocumentSource, Record

MOST_CHARACTERS = 400_000_000


class CachedDocuments:
    """The documents of `inner`; the first whole pass keeps them."""

    def __init__(self, inner: DocumentSource, most: int = MOST_CHARACTERS) -> None:
        self._inner = inner
        self._most = most
        self._cached: list[tuple[Place, Record]] | None = None

    def __iter__(self) -> Iterator[Record]:
        return (record for _, record in self.with_places())

    def with_places(self) -> Iterator[tuple[Place, Record]]:
        return iter(self._cached) if self._cached is not None else self._first_pass()

    def _first_pass(self) -> Iterator[tuple[Place, Record]]:
        parsed: list[tuple[Place, Record]] = []
        characters = 0
        for place, record in self._inner.with_places():
            characters += len(str(record.get("text", ""))) + len(str(record.get("title", "")))
            if characters <= self._most:
                parsed.append((place, record))
            elif parsed:
                parsed = []
            yield place, record
        if characters <= self._most:
            self._cached = parsed
