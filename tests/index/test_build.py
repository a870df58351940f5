"""Generations built in bounded memory, in pieces and by worker processes have the same files."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import helpers_of

from assay.index import generation, postings, row_blocks
from assay.index.columns import FilterColumns
from assay.index.columns_builder import ColumnsBuilder, collect_entries
from assay.index.external_sort import merge_runs, write_run
from assay.index.generation import Generation, build_generation
from assay.index.postings import PostingsWriter, merge_postings
from assay.index.strings import StringColumn, write_column
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
WORDS = ["alpha", "beta", "gamma", "Straße", "東京", "v1.29.3", "running", "the", "of", "a"]


def chunk(number: int) -> Chunk:
    pick = random.Random(number)
    text = " ".join(pick.choices(WORDS, k=pick.randrange(30)))
    meta: dict[str, Any] = {"title": f"Page {number % 7}", "section": f"S{number}", "start": number, "lang": "en"}
    if number % 3 == 0:
        meta |= {"tags": ["x", f"t{number % 5}", True, 2], "mixed": number if number % 2 else str(number)}
    return Chunk(f"c{number:05d}", f"doc{number // 5}", text, len(text), float(number), 0.5, meta)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    store = SqliteStore.create(tmp_path / "kb", SETTINGS)
    with store.write("put") as writer:
        for number in random.Random(1).sample(range(700), 700):
            writer.put(chunk(number), None, "")
    with store.write("remove") as writer:
        for number in range(0, 700, 9):
            writer.remove_chunk(f"c{number:05d}")
    return store


def files(built_generation: Generation) -> dict[str, bytes]:
    return {
        str(path.relative_to(built_generation.folder)): path.read_bytes()
        for path in sorted(built_generation.folder.rglob("*"))
        if path.is_file() and path.parent.name != "tantivy"  # its files have random names
    }


def built(store: SqliteStore, name: str, **options: Any) -> Generation:
    return build_generation(store, store.version(), store.folder / name, Analyser(), ("", 0), **options)


def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "RANGE", 100)
    monkeypatch.setattr(generation, "BLOCK", 20)
    monkeypatch.setattr(row_blocks, "PARALLEL_FROM", 0)


def test_pieces_and_workers_change_no_byte(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_WORKERS", "0")
    whole = files(built(store, "whole"))
    assert {"terms.blob", "postings.rows", "fields.json", "ids.blob"} <= whole.keys()
    in_pieces(monkeypatch)
    monkeypatch.setattr(PostingsWriter.__init__, "__defaults__", (50,))
    monkeypatch.setattr(ColumnsBuilder.__init__, "__defaults__", (64,))
    monkeypatch.setattr(postings, "_MERGE_BATCH", 10)
    assert files(built(store, "pieces")) == whole
    monkeypatch.setenv("ASSAY_WORKERS", "2")
    assert files(built(store, "helped")) == whole


def test_tantivy_gets_the_same_rows(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_WORKERS", "0")
    here = built(store, "here", tantivy_from=1)
    in_pieces(monkeypatch)
    monkeypatch.setenv("ASSAY_WORKERS", "2")
    there = built(store, "there", tantivy_from=1)
    varying = {"manifest.json": b"", "checksums": b""}  # tantivy draws the names of its files
    assert {**files(here), **varying} == {**files(there), **varying}
    for built_generation in (here, there):
        import tantivy

        index = tantivy.Index.open(str(built_generation.folder / "tantivy"))
        assert index.searcher().num_docs == built_generation.size


def test_a_helper_that_is_killed_changes_nothing(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_WORKERS", "0")
    whole = files(built(store, "whole"))
    in_pieces(monkeypatch)
    monkeypatch.setenv("ASSAY_WORKERS", "1")
    monkeypatch.setattr("assay.util.worker_pool.MAX_WAITING_PARTS", 1)
    killed: list[int] = []

    def kill(step: str, done: int, total: int) -> None:
        if step == "indexing" and done in (20, 260):
            killed.extend(helpers_of("assay.index.index_worker"))
            for pid in helpers_of("assay.index.index_worker"):
                os.kill(pid, signal.SIGKILL)

    assert files(built(store, "killed", progress=kill)) == whole
    assert killed
    assert helpers_of("assay.index.index_worker") == []


def test_an_error_in_the_middle_leaves_nothing(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    in_pieces(monkeypatch)
    monkeypatch.setenv("ASSAY_WORKERS", "2")
    before = threading.active_count()

    def stop(step: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(store, "stopped", progress=stop)
    assert helpers_of("assay.index.index_worker") == []
    assert threading.active_count() == before
    assert not [path for path in store.folder.iterdir() if "stopped" in path.name]


def test_a_store_without_chunks_has_a_generation(tmp_path: Path) -> None:
    built_generation = built(SqliteStore.create(tmp_path / "kb", SETTINGS), "empty")
    assert built_generation.size == 0
    assert built_generation.words.term("alpha") == -1
    assert not len(built_generation.columns.compare("title", "=", "x"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "ab", "é", "\ud800", "z" * 9]), max_size=6)), st.integers(1, 9))
def test_postings_are_the_counts_of_each_term(tmp_path_factory: Any, given_rows: list[list[str]], most: int) -> None:
    folder = tmp_path_factory.mktemp("postings")
    writer = PostingsWriter(folder, 0, most)
    for terms in given_rows:
        writer.add(terms)
    writer.finish()
    merge_postings(sorted(folder.glob("run-*")), folder)
    terms = StringColumn(folder / "terms")
    start = np.fromfile(folder / "postings.start", "<i8")
    rows = np.fromfile(folder / "postings.rows", "<i4")
    counts = np.fromfile(folder / "postings.counts", "<u2")
    found = {
        terms.at(t): list(
            zip(rows[start[t] : start[t + 1]].tolist(), counts[start[t] : start[t + 1]].tolist(), strict=True)
        )
        for t in range(len(terms))
    }
    wanted: dict[str, list[tuple[int, int]]] = {}
    for row, terms_of_row in enumerate(given_rows):
        for term, count in Counter(terms_of_row).items():
            wanted.setdefault(term, []).append((row, count))
    assert found == wanted
    assert list(found) == sorted(wanted)


def test_more_of_a_term_than_a_count_can_say_is_its_most(tmp_path: Path) -> None:
    writer = PostingsWriter(tmp_path, 0)
    writer.add(["a"] * 70_000)
    writer.finish()
    merge_postings(sorted(tmp_path.glob("run-*")), tmp_path)
    assert np.fromfile(tmp_path / "postings.counts", "<u2").tolist() == [65_535]


@pytest.mark.parametrize("most", [1, 3, 100_000])
def test_columns_say_what_the_chunks_say(tmp_path: Path, most: int) -> None:
    chunks = [chunk(number) for number in range(40)]
    builder = ColumnsBuilder(tmp_path, most)
    for first in range(0, 40, 7):
        builder.add(collect_entries(chunks[first : first + 7], first))
    builder.finish()
    write_column(tmp_path / "ids", [c.id for c in chunks])
    columns = FilterColumns(tmp_path, StringColumn(tmp_path / "ids"))
    assert columns.compare("section", "=", "S11").nonzero()[0].tolist() == [11]
    assert columns.compare("title", "<=", "Page 1").tolist() == [n % 7 <= 1 for n in range(40)]
    assert columns.compare("tags", "=", "t3").nonzero()[0].tolist() == [3, 18, 33]
    assert columns.compare("mixed", "=", "6").nonzero()[0].tolist() == [6]
    assert columns.compare("mixed", "=", 9.0).nonzero()[0].tolist() == [9]
    assert columns.numbers["created"].tolist() == [float(n) for n in range(40)]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("column-")]


def test_equal_keys_come_in_the_order_of_their_runs(tmp_path: Path) -> None:
    write_run(tmp_path / "0", ["a", "c"], [9, 1])
    write_run(tmp_path / "1", ["a", "b"], [1, 2])
    write_run(tmp_path / "2", [])
    found = list(merge_runs([tmp_path / "0", tmp_path / "1", tmp_path / "2"]))
    assert found == [("a", 0, 9), ("a", 1, 1), ("b", 1, 2), ("c", 0, 1)]
