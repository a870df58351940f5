"""Whole files, or none; and what is no file is not replaced by one."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from assay.util.atomic_files import atomic_path, atomic_writer, write_text


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_text(path, "first")
    with pytest.raises(ZeroDivisionError), atomic_writer(path) as file:
        file.write(b"half" * (1 // (file.write(b"half") - 4)))
    assert path.read_text() == "first"
    with atomic_writer(path) as file:
        file.write(b"second")
        assert path.read_text() == "first"
    assert path.read_text() == "second"
    assert os.listdir(tmp_path) == ["a"]


def test_who_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_text(tmp_path / "mine", "x")
        assert mode(tmp_path / "mine") == 0o600
        (tmp_path / "mine").chmod(0o640)
        write_text(tmp_path / "mine", "y")
        assert mode(tmp_path / "mine") == 0o640
    finally:
        os.umask(before)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "file")
    write_text(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "deep" / "file").read_text() == "x"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()), daemon=True)
    reader.start()
    with atomic_writer(pipe) as file:
        file.write(b"x\ny\n")
    reader.join(60)
    assert received == ["x\ny\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_complaints_name_what_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_writer(tmp_path / "no" / "such"):
        pass
    assert caught.value.filename == str(tmp_path / "no" / "such")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as blocked, atomic_writer(tmp_path / "folder"):
        pass
    assert blocked.value.filename == str(tmp_path / "folder")
    with pytest.raises(IsADirectoryError) as replaced, atomic_path(tmp_path / "folder"):
        pass
    assert replaced.value.filename == str(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]
