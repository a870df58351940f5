"""The built wheel: its name, the data files inside, and the command it installs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
DATA = (
    "assay/config/presets/default.toml",
    "assay/config/presets/memory.toml",
    "assay/bench/gates/promote.toml",
    "assay/bench/tiny/corpus.jsonl",
    "assay/rerank/data/learned.json",
    "assay/text/data/stop.txt",
    "assay/text/data/wordpiece.txt.gz",
    "assay/py.typed",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel installed into a folder of its own; the dependencies are those of the running Python."""
    folder = tmp_path_factory.mktemp("installed")
    _pip("install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))
    return folder


def test_the_wheel_is_named_after_the_distribution(wheel: Path) -> None:
    assert wheel.name.startswith("assay_retrieval-")


@pytest.mark.parametrize("name", DATA)
def test_the_wheel_contains_the_data_files(wheel: Path, name: str) -> None:
    assert name in zipfile.ZipFile(wheel).namelist()


def test_the_wheel_contains_only_the_package(wheel: Path) -> None:
    assert {name.split("/")[0].split("-")[0] for name in zipfile.ZipFile(wheel).namelist()} == {
        "assay",
        "assay_retrieval",
    }


def test_the_command_of_the_wheel_prints_its_version(installed: Path, tmp_path: Path) -> None:
    import assay

    assert assay.__version__ in _assay(installed, tmp_path, "--version")


def test_the_command_of_the_wheel_indexes_and_searches(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Keys\n\nRotate the signing key every ninety days.\n", "utf-8")
    _assay(installed, tmp_path, "add", "note.md", "--store", "notes.sqlite")
    assert "ninety days" in _assay(installed, tmp_path, "search", "signing key", "--store", "notes.sqlite")


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def _assay(installed: Path, folder: Path, *arguments: str) -> str:
    """Run the installed command; the package on the path is the wheel's, not the checkout's."""
    environment = {**os.environ, "PYTHONPATH": str(installed), "ASSAY_WORKERS": "0", "NO_COLOR": "1"}
    code = "import assay; print(assay.__file__)"
    where = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert where.stdout.startswith(str(installed))
    done = subprocess.run(
        [str(installed / "bin" / "assay"), *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
