"""Connections belong to threads and processes: none is leaked, none is shared."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest
from disks import in_child
from makers import alive, chunk, made, put

import assay.store.connections as connect
from assay.store.locks import SharedFileLock, lock_file, lock_if_unused, try_lock_file


def open_files(folder: Path) -> int:
    """File descriptors of this process on files of a folder."""
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            count += os.readlink(link).startswith(str(folder))
        except OSError:
            continue
    return count


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_threads_that_end_leave_no_connection(tmp_path: Path) -> None:
    store = made(tmp_path)
    put(store, chunk("a"))
    before = open_files(tmp_path)
    for _ in range(50):
        thread = threading.Thread(target=store.version)
        thread.start()
        thread.join()
    assert open_files(tmp_path) <= before + 2
    store.close()
    assert open_files(tmp_path) == 0


def test_a_closed_store_has_no_connection_that_is_still_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last connection removes the log: who deletes the folder of a closed store must not meet one at it."""
    store = made(tmp_path)
    put(store, chunk("a"))
    begun, may_end = threading.Event(), threading.Event()

    class Slow(sqlite3.Connection):
        def close(self) -> None:
            begun.set()
            may_end.wait()
            super().close()

    real = sqlite3.connect
    monkeypatch.setattr(connect.sqlite3, "connect", lambda *a, **named: real(*a, **named, factory=Slow))
    reader = threading.Thread(target=store.version)  # it ends, and its connection begins to close
    reader.start()
    begun.wait()
    closed = threading.Thread(target=store.close)
    closed.start()
    closed.join(0.2)
    assert closed.is_alive()
    may_end.set()
    closed.join()
    reader.join()
    assert [file.name for file in tmp_path.rglob("*-wal")] == []


def test_each_thread_writes_for_itself(tmp_path: Path) -> None:
    store = made(tmp_path)
    threads = [threading.Thread(target=put, args=(store, chunk(f"c{i:02d}"))) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert alive(store) == [f"c{i:02d}" for i in range(20)]
    assert store.version() == 20


def test_a_forked_child_opens_its_own(tmp_path: Path) -> None:
    """A program that opens a store and then forks workers (as web servers do) harms neither itself nor them."""
    store = made(tmp_path)
    put(store, chunk("before"))

    def work() -> None:
        for i in range(20):
            put(store, chunk(f"child{i:02d}"))
        assert "before" in alive(store)

    with store.write("parent") as writer:  # in the middle of a transaction of ours
        writer.put(chunk("parent"), None, "")
        in_child(lambda: alive(store) == ["before"] or pytest.fail("saw what was not committed"))
    in_child(work)
    for i in range(20):
        put(store, chunk(f"parent{i:02d}"))
    assert len(alive(store)) == 42
    assert store.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_locks(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with try_lock_file(path) as first:
        with try_lock_file(path) as second:
            assert (first, second) == (True, False)
        with try_lock_file(path) as third:
            assert not third
    with try_lock_file(path) as again:
        assert again


def test_in_turn(tmp_path: Path) -> None:
    """Nobody is inside while another is."""
    inside: list[int] = []
    most = []

    def work() -> None:
        for _ in range(20):
            with lock_file(tmp_path / "lock"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 80
    assert max(most) == 1


def test_in_use(tmp_path: Path) -> None:
    """What somebody has open is not free; when the last is gone, it is."""
    path = tmp_path / "manifest.json"
    with pytest.raises(OSError, match="manifest"):
        SharedFileLock(path)
    with lock_if_unused(path) as free:
        assert free
    path.write_text("{}")
    one, two = SharedFileLock(path), SharedFileLock(path)
    with lock_if_unused(path) as free:
        assert not free
    del one
    with lock_if_unused(path) as free:
        assert not free
    del two
    with lock_if_unused(path) as free:
        assert free
        with pytest.raises(BlockingIOError):
            SharedFileLock(path)
    SharedFileLock(path)
