"""Writes that fail once make Lance commit versions that name files cut short: they are refused and taken back."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lancedb")

import lance_with_faults as faults
import lancedb
import pyarrow as pa

from assay.backend.addresses import open_backend
from assay.backend.lance.cut_files import is_whole, list_versions, names_any
from assay.backend.lance.tables import TAKEN_BACK
from assay.errors import StoreError
from assay.upkeep.doctor import examine
from benchmarks.torture.io_errors import _compile as compile_shim

SCRIPT = Path(faults.__file__)


@pytest.fixture(scope="module")
def shim(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("shim") / "faults.so"
    reason = compile_shim(path)
    if reason:
        pytest.skip(reason)
    return path


@pytest.mark.parametrize(
    ("step", "times", "stride"), [("put", 1, 1), ("put", 1_000_000, 2), ("compact", 1, 5), ("forget", 1, 11)]
)
def test_whichever_write_fails_a_step_is_whole_or_refused(shim: Path, tmp_path: Path, step, times, stride) -> None:
    command = [sys.executable, str(SCRIPT), str(tmp_path), step, str(times), str(stride)]
    ran = subprocess.run(command, env=faults.environment(shim), capture_output=True, text=True, check=False)
    trials = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, ran.stderr
    assert sum(outcome == "refused" for _, outcome, _, _ in trials) > 1
    for number, outcome, state, problem in trials:
        assert problem == "", (number, outcome, state)
        assert state == "after" if outcome == "done" else state in ("before", "after"), (number, outcome)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "kb.lance"
    backend = faults.create_store(path)
    backend.put(faults.chunks(0, 6))
    backend.close()
    return path


def cut_a_commit_short(store: Path, table: str = "chunk") -> None:
    """As if a writer had been killed after Lance committed a file that the disk cut short."""
    backend = open_backend(str(store))
    before = set((store / f"{table}.lance" / "data").iterdir())
    tables = backend.store.tables
    tables[table].add(tables.read(table, tables[table].schema.names))
    (added,) = set((store / f"{table}.lance" / "data").iterdir()) - before
    added.write_bytes(added.read_bytes()[:100])


@pytest.mark.parametrize("table", ["chunk", "fact", "version", "vector_m"])
def test_what_a_killed_writer_left_is_taken_back_when_the_store_is_opened(store: Path, table: str) -> None:
    cut_a_commit_short(store, table)
    assert len(faults.read(store)) == 6
    assert f"{table}: the disk cut" in (store / TAKEN_BACK).read_text()
    (check,) = (check for check in examine(str(store)) if check.name == "tables")
    assert (check.state, TAKEN_BACK in check.text) == ("ok", True)
    backend = open_backend(str(store))
    backend.put(faults.chunks(6, 7))
    assert backend.store.find_damage(deep=True) == ""
    backend.close()
    assert len(faults.read(store)) == 7
    assert len((store / TAKEN_BACK).read_text().splitlines()) == 1


def test_a_reader_that_is_open_sees_the_store_after_it_was_taken_back(store: Path) -> None:
    reader = open_backend(str(store))
    reader.snapshot()
    cut_a_commit_short(store, "version")
    with pytest.raises(StoreError):
        reader.snapshot()
    backend = open_backend(str(store))
    backend.put(faults.chunks(6, 7))
    backend.close()
    assert reader.snapshot().size == 7
    reader.close()


def test_an_acknowledged_file_that_was_cut_short_later_is_damage_and_nothing_is_taken_back(store: Path) -> None:
    (data,) = (store / "chunk.lance" / "data").iterdir()
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(StoreError, match="not what was written"):
        open_backend(str(store))
    assert not (store / TAKEN_BACK).exists()


def test_a_file_that_another_process_completes_meanwhile_is_not_cut_short(store: Path, monkeypatch) -> None:
    backend = open_backend(str(store))
    (data,) = (store / "chunk.lance" / "data").iterdir()
    monkeypatch.setattr(backend.store.tables.files, "find_cut", lambda name: [data] if name == "chunk" else [])
    backend.put(faults.chunks(6, 7))  # a merge ended between the look at the file and the look at the manifest
    monkeypatch.undo()
    backend.close()
    assert len(faults.read(store)) == 7
    assert not (store / TAKEN_BACK).exists()


def test_a_store_without_a_ledger_is_not_taken_back(store: Path) -> None:
    """Nothing tells its acknowledged commits from others."""
    cut_a_commit_short(store)
    (store / "assay-files").unlink()
    shutil.rmtree(store / ".verified", ignore_errors=True)
    with pytest.raises(StoreError):
        open_backend(str(store)).snapshot()
    assert not (store / TAKEN_BACK).exists()


@pytest.mark.parametrize(
    ("rows", "condition", "suffix"),
    [(100, "x < 10", ".arrow"), (40_000, "x % 2 = 0", ".bin"), (300_000, "x > 70000 AND x < 210000", ".bin")],
)
def test_bytes_that_a_list_of_deleted_rows_lacks_show(tmp_path: Path, rows: int, condition: str, suffix: str) -> None:
    table = lancedb.connect(str(tmp_path)).create_table("t", pa.table({"x": range(rows)}))
    table.delete(condition)
    (deleted,) = (tmp_path / "t.lance" / "_deletions").iterdir()
    assert deleted.suffix == suffix
    assert [names_any(manifest, [deleted]) for _, manifest in list_versions(tmp_path / "t.lance")] == [True, False]
    content = deleted.read_bytes()
    assert is_whole(deleted)
    for start, end in (
        (0, len(content)),
        (len(content) - 1, len(content)),
        (0, 3),
        (40, 90),
        (len(content) // 2, 1 << 30),
    ):
        deleted.write_bytes(content[:start] + content[end:])
        assert not is_whole(deleted), (start, end)
