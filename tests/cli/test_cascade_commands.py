"""`assay bank`, `assay lvm`, `assay tmd` and tools/eval_hybrid.py, as a person runs them."""

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from assay.cascade.bank.bank import open_bank
from assay.cascade.bank.index import open_index
from assay.cascade.bank.sequences import open_sequences
from assay.cascade.lvm.model import open_model
from assay.cli.main import cli
from tests.cascade.planted_bank import planted_folder

ROOT = Path(__file__).resolve().parent.parent.parent


def run(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(cli, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found.output


def test_a_bank_is_checked_indexed_and_learned_from(tmp_path):
    bank, pairs = planted_folder() / "bank.npz", planted_folder() / "sequences.npz"
    payload = run("bank", "check", bank, "--sequences", pairs)
    assert "4,096 vectors × 32" in payload
    assert "no id in both halves" in payload
    assert "recall with nprobe 16: @10" in run("bank", "index", bank, "--out", tmp_path / "index")
    assert open_index(tmp_path / "index", open_bank(bank)).nlist == 64
    payload = run("lvm", "train", bank, pairs, "--out", tmp_path / "lvm", "--context", 2, "--most", 2000)
    assert "ridge_32_ctx2: 1,800 windows" in payload
    assert open_model(tmp_path / "lvm").context == 2
    assert json.loads(run("lvm", "show", tmp_path / "lvm"))["kind"] == "ridge"


def test_the_fewest_windows_train_and_say_what_they_reached(tmp_path):
    bank, pairs = planted_folder() / "bank.npz", planted_folder() / "sequences.npz"
    payload = run("lvm", "train", bank, pairs, "--out", tmp_path / "lvm", "--most", 2)
    assert "1 windows" in payload
    assert "reciprocal rank" in payload
    assert "too few" in run("lvm", "train", bank, pairs, "--out", tmp_path / "none", "--most", 1, code=4)


def test_a_check_says_which_layout_the_lanes_follow(tmp_path):
    bank = open_bank(planted_folder() / "bank.npz")
    assert "lanes are those of layout spec" in run("bank", "check", bank.path)
    held = {"vectors": bank.vectors, "bank_ids": bank.ids, "tmd_bits": bank.tmd_bits}
    for lanes, what in ((bank.tmd_bits >> 11, "layout wide"), (bank.tmd_bits * 0 + 9, "no layout we know")):
        np.savez(tmp_path / "theirs.npz", **held, lane_indices=lanes.astype(np.int16))
        assert what in run("bank", "check", tmp_path / "theirs.npz")


def test_a_bad_bank_says_what_and_cure(tmp_path):
    np.savez(tmp_path / "bad.npz", vectors=np.zeros((2, 4), np.float32))
    payload = run("bank", "check", tmp_path / "bad.npz", code=3)
    assert "error: " in payload
    assert "bank_ids" in payload
    assert "cure: " in payload
    run("bank", "index", tmp_path / "absent.npz", "--out", tmp_path, code=3)
    run("lvm", "show", tmp_path, code=4)


def test_codes_from_a_file_make_a_new_bank(tmp_path):
    bank = planted_folder() / "bank.npz"
    np.save(tmp_path / "codes.npy", np.full(4_096, 37_258, np.uint16))
    payload = run("tmd", "tag", bank, "--codes", tmp_path / "codes.npy", "--out", tmp_path / "new" / "tagged.npz")
    assert "4,096 vectors, 1 codes" in payload
    tagged = open_bank(tmp_path / "new" / "tagged.npz")
    assert set(tagged.lanes.tolist()) == {18_629}
    assert np.array_equal(tagged.vectors, open_bank(bank).vectors)
    assert "domain     9" in run("tmd", "show", 37_258)


def test_an_adopted_model_is_refused_when_it_is_none(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no")
    assert "error: " in run("lvm", "adopt", tmp_path / "m.onnx", "--out", tmp_path / "model", code=4)


def test_a_bank_from_ordered_text_with_the_real_model(tmp_path):
    from assay.embed.installed_models import find_model

    if not find_model("minilm"):
        pytest.skip("no embedding model is installed")
    paragraphs = [
        {"_id": f"{a}-{p}", "text": f"{subject} {p}. " * 12, "metadata": {"article": subject}}
        for a, subject in enumerate(
            ["Volcanoes erupt", "The parser reads tokens", "Rivers flow", "Kings rule", "Pods run"]
        )
        for p in range(4)
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, paragraphs)))
    payload = run("bank", "build", path, "--by", "article", "--val", "0.5", "--out", tmp_path / "bank")
    assert "of 5 documents" in payload
    bank = open_bank(tmp_path / "bank" / "bank.npz")
    pairs = open_sequences(tmp_path / "bank" / "sequences.npz", bank)
    assert bank.dim == 384
    assert len(pairs.train) + len(pairs.val) == 15
    codes = set(bank.tmd_bits.tolist())
    assert len(codes) > 1
    run("tmd", "tag", bank.path, "--out", tmp_path / "again.npz")
    assert open_bank(tmp_path / "again.npz").digest == bank.digest


def test_the_tool_takes_the_flags_of_the_specification(tmp_path):
    command = [
        sys.executable, ROOT / "tools" / "eval_hybrid.py", "--bank", planted_folder() / "bank.npz",
        "--val", planted_folder() / "sequences.npz",
        "--index", planted_folder() / "index", "--model", planted_folder() / "lvm",
        "--k0", "100", "--lambda", "0.7", "--nprobe", "8", "16", "--k1", "50", "--k", "10", "--queries", "40",
        "--out", tmp_path / "evals" / "hybrid_grid.json",
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, cwd=ROOT)
    assert "Goal Hit@5" in done.stdout
    names = sorted(path.name for path in (tmp_path / "evals").iterdir())
    assert names == ["Hybrid Retrieval v0.1 Results.md", "hybrid_grid.json", "hybrid_grid.md"]


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (["--k1", "500"], "k0"),
        (["--queries", "-5"], "queries"),
        (["--nprobe", "0"], "nprobe"),
        (["--lambda", "1.0"], "lambda"),
        (["--lambda", "nan"], "lambda"),
        (["--out", "grid.md"], "json"),
        (["--pipeline", "dense"], "cascade"),
    ],
    ids=str,
)
def test_flags_that_make_no_grid_say_why(monkeypatch, capsys, tmp_path, wrong, what):
    given = [
        "--bank",
        planted_folder() / "bank.npz",
        "--index",
        planted_folder() / "index",
        "--model",
        planted_folder() / "lvm",
        "--k0",
        "100",
    ]
    words = ["eval_hybrid.py", *given, "--out", tmp_path / "grid.json", *wrong]
    monkeypatch.setattr(sys, "argv", list(map(str, words)))
    assert runpy.run_path(str(ROOT / "tools" / "eval_hybrid.py"))["main"]() == 2
    payload = capsys.readouterr().err
    assert payload.startswith("error: ")
    assert what in payload
    assert "cure: " in payload


def tool(*words: object, **other) -> subprocess.Popen:
    given = [
        "--bank",
        planted_folder() / "bank.npz",
        "--index",
        planted_folder() / "index",
        "--model",
        planted_folder() / "lvm",
        *words,
    ]
    command = [sys.executable, ROOT / "tools" / "eval_hybrid.py", *given]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    return subprocess.Popen(list(map(str, command)), **pipes, **other)


SMALLEST = ("--k0", "100", "--lambda", "0.7", "--nprobe", "8", "--queries", "10")


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    done = tool(*SMALLEST, "--out", tmp_path / "file" / "grid.json")
    _, payload = done.communicate(timeout=600)
    assert done.returncode == 1
    assert payload.startswith("error: ")
    assert "cure: " in payload


def test_a_terminal_that_speaks_ascii_sees_the_page_too(tmp_path):
    """Minutes of work do not end in a character nobody can show."""
    done = tool(*SMALLEST, "--out", tmp_path / "grid.json", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    page, payload = done.communicate(timeout=600)
    assert (done.returncode, payload) == (0, "")
    assert "Goal Hit@5 ? 0.78" in page
    assert "Goal Hit@5 ≥ 0.78" in (tmp_path / "grid.md").read_text("utf-8")


def test_ctrl_c_ends_the_tool_in_a_word(tmp_path):
    grid = tool("--out", tmp_path / "new" / "grid.json")
    while not (tmp_path / "new").exists():  # it has begun: its folder is there
        assert grid.poll() is None
        time.sleep(0.02)
    grid.send_signal(signal.SIGINT)
    _, payload = grid.communicate(timeout=600)
    assert (grid.returncode, payload) == (130, "interrupted\n")
    assert not (tmp_path / "new" / "grid.json").exists()
