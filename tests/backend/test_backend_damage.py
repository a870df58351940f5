"""An index that is lost or damaged costs time, never an answer: it is built anew, or done without."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.backend.local import backend as local
from assay.backend.local.backend import LocalBackend
from assay.errors import StoreError
from assay.kb import KnowledgeBase
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with an index, a tail and deaths."""
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add([{"id": f"n{i}", "text": f"gateway note {i}", "n": i} for i in range(40)])
        base.optimize()
        base.add([{"id": f"m{i}", "text": f"gateway memo {i}", "n": i} for i in range(5)])
        base.remove("n3")
    return tmp_path / "kb"


def answers(base: KnowledgeBase) -> list[tuple[str, float]]:
    """Words, identifiers and filters, all in one list."""
    said = []
    for options in ({"text": "gateway note 7"}, {"text": "memo", "where": "n >= 2"}, {"text": '"note 12"'}):
        said += [(hit.id, round(hit.score, 9)) for hit in base.search(k=100, **options)]  # type: ignore[arg-type]
    return said


def named(folder: Path) -> Path:
    store = SqliteStore.open(folder)
    return folder / "generations" / str(store.setting("generation"))


def lose_generations(folder: Path) -> None:
    shutil.rmtree(folder / "generations")


def lose_manifest(folder: Path) -> None:
    (named(folder) / "manifest.json").unlink()


def garble_manifest(folder: Path) -> None:
    (named(folder) / "manifest.json").write_bytes(b"\x00\xff{{{")


def newer_format(folder: Path) -> None:
    path = named(folder) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))


def other_analyser(folder: Path) -> None:
    path = named(folder) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "analyser": "of another release"}))


def cut(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = named(folder) / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    damage.__name__ = f"cut_{name}"
    return damage


def lose(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (named(folder) / name).unlink()

    damage.__name__ = f"lose_{name}"
    return damage


FILES = ("ids.blob", "ids.offsets", "seqs", "lengths", "terms.blob", "terms.offsets", "postings.start")
MORE = ("postings.rows", "postings.counts", "number.created", "fields.json", "0.rows", "0.values")
DAMAGES = (lose_generations, lose_manifest, garble_manifest, newer_format, other_analyser)
CUTS = tuple(cut(name) for name in (*FILES, *MORE))
LOSSES = tuple(lose(name) for name in ("ids.blob", "postings.rows", "fields.json"))


@pytest.mark.parametrize("damage", DAMAGES + CUTS + LOSSES, ids=lambda damage: damage.__name__)
def test_recovers_by_itself(folder: Path, damage: Callable[[Path], None]) -> None:
    with assay.open(folder) as base:
        before = answers(base)
        assert len(before) > 40
    damage(folder)
    with assay.open(folder) as base:
        assert answers(base) == before, "without its index it answers otherwise"
        assert len(list(base.chunks())) == 44
        assert base.optimize(), "the index is not whole, and optimize does not see it"
        assert answers(base) == before
        assert not base.optimize()
    with assay.open(folder) as base:
        assert answers(base) == before
    left = {path.name for path in (folder / "generations").iterdir()}
    assert named(folder).name in left
    assert len(left) <= 2, "one that a process had open is swept by the next build, not more"


def test_a_large_store_rebuilds_before_it_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many rows for a tail the lost index is built first; where it cannot be, the tail still answers."""
    with assay.open(folder) as base:
        before = answers(base)
    monkeypatch.setattr(local, "MOST_TAIL", 10)
    lose_generations(folder)
    with assay.open(folder) as base:
        assert answers(base) == before
        assert base.backend.generation is not None
        assert base.backend.pending == 0
    lose_generations(folder)
    (folder / "generations").write_text("a file stands in the way, as good as a full disk")
    with assay.open(folder) as base:
        assert answers(base) == before
        assert base.backend.generation is None
        with pytest.raises(StoreError) as caught:
            base.optimize()
        assert caught.value.cure


def test_damaged_under_an_open_reader(folder: Path) -> None:
    """Whoever has the index open keeps what it holds; others find it damaged and go round it."""
    with assay.open(folder) as reader:
        before = answers(reader)
        lose_manifest(folder)
        with assay.open(folder) as other:
            assert answers(other) == before
            assert other.optimize()
            assert answers(other) == before
        assert answers(reader) == before


def test_an_index_of_an_old_version_is_damaged(folder: Path) -> None:
    with assay.open(folder) as base:
        base.optimize(force=True)
        before = [(hit.id, hit.score) for hit in base.search("gateway", k=100, snapshot="v1")]
        assert len(before) == 40
    (old,) = [path for path in (folder / "snapshots").iterdir() if path.is_dir()]
    for damage in ("terms.blob", "manifest.json"):
        (old / damage).write_bytes(b"")
        with assay.open(folder) as base:
            assert [(hit.id, hit.score) for hit in base.search("gateway", k=100, snapshot="v1")] == before


def test_interrupted_while_reading_the_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of taking in new rows must not leave some of them twice."""
    settings = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
    backend = LocalBackend(SqliteStore.create(tmp_path / "kb", settings), Analyser())
    backend.put([(Chunk("a", "d", "gateway", 1), None)])
    assert backend.snapshot().size == 1
    backend.put([(Chunk(f"b{i}", "d", "gateway", 1), None) for i in range(10)])
    add, calls = backend._tail.__class__.add, iter(range(100))

    def interrupted(self: object, row: object, vector: object) -> None:
        if next(calls) == 5:
            raise KeyboardInterrupt
        add(self, row, vector)  # type: ignore[arg-type]

    monkeypatch.setattr("assay.index.tail.Tail.add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        backend.snapshot()
    view = backend.snapshot()
    assert view.size == 11
    assert view.ids(view.live_rows(None)).tolist() == ["a", *(f"b{i}" for i in range(10))]


def test_a_store_embedded_anew_under_a_reader(tmp_path: Path) -> None:
    """The reader is told to open it again; it never mixes vectors of two models."""
    settings = {"embedder": "test", "model": "m", "dim": 2, "language": "english", "profile": "default"}
    backend = LocalBackend(SqliteStore.create(tmp_path / "kb", settings), Analyser(), "m", 2)
    backend.snapshot()
    with SqliteStore.open(tmp_path / "kb").write("embed") as writer:
        writer.set("model", "m2")
        writer.set("dim", 3)
    for call in (backend.snapshot, lambda: backend.put([(Chunk("a", "d", "t", 1), None)])):
        with pytest.raises(StoreError, match="another model") as caught:
            call()
        assert "open it again" in caught.value.cure
