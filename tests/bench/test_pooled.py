"""Comparisons over several sets: hand-computed means and tests, sets that are incomplete, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.pooled import find_runs, pool
from assay.bench.receipt import Receipt, ReceiptError, canonical_bytes, write
from assay.cli.main import cli
from tests.bench.run_receipts import a_run, unmeasured


def on(name: str, scores: list[float], system: str, split: str = "test") -> Receipt:
    return a_run(scores, system, dataset={"name": name, "split": split})


OLD = {"a": [0.1, 0.3], "b": [0.5, 0.5, 0.5, 0.5], "c": [0.0, 1.0]}
NEW = {"a": [0.5, 0.3], "b": [0.6, 0.6, 0.6, 0.6], "c": [0.0, 0.8]}
RUNS = [on(name, scores, "old") for name, scores in OLD.items()] + [
    on(name, scores, "new") for name, scores in NEW.items()
]


def test_every_set_counts_once() -> None:
    """Means .2 .5 .5 against .4 .6 .4: differences +.2 +.1 −.1; of the eight signs, |sum| ≥ .2 holds for six."""
    pooled = pool(RUNS, ["old", "new"])
    (row,) = pooled.canonical["pooled"]
    assert (row["mean_a"], row["mean_b"]) == pytest.approx((0.4, 1.4 / 3))
    assert row["difference"] == pytest.approx(0.2 / 3)
    assert (row["n"], row["wins"], row["ties"], row["losses"]) == (3, 2, 0, 1)
    assert row["p"] == 6 / 8
    assert [one["set"] for one in pooled.canonical["results"]] == ["a/test", "b/test", "c/test"]
    assert [one["difference"] for one in pooled.canonical["results"]] == pytest.approx([0.2, 0.1, -0.1])
    assert [one["n"] for one in pooled.canonical["results"]] == [2, 4, 2]


def test_the_order_of_receipts_changes_nothing() -> None:
    assert canonical_bytes(pool(RUNS, ["old", "new"]).canonical) == canonical_bytes(
        pool(RUNS[::-1], ["old", "new"]).canonical
    )


def test_p_is_adjusted_over_systems() -> None:
    third = [on(name, [score + 0.01 for score in scores], "third") for name, scores in OLD.items()]
    rows = pool([*RUNS, *third]).canonical["pooled"]
    assert [row["system"] for row in rows] == ["new", "third"]
    assert rows[1]["p"] == 2 / 8
    assert rows[1]["p_adjusted"] == 4 / 8


def test_incomplete_sets_are_listed_and_left_out() -> None:
    broken = a_run([0.1] * 4, "new", dataset={"name": "e"}, status="not_measured", why={"code": "text", "values": {}})
    extra = [on("d", [0.1], "old"), on("e", [0.1] * 4, "old"), broken, on("a", [0.2, 0.2], "old", "dev")]
    canonical = pool([*RUNS, *extra], ["old", "new"]).canonical
    assert canonical["incomplete"] == {"a/dev": ["new"], "d/test": ["new"], "e/test": ["new"]}
    assert [one["name"] for one in canonical["sets"]] == ["a", "b", "c"]
    only = pool([*RUNS, *extra], ["old", "new"], split="test").canonical
    assert set(only["incomplete"]) == {"d/test", "e/test"}


@pytest.mark.parametrize(
    ("runs", "systems", "message"),
    [
        (RUNS, ["old", "nwe"], "no receipt is of a system called 'nwe'"),
        (RUNS[:3], [], "two systems or more"),
        (RUNS[:1] + RUNS[3:4], [], "1 of the sets can be pooled"),
        ([*RUNS, RUNS[0]], [], "two receipts are of old on a/test"),
        (
            [*RUNS[:3], *(on(name, [*scores, 0.5], "new") for name, scores in NEW.items())],
            [],
            "differ in their queries",
        ),
        ([RUNS[0], RUNS[1], unmeasured(name="new")], [], "0 of the sets can be pooled"),
    ],
)
def test_what_cannot_be_pooled_says_why(runs: list[Receipt], systems: list[str], message: str) -> None:
    with pytest.raises(ReceiptError, match=message) as refused:
        pool(runs, systems)
    assert refused.value.cure


def test_another_metric_must_be_there() -> None:
    with pytest.raises(ReceiptError, match="0 of the sets can be pooled"):
        pool(RUNS, metrics=["R@100"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for receipt in RUNS:
        name = f"{receipt.canonical['dataset']['name']}.{receipt.canonical['system']['name']}.json"
        write(receipt, tmp_path / name)
    write(pool(RUNS), tmp_path / "pooled.json")
    return tmp_path


def test_a_folder_holds_other_receipts_too(folder: Path) -> None:
    assert len(find_runs([folder])) == 6


def test_command(folder: Path) -> None:
    shown = CliRunner().invoke(cli, ["bench", "compare", str(folder), "--systems", "old,new"])
    assert shown.exit_code == 0, shown.output
    assert "new against old, nDCG@10 over 3 sets" in shown.output
    assert "2 won, 0 tied, 1 lost" in shown.output
    files = [str(folder / name) for name in ("a.old.json", "b.old.json", "a.new.json", "b.new.json")]
    data = CliRunner().invoke(cli, ["bench", "compare", *files, "--json", "--out", str(folder / "x.json")])
    assert json.loads(data.output)["kind"] == "pooled"
    assert json.loads((folder / "x.json").read_text())["canonical"]["pooled"][0]["wins"] == 2


def test_options_of_one_set_and_of_several_do_not_mix(folder: Path) -> None:
    one = [str(folder / "a.old.json"), str(folder / "a.new.json")]
    assert CliRunner().invoke(cli, ["bench", "compare", *one]).exit_code == 0
    assert CliRunner().invoke(cli, ["bench", "compare", *one, "--systems", "old,new"]).exit_code == 2
    assert CliRunner().invoke(cli, ["bench", "compare", str(folder), "--scope", "all"]).exit_code == 2
