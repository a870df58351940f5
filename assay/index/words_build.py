"""Builds the word index in bounded memory: sorted runs on disk, merged term by term."""

from __future__ import annotations

import heapq
import itertools
import shutil
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.strings import StringsWriter
from assay.index.words import TANTIVY_FROM

RUN_POSTINGS = 8_000_000
"""Postings held in memory before a run is written: about 80 MB of arrays, and as much again while sorting."""
_TANTIVY_HEAP = 128_000_000


class WordsBuilder:
    """Rows come in order, 0, 1, 2, …; `finish` leaves the files that `Words` opens."""

    def __init__(self, folder: Path, rows: int, tantivy_from: int = TANTIVY_FROM, run: int = RUN_POSTINGS) -> None:
        self._folder = folder
        self._run_size = run
        self._lengths = array("I")
        self._runs: list[Path] = []
        self._fresh()
        self._writer: Any = None
        if rows >= tantivy_from:
            import tantivy

            self._tantivy = tantivy
            schema = tantivy.SchemaBuilder()
            schema.add_integer_field("row", stored=False, indexed=False, fast=True)
            schema.add_text_field("body", stored=False, tokenizer_name="whitespace", index_option="freq")
            (folder / "tantivy").mkdir()
            index = tantivy.Index(schema.build(), str(folder / "tantivy"))
            self._writer = index.writer(_TANTIVY_HEAP, 1)  # one thread: the same input gives the same segments

    def _fresh(self) -> None:
        self._vocabulary: dict[str, int] = {}
        self._terms = array("I")
        self._rows = array("i")
        self._counts = array("H")

    def add(self, terms: Sequence[str]) -> None:
        row = len(self._lengths)
        self._lengths.append(len(terms))
        vocabulary = self._vocabulary
        counts = Counter(terms)
        self._terms.extend([vocabulary.setdefault(term, len(vocabulary)) for term in counts])
        self._rows.extend([row] * len(counts))
        self._counts.extend([c if c < 65_535 else 65_535 for c in counts.values()])
        if self._writer is not None:
            self._writer.add_document(self._tantivy.Document(row=row, body=" ".join(terms)))
        if len(self._terms) >= self._run_size:
            self._spill()

    def finish(self) -> None:
        if self._terms or not self._runs:
            self._spill()
        np.frombuffer(self._lengths, np.uint32).tofile(self._folder / "lengths")
        if self._writer is not None:
            self._writer.commit()
            self._writer.wait_merging_threads()
        _merge([_Run(path) for path in self._runs], self._folder)
        for path in self._runs:
            shutil.rmtree(path)

    def _spill(self) -> None:
        """Write what is in memory as one run, sorted by (term, row)."""
        path = self._folder / f"run-{len(self._runs)}"
        path.mkdir()
        words = sorted(self._vocabulary)  # by code point, which is UTF-8's byte order too
        rank = np.empty(len(words), np.uint32)
        rank[[self._vocabulary[word] for word in words]] = np.arange(len(words), dtype=np.uint32)
        terms = rank[np.frombuffer(self._terms, np.uint32)] if len(self._terms) else np.empty(0, np.uint32)
        order = np.argsort(terms, kind="stable")
        (path / "terms").write_bytes(b"".join(w.encode("utf-8", "surrogatepass") + b"\n" for w in words))
        np.bincount(terms, minlength=len(words)).astype("<i8").tofile(path / "sizes")
        np.frombuffer(self._rows, np.int32)[order].tofile(path / "rows")
        np.frombuffer(self._counts, np.uint16)[order].tofile(path / "counts")
        self._runs.append(path)
        self._fresh()


class _Run:
    """One sorted run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sizes = np.fromfile(path / "sizes", "<i8")
        self.start = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.numbers: NDArray[np.int64] = np.empty(0, np.int64)  # global number of each of its terms, ascending

    def terms(self) -> Iterator[bytes]:
        with (self.path / "terms").open("rb") as lines:
            for line in lines:
                yield line[:-1]

    def part(self, name: str, kind: Any, first: int, last: int) -> NDArray[Any]:
        width = np.dtype(kind).itemsize
        return np.fromfile(self.path / name, kind, last - first, offset=first * width)


def _merge(runs: list[_Run], folder: Path, block: int = RUN_POSTINGS) -> None:
    """Merge runs into one: number the terms, then copy postings term range by term range."""
    writer = StringsWriter(folder / "terms")
    numbers = [array("q") for _ in runs]
    labelled = [zip(run.terms(), itertools.repeat(i)) for i, run in enumerate(runs)]
    last, count = None, 0
    for term, i in heapq.merge(*labelled):
        if term != last:
            writer.add_bytes(term)
            last, count = term, count + 1
        numbers[i].append(count - 1)
    writer.close()
    sizes = np.zeros(count, np.int64)
    for run, mine in zip(runs, numbers, strict=True):
        run.numbers = np.frombuffer(mine, np.int64) if len(mine) else np.empty(0, np.int64)
        sizes[run.numbers] += run.sizes
    start = np.concatenate([[0], np.cumsum(sizes)]).astype("<i8")
    start.tofile(folder / "postings.start")
    with (folder / "postings.rows").open("wb") as rows, (folder / "postings.counts").open("wb") as counts:
        low = 0
        while low < count:
            high = max(low + 1, int(np.searchsorted(start, start[low] + block, "right")) - 1)
            terms, parts_rows, parts_counts = [], [], []
            for run in runs:
                a, b = np.searchsorted(run.numbers, [low, high])
                terms.append(np.repeat(run.numbers[a:b], run.sizes[a:b]))
                parts_rows.append(run.part("rows", np.int32, run.start[a], run.start[b]))
                parts_counts.append(run.part("counts", np.uint16, run.start[a], run.start[b]))
            order = np.argsort(np.concatenate(terms), kind="stable")  # runs come in row order, so rows stay ascending
            np.concatenate(parts_rows)[order].tofile(rows)
            np.concatenate(parts_counts)[order].tofile(counts)
            low = high
