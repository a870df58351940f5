"""What is not a store, or not one of ours, is refused in words with a cure; what is one opens whole."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from makers import SETTINGS, alive, chunk, made, put

import assay
from assay.errors import ConfigError, StoreBusy, StoreError
from assay.store.db_errors import to_store_error
from assay.store.sqlite import DATABASE, SqliteStore


def refused(folder: Path, words: str) -> StoreError:
    """Opening fails in words, with a cure, whether by the store or by the knowledge base."""
    with pytest.raises(StoreError, match=words) as caught:
        SqliteStore.open(folder)
    assert caught.value.cure
    with pytest.raises(StoreError, match=words):
        assay.open(folder)
    return caught.value


def change(folder: Path, *statements: str) -> None:
    with sqlite3.connect(folder / DATABASE) as db:
        for statement in statements:
            db.execute(statement)
    db.close()
    (folder / f"{DATABASE}-commits").unlink(missing_ok=True)  # or every change would be noticed by its checksum


def test_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        SqliteStore.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="there is no store"):
        assay.open(tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere").exists()


def test_newer_format(tmp_path: Path) -> None:
    made(tmp_path).close()
    change(tmp_path, "UPDATE setting SET value = '99' WHERE key = 'format'")
    assert "upgrade" in refused(tmp_path, "format 99").cure


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\0" * 8192, b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 20_000],
    ids=["empty", "text", "zeros", "only a header", "a header and rubbish"],
)
def test_not_a_database(tmp_path: Path, content: bytes) -> None:
    (tmp_path / DATABASE).write_bytes(content)
    refused(tmp_path, "not an Assay store|damaged")


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE pets (name TEXT)"],
        ["CREATE TABLE setting (key TEXT, value TEXT)"],
        ["CREATE TABLE setting (key TEXT, value TEXT)", "INSERT INTO setting VALUES ('theme', 'dark')"],
        ["CREATE TABLE setting (key TEXT, value TEXT)", "INSERT INTO setting VALUES ('format', '1')"],
        ["CREATE TABLE setting (key TEXT, value TEXT)", "INSERT INTO setting VALUES ('format', '\"one\"')"],
        ["CREATE TABLE setting (key TEXT, value INT)", "INSERT INTO setting VALUES ('format', 1)"],
    ],
    ids=["other tables", "no settings", "no JSON", "format alone", "format in words", "numbers"],
)
def test_the_database_of_another_program(tmp_path: Path, statements: list[str]) -> None:
    change(tmp_path, *statements)
    refused(tmp_path, "not an Assay store")


def test_settings_of_a_stranger(tmp_path: Path) -> None:
    """A profile or a language this Assay does not know is no reason for a traceback."""
    for key, value in (("profile", "huge"), ("language", "klingon")):
        folder = tmp_path / key
        made(folder).close()
        change(folder, f"UPDATE setting SET value = '\"{value}\"' WHERE key = '{key}'")
        with pytest.raises((StoreError, ConfigError), match=value):
            assay.open(folder)


def read_all(folder: Path) -> None:
    with assay.open(folder) as base:
        assert len(list(base.search("gateway", k=400))) == 400
        assert len(list(base.chunks())) == 400


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_truncated(tmp_path: Path, share: float) -> None:
    """Cut short anywhere: opening or the first reading says that it is damaged; a wrong answer never comes."""
    with assay.open(tmp_path, embedder="none") as base:
        base.add([{"id": str(i), "text": f"note {i} about the gateway " * 20} for i in range(400)])
    path = tmp_path / DATABASE
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share) // 4096 * 4096])
    with pytest.raises(StoreError, match=r"damaged|malformed") as caught:
        read_all(tmp_path)
    assert caught.value.cure


def test_a_path_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("I am a file")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError) as caught:
            assay.open(path, embedder="none")
        assert caught.value.cure


def test_a_name_full_of_signs(tmp_path: Path) -> None:
    """SQLite reads its file name as a URI; signs in it must not be read as options."""
    folder = tmp_path / "100% & ?mode=memory #1 ümläut"
    put(made(folder), chunk("a"))
    assert alive(SqliteStore.open(folder)) == ["a"]
    assert (folder / DATABASE).stat().st_size > 0


def test_made_by_two_at_once(tmp_path: Path) -> None:
    """The first to finish makes the store; the other gets the same one, also when it wanted other settings."""
    stores: list[SqliteStore] = []
    ready = threading.Barrier(4)

    def make() -> None:
        ready.wait()
        stores.append(made(tmp_path))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores) == 4
    for number, store in enumerate(stores):
        put(store, chunk(f"c{number}"))
    assert alive(stores[0]) == ["c0", "c1", "c2", "c3"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    second = SqliteStore.create(tmp_path, {**SETTINGS, "language": "german"})
    assert second.settings["language"] == "english"


def test_other_settings_than_it_was_made_with(tmp_path: Path) -> None:
    assay.open(tmp_path, embedder="none", language="german", profile="fine").close()
    assay.open(tmp_path).close()
    assay.open(tmp_path, embedder="none", language="german", profile="fine").close()
    for other in ({"embedder": "minilm"}, {"language": "french"}):
        with pytest.raises(StoreError, match="was made with"):
            assay.open(tmp_path, **other)
    with pytest.raises(ConfigError, match="profile"):
        assay.open(tmp_path / "new", embedder="none", profile="hueg")
    assert not (tmp_path / "new").exists()


def test_a_transaction_within_a_transaction(tmp_path: Path) -> None:
    store = made(tmp_path)
    with store.write("outer") as writer:
        writer.put(chunk("a"), None, "")
        with pytest.raises(StoreError, match="within a transaction"), store.write("inner"):
            pass
    assert alive(store) == ["a"]


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    store = made(tmp_path)
    put(store, chunk("a"))
    before = store.version()

    def half() -> None:
        with store.write("half") as writer:
            writer.put(chunk("b"), None, "")
            writer.remove_chunk("a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert (alive(store), store.version()) == (["a"], before)
    assert put(store, chunk("c")) == before + 1


def test_busy_is_told_as_busy() -> None:
    said = to_store_error(sqlite3.OperationalError("database is locked"), Path("kb"))
    assert isinstance(said, StoreBusy)
    assert "try again" in said.cure


def test_closed(tmp_path: Path) -> None:
    """A store that another thread closed under a reader says so."""
    store = made(tmp_path)
    db = store.db
    store.close()
    with pytest.raises(sqlite3.ProgrammingError):
        db.execute("SELECT 1")
    assert (
        "closed" in to_store_error(sqlite3.ProgrammingError("Cannot operate on a closed database."), tmp_path).message
    )
