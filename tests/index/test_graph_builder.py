"""The graph of a generation: statistics by hand, the same files whatever the history."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

from assay.backend.local.backend import LocalBackend
from assay.index.graph_builder import build_graph, npmi
from assay.index.mentions import extract_mentions
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}


def build_store(folder: Path, chunks: list[Chunk]) -> LocalBackend:
    backend = LocalBackend(SqliteStore.create(folder, SETTINGS), Analyser())
    backend.put([(chunk, None) for chunk in chunks])
    backend.compact(force=True)
    return backend


def chunks_of(*texts: str) -> list[Chunk]:
    return [Chunk(f"c{i:03d}", f"d{i}", text, 1) for i, text in enumerate(texts)]


def test_npmi_by_hand() -> None:
    # 2 of 8 rows hold the pair, 2 the one word, 4 the other: ln(¼ / (¼·½)) / −ln ¼ = ln 2 / ln 4 = ½
    assert npmi(2, 2, 4, 8) == pytest.approx(0.5, rel=1e-15)
    assert npmi(2, 4, 4, 8) == pytest.approx(0.0, abs=1e-15)  # as often as chance
    assert npmi(2, 2, 2, 8) == pytest.approx(1.0, rel=1e-15)  # never one without the other
    assert npmi(1, 4, 4, 8) == pytest.approx(math.log(0.5) / math.log(8), rel=1e-12)  # they avoid each other
    assert npmi(0, 3, 4, 8) == -1.0
    assert npmi(8, 8, 8, 8) == 1.0


def test_pairs_that_seek_each_other_are_things(tmp_path: Path) -> None:
    texts = (
        ["signing key here"] * 3 + ["the cat sat down"] * 3 + ["lone wolf"] * 2 + [f"filler{i} word" for i in range(40)]
    )
    with_pairs = build_store(tmp_path / "kb", chunks_of(*texts))
    graph = with_pairs.generation.graph(with_pairs.store, Analyser())
    assert graph.is_pair[graph.find("csigning key")]
    assert graph.find("clone wolf") == -1  # in two rows only
    with_pairs.close()


@pytest.mark.parametrize(("one", "other", "belong"), [(6, 7, True), (7, 7, False)])
def test_from_four_tenths_on_a_pair_is_a_thing(tmp_path: Path, one: int, other: int, belong: bool) -> None:
    # 3 of 48 rows hold the pair: ln(3·48 / (6·7)) / −ln(3/48) = .444, and with 7·7 it is .389
    texts = ["signing key"] * 3 + [f"signing x{i}" for i in range(one - 3)] + [f"key x{i}" for i in range(other - 3)]
    backend = build_store(tmp_path / "kb", chunks_of(*texts, *(f"x{i}" for i in range(48 - len(texts)))))
    graph = backend.generation.graph(backend.store, Analyser())
    assert (graph.find("csigning key") >= 0) == belong
    backend.close()


@pytest.mark.parametrize(("rows", "is_name"), [(10, True), (11, False)])
def test_from_three_tenths_on_a_word_is_a_name(tmp_path: Path, rows: int, is_name: bool) -> None:
    texts = ["it was the First of all"] * 3 + ["this comes first"] * (rows - 3)
    backend = build_store(tmp_path / "kb", chunks_of(*texts))
    graph = backend.generation.graph(backend.store, Analyser())
    assert graph.is_rejected(graph.find("cfirst")) != is_name
    backend.close()


def test_a_word_that_is_mostly_small_is_no_name(tmp_path: Path) -> None:
    texts = ["it was the First of all", "we saw Anna there", "and Anna left"] + ["this comes first"] * 9
    backend = build_store(tmp_path / "kb", chunks_of(*texts))
    graph = backend.generation.graph(backend.store, Analyser())
    assert graph.is_rejected(graph.find("cfirst"))
    assert not graph.is_rejected(graph.find("canna"))
    backend.put([(Chunk(f"n{i}", "n", "the First one", 1), None) for i in range(2)])
    view = backend.snapshot()._graph_view
    assert view.query_things("first") == []
    assert view.query_things("anna") == [graph.find("canna")]
    backend.close()


def test_both_sides_tell_the_same(tmp_path: Path) -> None:
    backend = build_store(
        tmp_path / "kb", chunks_of("we met Anna and Bob", "then Anna met Carl", "no names", "", "see [[d0]]")
    )
    graph = backend.generation.graph(backend.store, Analyser())
    forward = {
        (row, int(thing), int(bit))
        for row in range(5)
        for thing, bit in zip(
            graph.row_things[graph.row_start[row] : graph.row_start[row + 1]],
            graph.row_bits[graph.row_start[row] : graph.row_start[row + 1]],
            strict=True,
        )
    }
    backward = {
        (int(row), thing, int(bit))
        for thing in range(graph.size)
        for row, bit in zip(
            graph.rows[graph.start[thing] : graph.start[thing + 1]],
            graph.bits[graph.start[thing] : graph.start[thing + 1]],
            strict=True,
        )
    }
    assert forward == backward
    assert {row for row, thing, _ in forward if thing == graph.find("canna")} == {0, 1}
    backend.close()


def digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def test_the_files_do_not_depend_on_history_workers_or_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    names = ["Anna", "Bob Hope", "ACME_KEY", "New York", "v1.2.3"]
    chunks = chunks_of(
        *(f"we saw {names[a]} with {names[b]} near signing keys" for a, b in rng.integers(0, 5, (300, 2)))
    )
    one = build_store(tmp_path / "one", chunks)
    other = LocalBackend(SqliteStore.create(tmp_path / "other", SETTINGS), Analyser())
    gone = [Chunk("c000x", "gone", "we saw Zoe with Anna", 1)]
    other.put([(c, None) for c in gone + chunks[::-1]])
    other.remove(["c000x"])
    other.compact(force=True)
    for backend in (one, other):
        backend.generation.graph(backend.store, Analyser())
    first = digest(one.generation.graph_folder)
    assert digest(other.generation.graph_folder) == first
    monkeypatch.setattr("assay.index.row_blocks.PARALLEL_FROM", 1)
    monkeypatch.setenv("ASSAY_WORKERS", "2")
    monkeypatch.setattr("assay.index.graph_builder.BLOCK", 7)
    monkeypatch.setattr("assay.index.graph_builder._BATCH", 3)
    seen: list[int] = []
    generation = one.generation
    graph_rows = generation._graph_rows(one.store)
    build_graph(graph_rows, tmp_path / "again", Analyser(), lambda _, done, __: seen.append(done))
    assert digest(tmp_path / "again") == first
    assert seen[-1] == 300
    one.close()
    other.close()


def test_a_chunk_gives_what_its_metadata_knows() -> None:
    given = {"entities": ["Ada Lovelace", 7], "triples": ["Ada | wrote | Note G", "no triple"], "supersedes": "old"}
    found = extract_mentions(Chunk("c", "d", "", 0, meta=given), "english")
    assert {"cada lovelace\0f", "cada\0f", "cnote g\0f", "aold\0r", "ad\0d"} <= set(found)
    assert len(found) == 5


@pytest.mark.parametrize("text", ["", "x" * 1_000_000, "é" * 1000, "\ud800", "a\x01b C\x01D"])
def test_odd_texts_make_a_graph(tmp_path: Path, text: str) -> None:
    backend = build_store(tmp_path / "kb", chunks_of(text.replace("\ud800", "?"), "we saw Anna"))
    assert backend.generation.graph(backend.store, Analyser()).rows_total == 2
    backend.close()
