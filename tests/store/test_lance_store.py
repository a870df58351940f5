"""A store in Lance tables: who may open it, what survives, what a killed writer leaves."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lancedb", reason="the extra `lance` is not installed")

import assay
from assay import memory
from assay.backend.lance.backend import FACTORY, LanceBackend
from assay.backend.lance.store import LanceStore
from assay.errors import QueryError, StoreError
from assay.types import Chunk, Query
from assay.upkeep.doctor import examine

DIM = 8
SETTINGS = {"embedder": "test", "model": "m", "dim": DIM, "language": "english", "profile": "default"}


def chunk(name: str, text: str) -> Chunk:
    return Chunk(name, f"doc-{name}", text, len(text.split()))


def unit(place: int) -> np.ndarray:
    return np.eye(DIM, dtype=np.float32)[place]


@pytest.fixture
def made(tmp_path: Path) -> LanceBackend:
    backend = FACTORY.create(str(tmp_path / "kb.lance"), SETTINGS)
    backend.put([(chunk("a", "the vault code is Zanzibar"), unit(0)), (chunk("b", "lunch is at noon"), unit(1))])
    return backend


def found(backend: LanceBackend, text: str) -> list[str]:
    view = backend.snapshot()
    return view.ids(view.lexical(Query(text), 10).rows).tolist()


def test_an_address_with_a_scheme_names_the_same_store(tmp_path: Path) -> None:
    with assay.open(f"lance:{tmp_path / 'books'}", embedder="none") as kb:
        kb.add(["words to find"])
        assert kb.store.address == f"lance:{tmp_path / 'books'}"
    with assay.open(f"lance:{tmp_path / 'books'}") as kb:
        assert [hit.text for hit in kb.search("words")] == ["words to find"]
    with pytest.raises(StoreError, match="no folder of this machine"):
        assay.open("lance:s3://bucket/books")


def test_a_newer_format_is_refused(made: LanceBackend) -> None:
    with made.store.write("newer") as writer:
        writer.set("format", 99)
    with pytest.raises(StoreError, match="format 99") as told:
        FACTORY.open(str(made.store.folder))
    assert "upgrade" in told.value.cure


def test_tables_of_others_are_refused_and_not_harmed(tmp_path: Path) -> None:
    import lancedb

    lancedb.connect(str(tmp_path / "their.lance")).create_table("version", [{"x": 1}])
    with pytest.raises(StoreError, match="is not an Assay store of Lance tables"):
        assay.open(str(tmp_path / "their.lance"))
    assert lancedb.connect(str(tmp_path / "their.lance")).open_table("version").count_rows() == 1


def test_a_lost_table_is_told_with_the_cure(made: LanceBackend) -> None:
    folder = made.store.folder
    shutil.rmtree(folder / "chunk.lance")
    with pytest.raises(StoreError, match="no table 'chunk'") as told:
        FACTORY.open(str(folder))
    assert told.value.cure
    assert next(check.state for check in examine(folder)) == "fail"


def test_lost_files_are_damage(made: LanceBackend) -> None:
    for file in (made.store.folder / "chunk.lance" / "data").iterdir():
        file.unlink()
    with pytest.raises(StoreError) as told:
        FACTORY.open(str(made.store.folder))
    assert told.value.cure


def test_a_wrong_dimension_or_norm_is_refused_and_nothing_is_written(made: LanceBackend) -> None:
    for vector in (np.ones(3, np.float32), np.ones(DIM, np.float32), np.full(DIM, np.nan, np.float32)):
        with pytest.raises(StoreError, match="vector"):
            made.put([(chunk("c", "more"), None), (chunk("d", "words"), vector)])
    assert made.snapshot().size == 2
    with pytest.raises(QueryError, match="length 8"):
        made.snapshot().nearest(Query("x", vector=np.ones(3, np.float32)), 1)


def test_a_changed_model_is_seen_by_whoever_has_it_open(made: LanceBackend) -> None:
    other = FACTORY.open(str(made.store.folder))
    near = np.eye(4, dtype=np.float32)
    assert made.store.stage("next", "n", 4) == 2
    made.store.put_staged("n", [(1, near[0]), (2, near[1])])
    assert made.store.adopt("n", "embedded")
    for act in (lambda: other.snapshot(), lambda: other.put([(chunk("c", "x"), None)])):
        with pytest.raises(StoreError, match="another model meanwhile") as told:
            act()
        assert told.value.cure == "open it again"
    again = FACTORY.open(str(made.store.folder))
    assert again.store.rows_without_vector() == []
    view = again.snapshot()
    assert view.ids(view.nearest(Query("", vector=near[0]), 5).rows).tolist() == ["a", "b"]
    assert [name for name in again.store.tables.names() if name.startswith("vector_")] == ["vector_n"]


def test_late_vectors_change_the_digest(made: LanceBackend) -> None:
    made.put([(chunk("c", "no vector yet"), None)])
    before = made.snapshot().digest
    with made.store.write("embed") as writer:
        writer.put_vectors([(3, unit(2))])
    assert made.snapshot().digest != before
    view = made.snapshot()
    assert view.ids(view.nearest(Query("", vector=unit(2)), 1).rows).tolist() == ["c"]


def test_words_of_another_analyser_are_read_anew(made: LanceBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    made.compact(force=True)
    with made.store.write("as if by another release") as writer:
        writer.set("analyser", "other")
    with pytest.raises(StoreError, match="another release of the analyser"):
        LanceBackend(LanceStore(made.store.folder, readonly=True))
    again = FACTORY.open(str(made.store.folder))
    assert again.store.setting("analyser") == again.analyser.digest
    assert found(again, "vault") == ["a"]
    assert again.store.find_damage(deep=True) == ""


def test_a_store_that_has_no_vectors_yet_finds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.backend.lance.snapshot.GATHER", 0)
    record = FACTORY.create(str(tmp_path / "kb.lance"), SETTINGS).store
    for most in (0, 1 << 30):
        backend = LanceBackend(record, max_vector_bytes=most)
        backend.put([(chunk("a", "words only so far"), None)])
        assert len(backend.snapshot().nearest(Query("", vector=unit(0)), 1).rows) == 0
        assert not backend.snapshot().vectors(backend.snapshot().live.seqs).any()


def test_another_handle_sees_a_write_at_once(made: LanceBackend) -> None:
    other = FACTORY.open(str(made.store.folder))
    assert found(other, "noon") == ["b"]
    made.put([(chunk("c", "noon again"), unit(2))])
    made.remove(["b"])
    assert found(other, "noon") == ["c"]


def test_a_transaction_within_a_transaction_is_refused(made: LanceBackend) -> None:
    with made.store.write("one"), pytest.raises(StoreError, match="within a transaction"), made.store.write("two"):
        pass
    made.put([(chunk("c", "still writable"), None)])


def test_what_a_killed_writer_left_is_neither_seen_nor_kept(made: LanceBackend) -> None:
    """Rows without the version that names them: as if the process had died before the last append."""
    folder = made.store.folder
    names = made.store.tables["chunk"].schema.names
    row = made.store.tables.read("chunk", names, "seq = 1").to_pylist()[0]
    ghost = {**row, "seq": 3, "id": "ghost", "born": made.store.version() + 1}
    made.store.tables.add("chunk", {name: [ghost[name]] for name in names})
    made.store.tables.add("death", {"seq": [2], "died": [made.store.version() + 1]})
    made.close()
    again = FACTORY.open(str(folder))
    assert found(again, "vault") == ["a"]
    assert found(again, "noon") == ["b"]
    again.put([(chunk("c", "vault of c"), None)])
    assert found(again, "vault") == ["c", "a"]
    assert found(again, "noon") == ["b"]
    assert again.store.tables.count("chunk") == 3
    assert again.store.find_damage(deep=True) == ""


def test_a_purge_leaves_no_byte_of_the_text(tmp_path: Path) -> None:
    folder = tmp_path / "m.lance"
    with memory.open(str(folder), embedder="none", clock=lambda: 1e9) as mem:
        kept = mem.store("The office is open on Mondays.")
        gone = mem.store("The Zebrafinch project is secret.")
        mem.update(gone.id, scope="global", text="The Zebrafinch project is very secret.")
        assert len(mem.history(gone.id, scope="global")) == 2
        mem.forget(gone.id, scope="global", purge=True)
        assert [entry.id for entry in mem.list(scope="global")] == [kept.id]
    with memory.open(str(folder)) as mem:
        assert mem.get(kept.id, scope="global").text == "The office is open on Mondays."
    for file in folder.rglob("*"):
        assert not file.is_file() or b"ebrafinch" not in file.read_bytes(), file


def test_forgetting_the_past(made: LanceBackend) -> None:
    version = made.store.version()
    made.remove(["a"])
    view = made.snapshot(version)
    assert view.ids(view.lexical(Query("vault"), 5).rows).tolist() == ["a"]
    assert made.forget(made.store.version()) == 1
    with pytest.raises(StoreError, match="no version"):
        made.snapshot(version)
    assert found(made, "vault noon") == ["b"]
    assert found(FACTORY.open(str(made.store.folder)), "vault noon") == ["b"]
    assert made.store.tables.count("chunk") == 1


def test_a_knowledge_base_goes_through_its_whole_life(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("one", "two"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"# {name}\n\nwords of {name} in common")
    with assay.open(str(tmp_path / "kb.lance"), embedder="none") as kb:
        assert kb.add(tmp_path / "docs").chunks_added == 2
        assert kb.add(tmp_path / "docs").unchanged == 2
        kb.tag("before")
        (tmp_path / "docs" / "two.md").unlink()
        assert kb.add(tmp_path / "docs").removed == 1
        assert len(kb.search("common")) == 1
        assert len(kb.search("common", snapshot="before")) == 2
        assert kb.remove("docs/one.md") == 1
        assert kb.forget_before(f"v{kb.store.version()}") == 2
        assert kb.snapshot().size == 0
        assert len(kb.search("common")) == 0


WRITER = """
import sys, assay
with assay.open(sys.argv[1], embedder="none") as kb:
    for number in range(int(sys.argv[3])):
        kb.add([{"id": f"{sys.argv[2]}-{number}", "text": f"record {number} of {sys.argv[2]} common"}])
        print(number, flush=True)
"""


def write(folder: Path, name: str, many: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(folder), name, str(many)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_write_one_store(tmp_path: Path) -> None:
    folder = tmp_path / "kb.lance"
    for child in [write(folder, name, 5) for name in ("one", "two")]:
        with child:
            child.communicate()
        assert child.returncode == 0
    with assay.open(str(folder)) as kb:
        assert kb.snapshot().size == 10
        assert len(kb.search("common", k=50)) == 10
        assert kb.store.find_damage(deep=True) == ""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    folder = tmp_path / "kb.lance"
    with write(folder, "one", 10_000) as child:
        assert child.stdout is not None
        acknowledged = [child.stdout.readline() for _ in range(4)]
        time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
        acknowledged += child.stdout.readlines()
    with assay.open(str(folder)) as kb:
        kb.add([{"id": "after", "text": "common again"}])
        answer = kb.search("common", k=10_000)
        seen = {hit.chunk.doc_id for hit in answer}
        assert seen >= {"after", *(f"one-{int(line)}" for line in acknowledged if line.endswith("\n"))}
        assert kb.store.find_damage(deep=True) == ""


def test_a_read_only_folder_is_searched_and_not_written(made: LanceBackend) -> None:
    record = LanceStore(made.store.folder, readonly=True)
    backend = LanceBackend(record)
    assert found(backend, "vault") == ["a"]
    with pytest.raises(StoreError, match="read-only") as told:
        backend.put([(chunk("c", "x"), None)])
    assert told.value.cure
    assert backend.compact(force=True) is False
