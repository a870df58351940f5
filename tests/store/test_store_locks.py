"""SQLite's locks stay whatever else this process does with the file: without them another process that closes the store
removes the write-ahead log under us, and our next commits are lost."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.backend.addresses import create_backend, open_backend
from assay.store.database_checksum import crc_of_database
from assay.types import Chunk
from assay.upkeep.backup import backup
from assay.upkeep.doctor import examine
from assay.util.file_checksum import crc_of_file

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}

OTHER = """
import sys
from assay.backend.addresses import open_backend
from assay.types import Chunk
backend = open_backend(sys.argv[1])
backend.put([(Chunk("theirs", "theirs", "a line", 2), None)])
backend.close()
"""
LIST = """
import sys
from assay.backend.addresses import open_backend
view = open_backend(sys.argv[1]).snapshot()
print(*sorted(view.ids(view.live_rows(None))))
"""


@pytest.fixture(params=["kb", "kb.sqlite"])
def place(request, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    create_backend(path, SETTINGS).close()  # closed properly: the next opening compares the file with its checksum
    return path


def database(path: Path) -> Path:
    return path / "assay.sqlite" if path.is_dir() else path


def locks(path: Path) -> list[str]:
    """The locks that this process has on the database, as the system lists them."""
    inode, process = f":{database(path).stat().st_ino} ", f" {os.getpid()} "
    lines = Path("/proc/locks").read_text().splitlines()
    return sorted(line.partition(": ")[2] for line in lines if inode in line and process in line)


def found(path: Path) -> set[str]:
    backend = open_backend(path)
    view = backend.snapshot()
    names = {str(name) for name in view.ids(view.live_rows(None))}
    backend.close()
    return names


def open_and_close(path: Path) -> None:
    open_backend(path).close()


def copy_to_backup(path: Path) -> None:
    with contextlib.closing(open_backend(path)) as backend:
        backup(backend.store, path.parent / "copy.backup")


def add_its_own_folder(path: Path) -> None:
    (path.parent / "note.md").write_text("# A note\n\nOne line.\n")
    with assay.open(path) as kb:
        kb.add(path.parent)


def add_it_under_other_names(path: Path) -> None:
    """The database as if it were a text: a second name of the file, and a link to it."""
    os.link(database(path), path.parent / "second.md")
    (path.parent / "link.txt").symlink_to(database(path))
    (path.parent / "note.md").write_text("x" * 1024)
    with assay.open(path) as kb:
        report = kb.add(path.parent)
    assert [(name.split("/")[-1], reason) for name, reason in report.ignored] == [
        ("link.txt", "an SQLite database that is in use here, not what its name says"),
        ("second.md", "an SQLite database that is in use here, not what its name says"),
    ]
    assert report.added == 1


ACTIONS: list[Callable[[Path], object]] = [
    open_and_close,
    examine,
    copy_to_backup,
    add_its_own_folder,
    add_it_under_other_names,
    found,
]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs the list of locks that Linux keeps")
@pytest.mark.parametrize("act", ACTIONS, ids=lambda act: act.__name__)
def test_locks_stay(place: Path, act: Callable[[Path], object]) -> None:
    backend = open_backend(place)
    before = locks(place)
    assert before
    act(place)
    assert locks(place) == before
    backend.close()
    assert not locks(place)


def test_no_commit_is_lost_when_another_process_closes_the_store(place: Path) -> None:
    ours = open_backend(place)
    open_and_close(place)
    subprocess.run([sys.executable, "-c", OTHER, str(place)], check=True)
    ours.put([(Chunk("ours", "ours", "a line", 2), None)])
    listed = subprocess.run([sys.executable, "-c", LIST, str(place)], check=True, capture_output=True, text=True)
    assert listed.stdout.split() == ["ours", "theirs"]
    ours.close()
    assert found(place) == {"ours", "theirs"}


def test_the_checksum_is_that_of_the_file(place: Path) -> None:
    path = database(place)
    assert crc_of_database(path) == crc_of_file(path)
    with contextlib.closing(sqlite3.connect(path)) as db:  # pages of zeros, as erasing leaves them
        db.execute("PRAGMA secure_delete = ON")
        db.execute("CREATE TABLE filler AS SELECT zeroblob(100000)")
        db.execute("DELETE FROM filler")
        db.commit()
    assert crc_of_database(path) == crc_of_file(path)


def test_a_page_that_cannot_be_read_has_no_checksum(place: Path) -> None:
    path = database(place)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 4096)  # the header counts more pages than there are
    assert crc_of_database(path) is None
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert crc_of_database(path) is None
