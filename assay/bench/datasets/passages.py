"""Reads the lines of evidence files: question, document and characters of a passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.bench.datasets.defects import REPAIR, report_defect
from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import Place, parse_id, read_json_lines
from assay.bench.datasets.manifest import Manifest
from assay.bench.datasets.raw_dataset import Record
from assay.bench.types import Evidence, Topic
from assay.ingest.dates import abbreviate

UNUSABLE = "lines of evidence fit no question or document and are left out"


class PassageRow(NamedTuple):
    """A line of an evidence file."""

    query: str
    document: str
    fields: Record
    place: Place

    def error(self, what: str, cure: str = REPAIR) -> DatasetError:
        return DatasetError(f"{self.place}: {what}", cure)

    def missing(self) -> DatasetError:
        return self.error(f"evidence in document {self.document!r}, which does not exist")

    @property
    def has_offsets(self) -> bool:
        return "start" in self.fields or "end" in self.fields

    def offsets(self, length: int | None = None) -> tuple[int, int]:
        """[start, end) of the passage, checked against the length of the text."""
        start, end = self.fields.get("start"), self.fields.get("end")
        if type(start) is not int or type(end) is not int:
            raise self.error(f"start is {abbreviate(start)}, end is {abbreviate(end)}", "give both as whole numbers")
        if not 0 <= start < end or (length is not None and end > length):
            raise self.error(f"[{start}, {end}) is no part of a text of {length} characters")
        return start, end

    @property
    def texts(self) -> tuple[str, ...]:
        """The passages as texts, if the line contains them."""
        value = self.fields.get("text", self.fields.get("content"))
        texts: list[Any] = [] if value is None else value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) and text for text in texts):
            raise self.error(f"'text' is {abbreviate(value)}", "give a text or a list of texts")
        return tuple(texts)

    @property
    def sentences(self) -> list[int]:
        value = self.fields.get("sentences", self.fields.get("sentence"))
        indices: list[Any] = value if isinstance(value, list) else [value]
        if not indices or not all(type(index) is int and index >= 0 for index in indices):
            raise self.error("names no passage", "give start and end, sentence or sentences (from 0), or text")
        return indices


def read_passages(
    path: Path, manifest: Manifest, topics: Mapping[str, Topic], judged: frozenset[str]
) -> tuple[PassageRow, ...]:
    """Read the lines about these questions; a line of another format or about an unknown question is a defect."""
    found, count = [], 0
    for place, fields in read_json_lines(manifest.check_file(path)):
        count += 1
        try:
            row = PassageRow(
                parse_id(fields, ("query_id",), place), parse_id(fields, ("doc_id", "corpus"), place), fields, place
            )
            if row.query not in topics:
                raise row.error(f"evidence for query {row.query!r}, which does not exist")
        except DatasetError as error:
            report_defect(UNUSABLE, error)
            continue
        if row.query in judged:
            found.append(row)
    manifest.check_count(count, "extras", path.name)
    return tuple(found)


def sort_passages(passages: Mapping[str, Sequence[Evidence]]) -> dict[str, tuple[Evidence, ...]]:
    """question → passages, both sorted."""
    return {
        query: tuple(sorted(passages[query], key=lambda p: (p.doc_id, p.start, p.end, p.group)))
        for query in sorted(passages)
    }
