"""Bytes on disk, counted while others write and sweep."""

import shutil
import threading
from pathlib import Path

from assay.store.disk_usage import count_bytes


def test_files_and_folders_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "a").write_bytes(b"12345")
    (tmp_path / "deep" / "er" / "b").write_bytes(b"123")
    (tmp_path / "c").write_bytes(b"1")
    assert count_bytes(tmp_path) == 9
    assert count_bytes(tmp_path / "deep", tmp_path / "c") == 9
    assert count_bytes(tmp_path / "deep" / "er", tmp_path / "not there") == 3
    assert count_bytes() == 0


def test_what_vanishes_meanwhile_weighs_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"1234567")
    done = threading.Event()

    def sweep() -> None:
        while not done.is_set():
            for name in "abc":
                (tmp_path / name / "inside").mkdir(parents=True)
                (tmp_path / name / "inside" / "empty").touch()
            for name in "abc":
                shutil.rmtree(tmp_path / name)

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        assert {count_bytes(tmp_path) for _ in range(500)} == {7}
    finally:
        done.set()
        sweeper.join()
