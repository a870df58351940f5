"""Builds the word index of a generation: lengths and tantivy row by row, postings from the runs on disk."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.index.postings import merge_postings

_TANTIVY_HEAP = 128_000_000


class WordIndexBuilder:
    """Takes rows in order, 0, 1, 2, …; `finish` writes the files that `WordIndex` opens."""

    def __init__(self, folder: Path, with_tantivy: bool) -> None:
        self._folder = folder
        self._lengths = array("I")
        self._writer: Any = None
        if with_tantivy:
            import tantivy

            self._tantivy = tantivy
            schema = tantivy.SchemaBuilder()
            schema.add_integer_field("row", stored=False, indexed=False, fast=True)
            schema.add_text_field("body", stored=False, tokenizer_name="whitespace", index_option="freq")
            (folder / "tantivy").mkdir()
            index = tantivy.Index(schema.build(), str(folder / "tantivy"))
            self._writer = index.writer(_TANTIVY_HEAP, 1)  # one thread: the same input gives the same segments

    def add(self, lengths: Sequence[int], bodies: Sequence[str]) -> None:
        """Add the numbers of terms of the next rows, and for tantivy the terms themselves, joined by spaces."""
        first = len(self._lengths)
        self._lengths.extend(lengths)
        if self._writer is not None:
            for row, body in enumerate(bodies, first):
                self._writer.add_document(self._tantivy.Document(row=row, body=body))

    def finish(self) -> None:
        np.frombuffer(self._lengths, np.uint32).tofile(self._folder / "lengths")
        if self._writer is not None:
            self._writer.commit()
            self._writer.wait_merging_threads()
            self._writer = None  # frees its memory
        runs = sorted(self._folder.glob("run-*"))
        merge_postings(runs, self._folder)
        for path in runs:
            shutil.rmtree(path)
