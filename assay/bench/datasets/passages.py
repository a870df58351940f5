"""Lines that name a passage: whose question, in which document, and which characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, identity, json_lines
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.source import Record
from assay.bench.types import Evidence, Topic
from assay.ingest.dates import brief


class PassageRow(NamedTuple):
    """A line of an evidence file."""

    query: str
    document: str
    fields: Record
    place: Place

    def error(self, what: str, cure: str = "mend the line") -> DatasetError:
        return DatasetError(f"{self.place}: {what}", cure)

    def missing(self) -> DatasetError:
        return self.error(f"evidence in document {self.document!r}, which does not exist")

    @property
    def has_characters(self) -> bool:
        return "start" in self.fields or "end" in self.fields

    def characters(self, length: int | None = None) -> tuple[int, int]:
        """[start, end) of a text of that length."""
        start, end = self.fields.get("start"), self.fields.get("end")
        if type(start) is not int or type(end) is not int:
            raise self.error(f"start is {brief(start)}, end is {brief(end)}", "give both as whole numbers")
        if not 0 <= start < end or (length is not None and end > length):
            raise self.error(f"[{start}, {end}) is no part of a text of {length} characters")
        return start, end

    @property
    def texts(self) -> tuple[str, ...]:
        """The passages word for word, where the line gives them."""
        said = self.fields.get("text", self.fields.get("content"))
        listed: list[Any] = [] if said is None else said if isinstance(said, list) else [said]
        if not all(isinstance(text, str) and text for text in listed):
            raise self.error(f"'text' is {brief(said)}", "give a text or a list of texts")
        return tuple(listed)

    @property
    def sentences(self) -> list[int]:
        said = self.fields.get("sentences", self.fields.get("sentence"))
        listed: list[Any] = said if isinstance(said, list) else [said]
        if not listed or not all(type(index) is int and index >= 0 for index in listed):
            raise self.error("names no passage", "give start and end, sentence or sentences (from 0), or text")
        return listed


def rows(path: Path, manifest: Manifest, topics: Mapping[str, Topic], judged: frozenset[str]) -> tuple[PassageRow, ...]:
    """The lines about these questions; one about a question nobody asks is an error."""
    found, count = [], 0
    for place, fields in json_lines(manifest.check_file(path)):
        count += 1
        row = PassageRow(
            identity(fields, ("query_id",), place), identity(fields, ("doc_id", "corpus"), place), fields, place
        )
        if row.query not in topics:
            raise row.error(f"evidence for query {row.query!r}, which does not exist")
        if row.query in judged:
            found.append(row)
    manifest.check_count(count, "extras", path.name)
    return tuple(found)


def in_order(passages: Mapping[str, Sequence[Evidence]]) -> dict[str, tuple[Evidence, ...]]:
    """question → passages, both in order."""
    return {
        query: tuple(sorted(passages[query], key=lambda p: (p.doc_id, p.start, p.end, p.group)))
        for query in sorted(passages)
    }
