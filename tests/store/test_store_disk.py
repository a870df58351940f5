"""A read-only folder is read; a full disk is told; neither costs anything that was acknowledged."""

from __future__ import annotations

import resource
import shutil
from pathlib import Path

import numpy as np
import pytest
from disks import as_nobody, in_child, open_to_all, read_only, small_disk
from makers import alive, chunk, made, put

import assay
from assay.errors import StoreError
from assay.store.sqlite import DATABASE, SqliteStore
from assay.text.language import detect_language


def full_store(folder: Path) -> list[str]:
    """A store with history, an index and a tail; its ids."""
    with assay.open(folder, embedder="none") as base:
        base.add([{"id": f"n{i}", "text": f"gateway note {i}"} for i in range(30)])
        base.optimize()
        base.add([{"id": f"m{i}", "text": f"gateway memo {i}"} for i in range(5)])
        base.remove("n3")
        assert len(base.search("gateway", k=100, snapshot="v1")) == 30
        return sorted(c.id for c in base.chunks())


def check_reading(folder: Path, ids: list[str]) -> None:
    """Everything that reads works, and everything that writes is refused in words."""
    with assay.open(folder) as base:
        assert base.store.readonly
        assert sorted(c.id for c in base.chunks()) == ids
        assert len(base.search("gateway", k=100)) == len(ids) == 34
        assert len(base.search("gateway", k=100, snapshot="v1")) == 30  # older than the index: built somewhere else
        assert len(base.search("gateway", k=100, snapshot="v2")) == 35
        for write in (
            lambda: base.add([{"id": "x", "text": "new"}]),
            lambda: base.remove("n4"),
            lambda: base.tag("now"),
            lambda: base.backend.put([(chunk("x"), None)]),
        ):
            with pytest.raises(StoreError, match="read-only") as caught:
                write()
            assert "copy it" in caught.value.cure
        assert not base.optimize(force=True)


def test_a_read_only_mount(tmp_path: Path) -> None:
    """Even root cannot write there."""
    ids = full_store(tmp_path / "kb")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "kb").rglob("*")}
    with read_only(tmp_path / "kb", tmp_path / "ro") as folder:
        check_reading(folder, ids)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "kb").rglob("*")} == before


def test_a_folder_of_somebody_else() -> None:
    with open_to_all() as folder:
        ids = full_store(folder / "kb")
        folder.chmod(0o755)
        as_nobody(lambda: check_reading(folder / "kb", ids))

        def nowhere() -> None:
            with pytest.raises(StoreError) as caught:
                assay.open(folder / "new", embedder="none")
            assert "permissions" in caught.value.cure

        as_nobody(nowhere)
        (folder / "kb").chmod(0o700)

        def closed() -> None:
            with pytest.raises(StoreError) as caught:
                assay.open(folder / "kb")
            assert "permissions" in caught.value.cure

        as_nobody(closed)


def test_read_only_with_commits_still_in_the_log(tmp_path: Path) -> None:
    """A killed writer leaves its newest commits in the log: they are read, or it is said why they are not."""
    store = made(tmp_path / "kb")
    put(store, chunk("checkpointed"))
    store.close()
    store = SqliteStore.open(tmp_path / "kb")
    put(store, chunk("in the log"))
    for kept, copy in ((("", "-wal", "-shm"), tmp_path / "all"), (("", "-wal"), tmp_path / "without index")):
        copy.mkdir()
        for end in kept:
            shutil.copy(tmp_path / "kb" / f"{DATABASE}{end}", copy)
        with read_only(copy, tmp_path / f"ro {copy.name}") as folder:
            if copy.name == "all":
                assert alive(SqliteStore.open(folder)) == ["checkpointed", "in the log"]
            else:
                with pytest.raises(StoreError, match="newest commits") as caught:
                    SqliteStore.open(folder)
                assert "copy the whole folder" in caught.value.cure
        assert alive(SqliteStore.open(copy)) == ["checkpointed", "in the log"]


def fill(base: assay.KnowledgeBase, most: int = 10_000) -> tuple[int, StoreError]:
    """Add until the disk is full; how many records were acknowledged, and what was said."""
    rng = np.random.default_rng(0)
    for acknowledged in range(most):
        text = rng.bytes(3_000).hex()  # nothing to compress
        try:
            base.add([{"id": f"n{acknowledged}", "text": f"gateway {text}"}], compact=False)
        except StoreError as error:
            return acknowledged, error
    raise AssertionError("the disk never was full")


def check_full(base: assay.KnowledgeBase, room: Path | None) -> None:
    acknowledged, error = fill(base)
    assert "full" in error.message
    assert "free some space" in error.cure
    assert len(base.store.files()) == acknowledged > 10
    found = {chunk.doc_id for chunk in base.chunks()}
    assert found == {f"n{number}" for number in range(acknowledged)}
    assert len(base.search("gateway", k=3, pipeline="bm25")) == 3
    with pytest.raises(StoreError, match=r"full|could not be written") as caught:
        base.optimize(force=True) and base.add([{"id": "huge", "text": "word " * 1_000_000}])
    assert "free some space" in caught.value.cure
    assert base.search("gateway", k=3, pipeline="bm25").status.found == 3
    if room is not None:
        room.unlink()
        base.add([{"id": "after", "text": "there is room again"}], compact=False)
        base.optimize(force=True)
        assert base.search("room again")[0].chunk.doc_id == "after"
        assert {f"n{number}" for number in range(acknowledged)} <= {chunk.doc_id for chunk in base.chunks()}
        generations = list((base.store.folder / "generations").iterdir())
        assert [p.name for p in generations if p.name.startswith(".")] == []
        assert base.store.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "6m") as disk:
        room = disk / "room"
        room.write_bytes(bytes(2_500_000))
        with assay.open(disk / "kb", embedder="none") as base:
            check_full(base, room)


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """The same by a limit on the size of files, which needs no mount: nothing acknowledged is lost."""

    def work() -> None:
        with assay.open(tmp_path / "kb", embedder="none") as base:
            detect_language("its model unpacks itself into a temporary file, which may not grow either")
            resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
            check_full(base, None)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            base.add([{"id": "after", "text": "there is room again"}])
            assert base.optimize(force=True)
            assert base.search("room again")[0].chunk.doc_id == "after"

    in_child(work)


def test_a_large_file_that_finds_no_room_to_wait(tmp_path: Path) -> None:
    """A file of many chunks waits on disk for its commit; a full disk is then the store's trouble, not the file's."""

    def work() -> None:
        with open(tmp_path / "big.jsonl", "w") as file:
            for number in range(18_000):
                file.write(f'{{"id": "{number}", "text": "gateway note {number}"}}\n')
        with assay.open(tmp_path / "kb", embedder="none") as base:
            detect_language("its model unpacks itself into a temporary file, which may not grow either")
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            with pytest.raises(StoreError, match="full") as caught:
                base.add(tmp_path / "big.jsonl")
            assert "free some space" in caught.value.cure
            assert list(base.chunks()) == []

    in_child(work)
