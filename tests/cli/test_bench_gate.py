"""`assay bench gate` and `assay bench compare` as a person and as a script meet them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from assay.bench.receipt import read, write
from tests.bench.run_receipts import a_run, unmeasured

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A baseline, a better system, a worse one, one timed elsewhere and one that was not measured."""
    random = np.random.Generator(np.random.PCG64(11))
    old = random.uniform(0.2, 0.6, 40).round(10)
    strata = {"kind=fact": list(range(15)), "kind=name": list(range(15, 40))}
    made = {
        "old": a_run({"nDCG@10": old.tolist(), "R@100": [1.0] * 40}, "old", strata=strata),
        "new": a_run({"nDCG@10": (old + 0.1).round(10).tolist(), "R@100": [1.0] * 40}, strata=strata, p95=12.0),
        "bad": a_run({"nDCG@10": (old - 0.1).round(10).tolist(), "R@100": [1.0] * 40}, "bad", strata=strata),
        "far": a_run({"nDCG@10": (old + 0.1).round(10).tolist(), "R@100": [1.0] * 40}, "far", strata=strata, run="2"),
        "none": unmeasured("dense cannot run: no model", "none"),
        "else": a_run([0.5] * 40, "else", dataset={"name": "else"}),
    }
    for name, receipt in made.items():
        write(receipt, tmp_path / f"{name}.json")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("new", 0, "GO"), ("bad", 1, "NO-GO"), ("far", 2, "NOT MEASURED"), ("none", 2, "NOT MEASURED")],
)
def test_exit_codes(run: Run, folder: Path, name: str, code: int, said: str) -> None:
    result = run("bench", "gate", folder / f"{name}.json", "--against", folder / "old.json", "--rules", "promote")
    assert result.exit_code == code
    assert result.stdout.splitlines()[-1] == said
    assert "\x1b" not in result.stdout


def test_exit_codes_of_a_real_process(folder: Path) -> None:
    command = [sys.executable, "-m", "assay.cli", "bench", "gate"]
    for name, code in (("new", 0), ("bad", 1), ("far", 2)):
        done = subprocess.run(
            [*command, folder / f"{name}.json", "--against", folder / "old.json"], capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (code, b"")


def test_without_a_baseline_nothing_passes(run: Run, folder: Path) -> None:
    result = run("bench", "gate", folder / "new.json")
    assert result.exit_code == 2
    assert "? better  no baseline was given; name one: --against RECEIPT" in result.stdout


def test_the_strata_that_did_not_pass_are_named(run: Run, folder: Path) -> None:
    payload = run("bench", "gate", folder / "bad.json", "--against", folder / "old.json").stdout
    assert "✗ nobody loses  0 of 2 strata pass" in payload
    assert "    ✗ kind=fact  nDCG@10 difference -0.1000 is not >= -0.02" in payload


def test_own_rules_and_a_receipt_of_the_verdict(run: Run, folder: Path) -> None:
    rules = folder / "mine.toml"
    rules.write_text('[[gate]]\nmetric = "nDCG@10"\nop = ">="\nthreshold = 0.2\n')
    out = folder / "deep" / "gate.json"
    result = run("bench", "gate", folder / "new.json", "--rules", rules, "--out", out, "--json")
    assert result.exit_code == 0
    payload = json.loads(result.stdout)
    assert payload["kind"] == "gate"
    assert payload["digest"] == read(out).digest
    assert payload["canonical"]["gates"][0]["verdict"] == "pass"
    assert payload["measured"]["verdict"] == "pass"


def test_a_receipt_changed_by_hand_is_refused(run: Run, folder: Path) -> None:
    path = folder / "bad.json"
    path.write_text(path.read_text().replace('"status": "measured"', '"status": "not_measured"'))
    result = run("bench", "gate", path, "--against", folder / "old.json")
    assert result.exit_code == 2
    assert "was changed after it was written" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["absent.json"], "cannot be read"),
        (["rules.toml"], "is no JSON"),
        (["new.json", "--against", "else.json"], "differ in the dataset's name: else and toy"),
        (["new.json", "--rules", "promot"], "did you mean 'promote'"),
        (["new.json", "--rules", "rules.toml"], "did you mean 'threshold'"),
        (["new.json", "--rules", "metric.toml"], "did you mean 'nDCG'"),
        ([], "Missing argument"),
    ],
    ids=["absent", "no receipt", "misfit", "rules", "key", "metric", "nothing"],
)
def test_errors_say_what_and_the_cure(run: Run, folder: Path, options: list[str], said: str) -> None:
    (folder / "rules.toml").write_text('[[gate]]\nmetric = "nDCG@10"\nop = ">="\ntreshold = 0.2\n')
    (folder / "metric.toml").write_text('[[gate]]\nmetric = "nDGC@10"\nop = ">="\nthreshold = 0.2\n')
    result = run("bench", "gate", *(folder / o if o.endswith((".json", ".toml")) else o for o in options))
    assert result.exit_code == 2
    assert said in result.stderr
    assert "cure: " in result.stderr
    assert result.stdout == ""


def test_a_comparison_shows_metrics_strata_and_a_picture(run: Run, folder: Path) -> None:
    result = run("bench", "compare", folder / "old.json", folder / "new.json", folder / "far.json")
    assert result.exit_code == 0
    payload = result.stdout
    assert "new against old on toy/test, 40 queries" in payload
    assert "p by Holm over 2 metrics of 2 systems" in payload
    assert "+0.1000" in payload
    assert "40/0/0" in payload
    assert "latency      p50 ×1.20  p95 ×1.20  p99 ×1.20" in payload
    assert "latency      not comparable (different runs)" in payload
    assert "kind=fact" in payload
    assert payload.count("●") == 6
    assert all(len(line) <= 100 for line in payload.splitlines())


def test_a_comparison_as_json_and_as_a_receipt(run: Run, folder: Path) -> None:
    out = folder / "comparison.json"
    result = run(
        "bench", "compare", folder / "old.json", folder / "new.json", "--metrics", "ndcg@10", "--scope", "all",
        "--json", "--out", out,
    )  # fmt: skip
    payload = json.loads(result.stdout)
    assert payload["digest"] == read(out).digest
    assert [row["metric"] for row in payload["canonical"]["results"]] == ["nDCG@10"]


def test_a_comparison_of_what_does_not_fit(run: Run, folder: Path) -> None:
    for names, payload in (
        (["old", "else"], "can be pooled"),
        (["old", "none"], "not measured"),
        (["old"], "two runs"),
    ):
        result = run("bench", "compare", *(folder / f"{name}.json" for name in names))
        assert result.exit_code == 2
        assert payload in result.stderr


def test_names_from_a_receipt_move_no_cursor(run: Run, folder: Path) -> None:
    evil = "x\x1b[31m\u202e"
    write(a_run([0.1, 0.2], evil, strata={evil: [0]}), folder / "a.json")
    write(a_run([0.2, 0.3], evil, strata={evil: [0]}), folder / "b.json")
    for command in (["compare", folder / "a.json", folder / "b.json"], ["gate", folder / "a.json"]):
        for more in ([], ["--json"]):
            result = run("bench", *command, *more)
            assert result.exit_code in (0, 2)
            assert "\x1b" not in result.stdout
            assert "\u202e" not in result.stdout
