"""Leave one set out: choices by hand, sets that are incomplete, and the command on real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.left_out import leave_one_set_out, sign_test
from assay.bench.receipt import Receipt, ReceiptError, canonical_bytes
from assay.cli.main import cli
from tests.bench.run_receipts import a_run

# Means on dev and test. On dev, b wins on s and t by .3 and loses on u by .5: without u, b is chosen; else a.
DEV = {"base": (0.5, 0.5, 0.5), "a": (0.5, 0.5, 0.9), "b": (0.8, 0.8, 0.4)}
TEST = {"base": (0.4, 0.5, 0.6), "a": (0.5, 0.5, 0.8), "b": (0.6, 0.9, 0.3)}


def runs(dev: dict = DEV, test: dict = TEST) -> list[Receipt]:
    return [
        a_run([mean - 0.1, mean + 0.1], system, dataset={"name": name, "split": split})
        for split, table in (("dev", dev), ("test", test))
        for system, means in table.items()
        for name, mean in zip("stu", means, strict=True)
    ]


def test_no_set_has_a_say_in_its_own_choice() -> None:
    """Left-out test scores: a on s (.5), a on t (.5), b on u (.3), against .4 .5 .6: +.1, 0, −.3."""
    canonical = leave_one_set_out(runs(), ["a", "b"], "base").canonical
    assert [(one["name"], one["chosen"]) for one in canonical["sets"]] == [("s", "a"), ("t", "a"), ("u", "b")]
    assert [one["best_of_its_own"] for one in canonical["sets"]] == ["b", "b", "a"]
    assert [one["difference"] for one in canonical["sets"]] == pytest.approx([0.1, 0.0, -0.3])
    row = canonical["left_out"]
    assert (row["mean_a"], row["mean_b"], row["difference"]) == pytest.approx((0.5, 1.3 / 3, -0.2 / 3))
    assert (row["wins"], row["ties"], row["losses"], row["sign_test"]) == (1, 1, 1, 1.0)
    assert canonical["chosen_on_all"] == "b"  # 2.0 / 3 against 1.9 / 3: the choice that would be shipped
    assert canonical["systems"]["b"]["test"]["mean"] == pytest.approx(0.6)


def test_the_baseline_may_belong_to_the_family_and_ties_go_to_the_first() -> None:
    canonical = leave_one_set_out(runs(DEV | {"a": DEV["base"]}), ["base", "a"], "base").canonical
    assert [one["chosen"] for one in canonical["sets"]] == ["base"] * 3
    assert canonical["left_out"]["difference"] == 0.0
    assert canonical["left_out"]["ties"] == 3


def test_the_order_of_receipts_changes_nothing() -> None:
    one = leave_one_set_out(runs(), ["a", "b"], "base")
    assert canonical_bytes(one.canonical) == canonical_bytes(
        leave_one_set_out(runs()[::-1], ["a", "b"], "base").canonical
    )


def test_the_test_split_does_not_decide() -> None:
    other = {name: tuple(reversed(means)) for name, means in TEST.items()}
    chosen = [one["chosen"] for one in leave_one_set_out(runs(test=other), ["a", "b"], "base").canonical["sets"]]
    assert chosen == ["a", "a", "b"]


def test_incomplete_sets_are_named() -> None:
    more = [a_run([0.1, 0.2], "base", dataset={"name": "v", "split": split}) for split in ("dev", "test")]
    canonical = leave_one_set_out([*runs(), *more], ["a", "b"], "base").canonical
    assert len(canonical["sets"]) == 3
    assert canonical["incomplete"] == {"v/dev": ["a", "b"], "v/test": ["a", "b"]}
    two = [run for run in runs() if run.canonical["dataset"]["name"] != "u"]
    with pytest.raises(ReceiptError, match="2 sets have every system on dev and test") as caught:
        leave_one_set_out(two, ["a", "b"], "base")
    assert "3 sets or more" in caught.value.cure
    with pytest.raises(ReceiptError, match="no receipt is of a system called 'c'"):
        leave_one_set_out(runs(), ["a", "c"], "base")


@pytest.mark.parametrize(
    ("wins", "losses", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 2 / 32), (0, 5, 2 / 32), (4, 1, 12 / 32)]
)
def test_the_sign_test_by_hand(wins: int, losses: int, p: float) -> None:
    assert sign_test(wins, losses) == p


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three copies of a small set with other questions; words only, so that no model is needed."""
    words = ["apple pear", "pear plum", "plum fig", "fig apple", "cherry", "apple cherry"]
    for name in ("one", "two", "three"):
        folder = tmp_path / name
        (folder / "qrels").mkdir(parents=True)
        corpus = [{"_id": f"d{n}", "title": "", "text": f"{text} {name}"} for n, text in enumerate(words)]
        queries = [{"_id": f"q{n}", "text": text} for n, text in enumerate(words)]
        (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
        (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
        for split, numbers in (("dev", (0, 1, 2)), ("test", (3, 4, 5))):
            lines = "".join(f"q{n}\td{n}\t1\n" for n in numbers)
            (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines}")
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    arguments = ["bench", "loso", "one", "two", "three", "--systems", "bm25,random", "--baseline", "random"]
    arguments += ["--embedder", "none", "--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "loso.json")]
    shown = CliRunner().invoke(cli, arguments)
    assert shown.exit_code == 0, shown.output
    assert "chosen elsewhere against random, nDCG@10 on test of 3 sets" in shown.output
    assert "chosen on the dev splits of all sets: bm25" in shown.output
    assert len(list((tmp_path / "runs").glob("*.json"))) == 12
    receipt = json.loads((tmp_path / "loso.json").read_text())
    assert receipt["kind"] == "loso"
    assert [one["chosen"] for one in receipt["canonical"]["sets"]] == ["bm25"] * 3
    again = CliRunner().invoke(cli, [*arguments, "--json"])
    assert json.loads(again.output)["digest"] == receipt["digest"]
    refused = CliRunner().invoke(cli, ["bench", "loso", "one", "two", "three"])
    assert refused.exit_code == 2
    assert "name a family" in refused.output
