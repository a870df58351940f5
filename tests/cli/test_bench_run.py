"""`assay bench run`, `replay`, `report` and `datasets` as a person meets them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from click.testing import Result

from assay.bench.receipt import read
from assay.embed.cache_home import cache_home

Run = Callable[..., Result]


@pytest.fixture
def own_home(tmp_path: Path) -> dict[str, str]:
    """A cache of its own, with the installed models in it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "models").symlink_to(cache_home() / "models")
    return {"ASSAY_HOME": str(tmp_path / "home")}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The shipped dataset as a folder that a test may change."""
    with resources.as_file(resources.files("assay.bench").joinpath("tiny")) as folder:
        return Path(shutil.copytree(folder, tmp_path / "mine"))


def test_a_first_run(run: Run, own_home: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "receipts"
    command = ("bench", "run", "tiny", "--systems", "default", "--out", out)
    first = run(*command, env=own_home)
    assert first.exit_code == 0, first.output
    lines = first.output.splitlines()
    assert lines[0].startswith("tiny/test · 42 documents · 10 queries · human judgements")
    names = [line.split()[0] for line in lines[2:9]]
    assert sorted(names[:5]) == ["bm25", "default", "dense", "hybrid", "hybrid+rerank"]
    assert names[5:] == ["random", "oracle"]
    assert len(list(out.iterdir())) == 7
    again = run(*command, env=own_home)
    assert "taken from" in again.output
    env = {**os.environ, **own_home, "PYTHONHASHSEED": "5", "OMP_NUM_THREADS": "1"}
    replayed = subprocess.run(
        [sys.executable, "-m", "assay.cli", "bench", "replay", *map(str, sorted(out.iterdir()))],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert replayed.returncode == 0, replayed.stdout
    assert [line.split()[0] for line in replayed.stdout.splitlines()] == ["same"] * 7
    assert replayed.stderr == ""  # a bar is for people; a pipe gets none
    page = tmp_path / "report.html"
    shown = run("bench", "report", out, "--html", page)
    assert shown.exit_code == 0, shown.output
    assert "<svg" in page.read_text("utf-8")
    printed = run("bench", "report", *sorted(out.glob("*.json")))
    assert re.search(r"\| \*\*[\w+-]+\*\* \|", printed.output), printed.output  # the best row is bold


def test_words_only_says_what_it_did_not_measure(run: Run, own_home: dict[str, str]) -> None:
    done = run("bench", "run", "tiny", "--systems", "default", "--embedder", "none", "--no-timing", env=own_home)
    assert done.exit_code == 0
    assert "not measured: default: dense cannot run" in done.output
    messages = run(
        "bench", "run", "tiny", "--systems", "bm25", "--no-baselines", "--embedder", "none", "--json", env=own_home
    )
    assert list(json.loads(messages.output)) == ["bm25"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tinny",), "did you mean 'tiny'"),
        (("tiny", "--systems", "bm52"), "did you mean 'bm25'"),
        (("tiny", "--metrics", "nDGC@10"), "nDCG"),
        (("tiny", "--split", "tset"), "test"),
        (("tiny", "--systems", "absent.toml"), "cannot be read"),
        (("tiny", "--profile", "fien"), "did you mean 'fine'"),
    ],
    ids=["dataset", "system", "metric", "split", "file", "profile"],
)
def test_misspelt_names_get_the_nearest(
    run: Run, own_home: dict[str, str], arguments: tuple[str, ...], message: str
) -> None:
    done = run("bench", "run", *arguments, "--embedder", "none", env=own_home)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_a_replay_names_what_changed(run: Run, own_home: dict[str, str], tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "receipts"
    options = ("--systems", "bm25", "--no-baselines", "--no-timing", "--embedder", "none", "--out", out)
    done = run("bench", "run", tiny, *options, env=own_home)
    assert done.exit_code == 0, done.output
    (path,) = out.iterdir()
    assert str(tmp_path) not in path.read_text("utf-8")  # a receipt names no place of the machine
    judgements = tiny / "qrels" / "test.tsv"
    lines = judgements.read_text("utf-8").splitlines()
    query, document, grade = lines[1].split("\t")
    judgements.write_text("\n".join([lines[0], f"{query}\t{document}\t{3 - int(grade)}", *lines[2:]]) + "\n", "utf-8")
    (tiny / "meta.json").unlink(missing_ok=True)  # it vouches for the old judgements
    changed = run("bench", "replay", path, "--dataset", tiny, env=own_home)
    assert changed.exit_code == 1, changed.output
    assert "dataset.digest" in changed.output


def test_a_replay_of_something_else(run: Run, own_home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    done = run("bench", "replay", tmp_path / "no.json", env=own_home)
    assert done.exit_code == 2
    assert "is no receipt" in done.output


def test_datasets_are_listed(run: Run) -> None:
    assert "tiny" in run("bench", "datasets").output.split()


def test_a_broken_result_ends_with_one(run: Run, own_home: dict[str, str], tmp_path: Path) -> None:
    """A system that finds nothing is not above chance; on enough queries that is an error."""
    folder = tmp_path / "many"
    (folder / "qrels").mkdir(parents=True)
    topics = [f"q{i:02d}" for i in range(25)]
    (folder / "corpus.jsonl").write_text("".join(f'{{"_id": "d{i}", "text": "word{i}"}}\n' for i in range(25)))
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "{t}", "text": "nowhere"}}\n' for t in topics))
    rows = "".join(f"{t}\td{i}\t1\n" for i, t in enumerate(topics))
    (folder / "qrels" / "all.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    shutil.copy(folder / "qrels" / "all.tsv", folder / "qrels" / "test.tsv")
    done = run("bench", "run", folder, "--split", "all", "--systems", "bm25", "--embedder", "none", env=own_home)
    assert done.exit_code == 1
    assert "floor" in done.output


def test_receipts_are_read_back(run: Run, own_home: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "r"
    run("bench", "run", "tiny", "--systems", "bm25", "--no-baselines", "--embedder", "none", "--out", out, env=own_home)
    receipt = read(out / "tiny.test.bm25.json")
    assert receipt.canonical["dataset"]["source"] == "tiny"
    assert receipt.canonical["index"]["embedder"] == "none"
    assert receipt.measured["latency_ms"]["bm25"]["p95"] >= receipt.measured["latency_ms"]["bm25"]["p50"]


def test_a_run_says_what_each_leg_alone_brought(run: Run, own_home: dict[str, str]) -> None:
    words = ("bench", "run", "tiny", "--systems", "weighted", "--no-baselines", "--no-timing", "--embedder", "none")
    shown = run(*words, env=own_home).output
    assert "first places of weighted, found by: bm25 " in shown
    assert " alone), graph " in shown
    assert "cannot enter the top 10" in " ".join(shown.split())
