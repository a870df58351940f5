"""A backup is one sound file of one moment; a restored store answers as the first one did."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay import kb
from assay.errors import StoreError
from assay.store.sqlite import SqliteStore
from assay.upkeep.backup import backup, restore

Run = Callable[..., Result]


def test_one_moment_while_others_write(store: Path, tmp_path: Path) -> None:
    """Every version in the backup is whole: the chunks of a version are all there, or the version is not."""
    stop = threading.Event()

    def write() -> None:
        with kb.open(store) as writer:
            number = 0
            while not stop.is_set():
                number += 1
                writer.add([{"id": f"n{number}-{i}", "text": f"note {number}"} for i in range(3)], compact=False)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        source = SqliteStore.open(store)
        for turn in range(5):
            backup(source, tmp_path / f"{turn}.db")
        source.close()
    finally:
        stop.set()
        thread.join()
    for turn in range(5):
        db = sqlite3.connect(tmp_path / f"{turn}.db")
        notes = db.execute(
            "SELECT count(*) FROM chunk WHERE doc_id LIKE '%n%-%' AND origin LIKE 'records/%'"
        ).fetchone()
        newest = db.execute("SELECT max(number), (SELECT max(born) FROM chunk) FROM version").fetchone()
        db.close()
        assert notes[0] % 3 == 0
        assert newest[0] == newest[1]
    assert sorted(path.name for path in tmp_path.glob("*db*")) == [f"{turn}.db" for turn in range(5)]


def test_all_versions_and_tags_come_back(store: Path, tmp_path: Path) -> None:
    with kb.open(store) as base:
        base.tag("first")
        base.remove("handbook/food.md")
        backup(base.store, tmp_path / "b")
        old = [(hit.id, hit.score) for hit in base.search("kitchen", snapshot="first")]
    restore(tmp_path / "b", tmp_path / "new").close()
    with kb.open(tmp_path / "new") as base:
        assert base.store.setting("generation") is None
        assert [(hit.id, hit.score) for hit in base.search("kitchen", snapshot="first")] == old != []
        assert len(base.search("kitchen")) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a backup"),
        (b"a poem" * 1000, "not a backup"),
        (b"SQLite format 3\0" + b"\xff" * 5000, "damaged|not a backup"),
    ],
)
def test_what_is_no_backup_makes_no_store(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "b").write_bytes(content)
    with pytest.raises(StoreError, match=said):
        restore(tmp_path / "b", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(StoreError, match="no backup at"):
        restore(tmp_path / "nope", tmp_path / "new")


def test_a_damaged_backup_makes_no_store(store: Path, tmp_path: Path) -> None:
    source = SqliteStore.open(store)
    backup(source, tmp_path / "b")
    source.close()
    whole = (tmp_path / "b").read_bytes()
    (tmp_path / "b").write_bytes(whole[:8192] + b"\xde\xad" * 2048 + whole[12288:])
    with pytest.raises(StoreError, match="damaged"):
        restore(tmp_path / "b", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("kept", "other"), [("notes.sqlite", "new"), ("kb", "new.sqlite")])
def test_a_backup_becomes_what_it_was_and_nothing_else(tmp_path: Path, kept: str, other: str) -> None:
    with kb.open(tmp_path / kept, embedder="none") as base:
        base.add(["the key hangs in the office"])
        backup(base.store, tmp_path / "b")
    with pytest.raises(StoreError, match=r"backup of a .* store, not of a") as messages:
        restore(tmp_path / "b", tmp_path / other)
    assert "assay copy" in messages.value.cure
    assert not (tmp_path / other).exists()
    restore(tmp_path / "b", tmp_path / f"again-{kept}").close()


def test_a_backup_that_fails_leaves_the_old_one(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SqliteStore.open(store)
    backup(source, tmp_path / "b")
    before = (tmp_path / "b").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("assay.store.backup_file.os.replace", full)
    with pytest.raises(StoreError, match="No space left"):
        backup(source, tmp_path / "b", replace=True)
    source.close()
    assert (tmp_path / "b").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"b", "kb"}


def test_nowhere_to_write(store: Path, tmp_path: Path) -> None:
    source = SqliteStore.open(store)
    with pytest.raises(StoreError) as caught:
        backup(source, tmp_path / "no" / "such" / "b")
    source.close()
    assert caught.value.cure


def test_nothing_is_written_over_the_store_itself(run: Run, store: Path, handbook: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store)
    one = tmp_path / "one.sqlite"
    run("add", handbook, "--store", one)
    own = [(store, store / "assay.sqlite"), (store, tmp_path / "link" / "assay.sqlite-wal"), (one, one)]
    for address, target in own:
        with kb.open(address) as base:
            before = base.store.version()
        for command in (("backup", target, "--force"), ("export", "-o", target)):
            result = run(*command, "--store", address)
            assert result.exit_code == 3
            assert f"{target} belongs to the store itself" in result.stderr
        with kb.open(address) as base:
            assert base.store.version() == before
            assert base.store.find_damage(deep=True) == ""


def test_the_file_that_is_wrong_is_the_one_that_is_named(store: Path, handbook: Path, tmp_path: Path) -> None:
    (tmp_path / "poem").write_bytes(b"a poem" * 1000)
    with pytest.raises(StoreError, match="poem is damaged, or not a backup"):
        restore(tmp_path / "poem", tmp_path / "new")
    source = SqliteStore.open(store)
    os.mkfifo(tmp_path / "pipe")
    for target in (handbook, tmp_path / "pipe"):
        with pytest.raises(StoreError, match=f"{target.name} is not a file"):
            backup(source, target, replace=True)
    source.close()


def test_a_file_is_no_folder(run: Run, handbook: Path) -> None:
    for command in (("search", "x"), ("add", handbook)):
        result = run(*command, "--store", handbook / "food.md")
        assert result.exit_code == 3
        assert "food.md is a file, no store" in result.stderr
