"""Files and folders that may not be read: what a user is told names the file, the reason and a cure, and no exception.

The commands run without the right to pass over permissions, which an administrator has.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.backend.addresses import create_backend
from assay.types import Chunk

WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def can_drop_rights() -> bool:
    if shutil.which("setpriv") is None:
        return False
    return subprocess.run([*WITHOUT_RIGHTS, "true"], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not can_drop_rights(), reason="needs setpriv and the right to drop rights")


def assay(folder: Path, *arguments: str) -> str:
    command = [*WITHOUT_RIGHTS, sys.executable, "-m", "assay.cli", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert ran.returncode not in (0, 70), ran.stdout
    return ran.stdout + ran.stderr


def make_store(path: Path, dim: int) -> None:
    settings = {"embedder": "none", "model": "", "dim": dim, "language": "english", "profile": "default"}
    backend = create_backend(path, settings)
    backend.put([(Chunk("a", "a", "a line about keys", 4), None)])
    backend.close()


def close_all(path: Path) -> None:
    for file in [path, *path.rglob("*")] if path.is_dir() else [path]:
        if file.is_file():
            file.chmod(0)


@pytest.mark.parametrize("name", ["kb", "kb.sqlite", "kb.lance"])
def test_a_store_whose_files_are_closed(name: str, tmp_path: Path) -> None:
    make_store(tmp_path / name, 0)
    close_all(tmp_path / name)
    told = assay(tmp_path, "search", "keys", "--store", name, "--pipeline", "bm25")
    assert "cannot be" in told
    assert "permissions" in told.partition("cure:")[2]
    for raw in ("Errno", "PermissionError", "Traceback", "damaged", "--accept"):
        assert raw not in told


def test_a_closed_folder(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    for command in ("search", "add"):
        told = assay(tmp_path, command, ".", "--store", "closed")
        assert "closed" in told.partition("cure:")[0]
        assert "ermission denied" in told.partition("cure:")[0]
        assert "permissions" in told.partition("cure:")[2]
        assert "Errno" not in told


def test_a_closed_pipeline(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[legs.bm25]\n")
    (tmp_path / "mine.toml").chmod(0)
    told = assay(tmp_path, "pipeline", "check", "mine.toml")
    assert "pipeline file mine.toml cannot be read: Permission denied" in told
    assert "Errno" not in told
