"""Real processes: exit codes, pipes that close, interrupts, a start that imports little."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay import __version__, kb

ASSAY = [sys.executable, "-m", "assay.cli"]


def run(*args: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ASSAY, *map(str, args)], capture_output=True, text=True, env={**os.environ, **env}, check=False
    )


def test_version() -> None:
    assert run("--version").stdout == f"assay, version {__version__}\n"


def test_errors_are_words_and_a_traceback_only_on_request(tmp_path: Path) -> None:
    done = run("search", "x", "--store", tmp_path / "no")
    assert done.returncode == 3
    assert done.stderr.splitlines()[0].startswith("error: there is no store at ")
    assert done.stderr.splitlines()[1].startswith("cure: ")
    assert len(done.stderr.splitlines()) == 2
    assert "Traceback" in run("search", "x", "--store", tmp_path / "no", ASSAY_DEBUG="1").stderr


def test_a_misspelt_command_names_the_real_one() -> None:
    done = run("serch", "x")
    assert done.returncode == 2
    assert "did you mean 'search'" in done.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add({"id": str(i), "text": f"note {i} " + "word " * 50} for i in range(2_000))
    command = " ".join([*ASSAY, "export", "--store", str(tmp_path / "kb")])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=True
    )
    first, code = done.stdout.splitlines()
    assert first.startswith('{"id": ')
    assert code == "141"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_an_error(made_store: Path) -> None:
    command = " ".join([*ASSAY, "export", "--store", str(made_store), ">", "/dev/full"])
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: No space left on device\n")


def test_help_and_version_import_little() -> None:
    """`assay --help` is instant because nothing heavy is imported for it."""
    heavy = ("numpy", "rich", "sqlite3", "assay.kb", "onnxruntime", "faiss", "tantivy")
    code = f"""
import sys
from assay.cli.main import cli
try:
    cli(["--help"])
except SystemExit as done:
    assert done.code == 0
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_search_imports_no_engine_it_does_not_use(made_store: Path) -> None:
    heavy = ("onnxruntime", "faiss", "tantivy", "py3langid", "onnx")
    code = f"""
import sys
from assay.cli.main import cli
try:
    cli(["search", "key", "--pipeline", "bm25", "--store", {str(made_store)!r}])
except SystemExit as done:
    assert done.code == 0
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_an_interrupted_add_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    """Two folders: once the first is committed, Ctrl-C comes while the second is read."""
    small, large = tmp_path / "small", tmp_path / "large"
    for folder, files in ((small, 3), (large, 2_000)):
        folder.mkdir()
        for i in range(files):
            (folder / f"{i:04d}.txt").write_text(f"note {i}. " + f"word{i} " * 100)
    process = subprocess.Popen(
        [*ASSAY, "add", str(small), str(large), "--store", str(tmp_path / "kb"), "--embedder", "none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and _files(tmp_path / "kb") < 3:
        time.sleep(0.01)
    assert process.poll() is None, "the second folder is too small for this test"
    process.send_signal(signal.SIGINT)
    _, payload = process.communicate()
    assert process.returncode == 130
    assert payload.strip() == "interrupted"
    assert _files(tmp_path / "kb") == 3
    with kb.open(tmp_path / "kb") as base:
        assert base.search("word1")[0].chunk.doc_id == "small/0001.txt"


def _files(store: Path) -> int:
    """Files whose commit another process can see."""
    if not (store / "assay.sqlite").exists():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{store / 'assay.sqlite'}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM file").fetchone()[0])
