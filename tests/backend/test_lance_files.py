"""Damage of the files of Lance tables: it is noticed when the store is opened, with the file and a cure."""

import os
from pathlib import Path

import numpy as np
import pytest

from assay.backend.addresses import create_backend, open_backend
from assay.backend.lance.file_ledger import NAME
from assay.errors import StoreError
from assay.types import Chunk
from assay.upkeep.doctor import accept, examine

pytest.importorskip("lancedb")
SETTINGS = {"embedder": "hash", "model": "m", "dim": 4, "language": "english", "profile": "default"}


def chunks(first, end):
    vector = np.array([1, 0, 0, 0], np.float32)
    return [(Chunk(f"c{n}", f"d{n}", f"heron number{n}", 2), vector) for n in range(first, end)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "kb.lance"
    backend = create_backend(str(path), SETTINGS)
    backend.put(chunks(0, 6))
    backend.remove(["c1"])
    backend.put(chunks(6, 8))
    backend.close()
    return path


def ids(path):
    backend = open_backend(str(path))
    try:
        view = backend.snapshot()
        return sorted(view.ids(view.live_rows(None)).tolist())
    finally:
        backend.close()


def every_file(path):
    return sorted(p.relative_to(path) for p in path.glob("*.lance/*/*") if p.name != "latest_version_hint.json")


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 4
    path.write_bytes(content)


def test_a_flipped_bit_in_any_file_is_an_error_that_names_it(store: Path) -> None:
    for name in every_file(store):
        original = (store / name).read_bytes()
        for place in (0, len(original) // 2, len(original) - 1):
            flip(store / name, place)
            with pytest.raises(StoreError, match=name.name) as caught:
                ids(store)
            assert "doctor --accept" in caught.value.cure
            (store / name).write_bytes(original)
    assert len(ids(store)) == 7


def test_deep_examination_names_every_damaged_file(store: Path) -> None:
    backend = open_backend(str(store))
    first, second = (name for name in every_file(store) if name.parts[0] == "chunk.lance" and name.parts[1] == "data")
    flip(store / first, 9)
    flip(store / second, 9)
    found = backend.store.find_damage(deep=True)
    backend.close()
    assert first.name in found
    assert second.name in found


def test_a_lost_manifest_is_a_lost_commit(store: Path) -> None:
    newest = min((store / "chunk.lance" / "_versions").glob("*.manifest"))  # Lance counts downwards
    newest.unlink()
    with pytest.raises(StoreError, match="lost commits"):
        ids(store)
    checks = examine(str(store))
    assert checks[0].state == "fail"
    assert "lost commits" in checks[0].text


def test_accepting_goes_on_with_what_is_there(store: Path) -> None:
    (transaction, *_) = (store / "fact.lance" / "_transactions").iterdir()
    flip(transaction, 0)  # Lance reads it only when commits collide
    with pytest.raises(StoreError):
        ids(store)
    assert accept(str(store)) > 0
    assert len(ids(store)) == 7


def test_a_damaged_ledger_is_an_error_and_a_half_written_line_is_not(store: Path) -> None:
    ledger = store / NAME
    original = ledger.read_bytes()
    ledger.write_bytes(original + b"12345678 17 chunk.lance/da")
    assert len(ids(store)) == 7
    backend = open_backend(str(store))
    backend.put(chunks(8, 9))
    backend.close()
    assert len(ids(store)) == 8
    flip(ledger, 5)
    with pytest.raises(StoreError, match=NAME):
        ids(store)


def test_a_store_without_a_ledger_begins_one_with_its_next_write(store: Path) -> None:
    (store / NAME).unlink()
    (store / ".verified").unlink(missing_ok=True)
    backend = open_backend(str(store))
    backend.put(chunks(8, 9))
    backend.close()
    listed = {line.split(" ")[2] for line in (store / NAME).read_text().splitlines()}
    assert listed == {name.as_posix() for name in every_file(store)}


def test_compaction_forgetting_and_another_model_leave_a_true_ledger(store: Path) -> None:
    backend = open_backend(str(store))
    backend.compact(force=True)
    backend.forget(backend.store.version())
    backend.store.stage("hash", "other", 4)
    vector = np.array([0, 1, 0, 0], np.float32)
    backend.store.put_staged("other", [(seq, vector) for seq in backend.store.rows_without_staged_vector(0, 100)])
    assert backend.store.adopt("other", "another model")
    backend.close()
    assert len(ids(store)) == 7
    backend = open_backend(str(store))
    assert backend.store.find_damage(deep=True) == ""
    backend.close()


def test_a_commit_of_another_process_is_verified_by_a_reader_that_is_open(store: Path) -> None:
    reader = open_backend(str(store))
    reader.snapshot()
    before = set(every_file(store))
    writer = open_backend(str(store))
    writer.put(chunks(8, 9))
    writer.close()
    (added,) = [n for n in set(every_file(store)) - before if n.parts[:2] == ("chunk.lance", "data")]
    flip(store / added, 7)
    with pytest.raises(StoreError, match=added.name):
        reader.snapshot()
    reader.close()


def test_a_full_disk_does_not_undo_a_commit(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_):
        raise OSError(28, "No space left on device")

    backend = open_backend(str(store))
    monkeypatch.setattr(os, "ftruncate", refuse)
    backend.put(chunks(8, 9))
    monkeypatch.undo()
    backend.close()
    assert len(ids(store)) == 8
