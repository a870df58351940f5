"""Comparisons: hand-computed differences, families that are adjusted, receipts that do not fit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.compare import compare
from assay.bench.metrics import MetricError
from assay.bench.receipt import Receipt, ReceiptError, canonical_bytes, read, write
from assay.bench.stats import benjamini_hochberg, compare_pair, holm
from tests.bench.run_receipts import STRATA, a_run, unmeasured

BASE = a_run([0.1, 0.2, 0.3, 0.4], "old", strata=STRATA)
NEW = a_run([0.2, 0.4, 0.3, 0.3], strata=STRATA)


def row(receipt: Receipt, scope: str = "all", metric: str = "nDCG@10", system: str = "new") -> dict[str, Any]:
    found = [
        r for r in receipt.canonical["results"] if (r["scope"], r["metric"], r["system"]) == (scope, metric, system)
    ]
    assert len(found) == 1
    return dict(found[0])


def test_a_difference_by_hand() -> None:
    """Differences +.1 +.2 0 −.1: mean .05; of the eight signs of three, |sum| ≥ .2 holds for six."""
    found = row(compare([BASE, NEW]))
    assert found["difference"] == pytest.approx(0.05)
    assert (found["mean_a"], found["mean_b"]) == (0.25, 0.3)
    assert (found["wins"], found["ties"], found["losses"], found["n"]) == (2, 1, 1, 4)
    assert found["p"] == 6 / 8
    assert found["d_z"] == pytest.approx(0.05 / math.sqrt((0.05**2 + 0.15**2 + 0.05**2 + 0.15**2) / 3))
    assert found["ci_low"] <= 0.05 <= found["ci_high"]


def test_strata_are_tested_alone() -> None:
    found = compare([BASE, NEW])
    assert found.canonical["scopes"] == ["all", "type=a", "type=b"]
    assert row(found, "type=a")["difference"] == pytest.approx(0.15)
    assert row(found, "type=b")["difference"] == pytest.approx(-0.05)
    assert row(found, "type=a")["n"] == 2


def test_every_number_is_the_paired_tests_own() -> None:
    random = np.random.Generator(np.random.PCG64(5))
    old, new = random.random(40).round(10), random.random(40).round(10)
    found = row(compare([a_run(old.tolist(), "old"), a_run(new.tolist())]))
    expected = compare_pair(old, new).to_dict()
    assert {key: found[key] for key in expected} == expected


def test_two_families_are_adjusted_each_by_its_method() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    strata = {"type=a": list(range(15)), "type=b": list(range(15, 40))}

    def run(name: str, shift: float) -> Receipt:
        columns = {
            metric: (np.clip(random.random(40) / 2 + shift, 0, 1)).round(10).tolist() for metric in ("nDCG@10", "R@10")
        }
        return a_run(columns, name, strata=strata)

    found = compare([run("old", 0.0), run("b", 0.2), run("c", 0.1)])
    rows = found.canonical["results"]
    for overall, adjust in ((True, holm), (False, benjamini_hochberg)):
        family = [r for r in rows if (r["scope"] == "all") is overall]
        assert len(family) == (4 if overall else 8)
        expected = adjust([r["p"] for r in family])
        assert [r["p_adjusted"] for r in family] == pytest.approx(expected.tolist())
    assert any(r["p_adjusted"] > r["p"] for r in rows)


def test_fewer_declared_metrics_adjust_less_away() -> None:
    random = np.random.Generator(np.random.PCG64(2))
    columns = [{m: random.random(30).round(10).tolist() for m in ("nDCG@10", "R@10", "P@5")} for _ in range(2)]
    runs = [a_run(columns[0], "old"), a_run(columns[1])]
    alone = row(compare(runs, ["nDCG@10"]))
    among = row(compare(runs))
    assert alone["p"] == among["p"]
    assert alone["p_adjusted"] <= among["p_adjusted"]
    assert alone["p_adjusted"] == alone["p"]


def test_metrics_are_read_in_any_spelling_and_stand_in_a_fixed_order() -> None:
    columns = {"R@10": [1.0, 0.0], "ER@400tok": [1.0, 0.5], "nDCG@10": [0.5, 0.5]}
    runs = [a_run(columns, "old"), a_run(dict(reversed(columns.items())))]
    assert compare(runs).canonical["metrics"] == ["nDCG@10", "R@10", "ER@400tok"]
    assert compare(runs, ["ndcg@10", "recall@10"]).canonical["metrics"] == ["nDCG@10", "R@10"]


def test_queries_without_a_value_are_left_out_on_both_sides() -> None:
    old, new = a_run({"ER@400tok": [None, 0.5, 0.5, None]}, "old"), a_run({"ER@400tok": [None, 0.6, 0.5, None]})
    found = row(compare([old, new]), metric="ER@400tok")
    assert found["n"] == 2
    assert found["difference"] == pytest.approx(0.05)
    other = a_run({"ER@400tok": [0.9, 0.6, 0.5, None]})
    with pytest.raises(ReceiptError, match="for different queries"):
        compare([old, other])


def test_a_stratum_without_values_is_left_out() -> None:
    columns = {"ER@400tok": [None, None, 0.5, 0.5]}
    found = compare([a_run(columns, "old", strata=STRATA), a_run(columns, strata=STRATA)])
    assert [r["scope"] for r in found.canonical["results"]] == ["all", "type=b"]


def test_a_single_query_has_no_spread_and_no_power() -> None:
    found = row(compare([a_run([0.1], "old"), a_run([0.9])]))
    assert found["p"] == 1.0
    assert found["d_z"] is None
    assert found["power"] is None


def test_a_run_against_itself_shows_nothing() -> None:
    found = compare([BASE, BASE])
    assert [r["name"] for r in found.canonical["systems"]] == ["old (1)", "old (2)"]
    assert row(found, system="old (2)")["p_adjusted"] == 1.0


def test_latency_is_divided_only_within_one_run() -> None:
    quick, slow = a_run(name="old", p95=10.0), a_run(p95=15.0)
    assert compare([quick, slow]).measured["latency"][0]["ratio"] == {"p50": 1.5, "p95": 1.5, "p99": 1.5}
    for other, why in (
        (a_run(p95=15.0, run="two"), "not comparable (different runs)"),
        (a_run(p95=15.0, run=""), "not comparable (not timed)"),
        (a_run(p95=None), "not comparable (no time of total p50)"),
        (a_run(p95=math.inf), "not comparable (no time of total p50)"),
    ):
        latency = compare([quick, other]).measured["latency"][0]
        assert latency == {"system": "new", "ratio": {}, "why": why}
    assert compare([a_run(name="old", p95=0.0), slow]).measured["latency"][0]["ratio"] == {}


def test_the_clock_is_no_part_of_the_digest() -> None:
    assert compare([BASE, NEW]).digest == compare([BASE, a_run([0.2, 0.4, 0.3, 0.3], strata=STRATA, p95=99.0)]).digest


def test_one_score_changes_the_digest() -> None:
    other = a_run([0.2, 0.4, 0.3, 0.3000000001], strata=STRATA)
    assert compare([BASE, NEW]).digest != compare([BASE, other]).digest


def test_a_comparison_is_written_and_read(tmp_path: Path) -> None:
    found = compare([BASE, NEW])
    write(found, tmp_path / "c.json")
    assert read(tmp_path / "c.json").digest == found.digest
    assert b"NaN" not in canonical_bytes(found.canonical)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (a_run(dataset={"name": "else"}), "dataset's name: toy and else"),
        (a_run(dataset={"split": "dev"}), "dataset's split: test and dev"),
        (a_run(dataset={"digest": "e" * 64}), "documents, topics or judgements differ"),
        (a_run([0.1] * 3), "differ in their queries: 1 stand in only one of them, first 'q003'"),
        (a_run(queries=["q003", "q001", "q002", "q000"]), "another order"),
        (a_run(strata={"type=a": [0]}), "differ in their strata"),
        (unmeasured("no model"), "new was not measured: no model"),
        (a_run({"R@10": [1.0] * 4}), "share no metric"),
    ],
    ids=["name", "split", "digest", "queries", "order", "strata", "unmeasured", "metrics"],
)
def test_what_does_not_fit_is_named_with_a_cure(other: Receipt, message: str) -> None:
    with pytest.raises(ReceiptError, match=message) as caught:
        compare([a_run(name="old"), other])
    assert caught.value.cure
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": {"nDCG@10": [0.1, 0.2]}}, "one score for each of 4 queries"),
        ({"scores": {"nDCG@10": [0.1, 0.2, 0.3, "0.4"]}}, "no finite number"),
        ({"scores": {"nDCG@10": [0.1, 0.2, 0.3, math.inf]}}, "no finite number"),
        ({"scores": {"nDCG@10": [0.1, 0.2, 0.3, 10**400]}}, "no finite number"),
        ({"scores": {"nDCG@10": [0.1, 0.2, 0.3, True]}}, "no finite number"),
        ({"scores": []}, "has no scores"),
        ({"queries": ["q", "q", "r", "s"]}, "one of them twice"),
        ({"queries": "q"}, "no list of names"),
        ({"strata": {"type=a": [4]}}, "not there"),
        ({"strata": {"type=a": [-1]}}, "not there"),
        ({"strata": {"type=a": [0, 0]}}, "twice"),
        ({"strata": {"type=a": []}}, "empty"),
        ({"strata": {"all": [0]}}, "misnamed"),
        ({"status": "great"}, "neither measured nor not_measured"),
        ({"system": "new"}, "has no system"),
        ({"system": {"name": "new"}}, "has no digest"),
        ({"dataset": {}}, "has no name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_receipt_from_anywhere_is_not_believed(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ReceiptError, match=message):
        compare([a_run(name="old"), Receipt("run", {**a_run().canonical, **changes})])


def test_unknown_names_name_the_nearest() -> None:
    with pytest.raises(ReceiptError, match="type=c") as scope:
        compare([BASE, NEW], scopes=["type=c"])
    assert "did you mean 'type=" in scope.value.cure
    with pytest.raises(ReceiptError, match="was not scored by R@10"):
        compare([BASE, NEW], ["R@10"])
    with pytest.raises(MetricError):
        compare([BASE, NEW], ["nDGC@10"])


def test_one_run_is_no_comparison() -> None:
    with pytest.raises(ReceiptError, match="two runs"):
        compare([BASE])
    with pytest.raises(ReceiptError, match="kind 'gate'"):
        compare([BASE, Receipt("gate", {})])


scores = st.lists(st.floats(0.0, 1.0).map(lambda value: round(value, 10)), min_size=5, max_size=5)


@given(scores, scores)
def test_swapping_the_sides_turns_every_sign(a: list[float], b: list[float]) -> None:
    there = row(compare([a_run(a, "x"), a_run(b, "new")]))
    back = row(compare([a_run(b, "x"), a_run(a, "new")]))
    assert there["difference"] == pytest.approx(-back["difference"], abs=1e-10)
    assert there["p"] == back["p"]
    assert (there["wins"], there["losses"]) == (back["losses"], back["wins"])
    assert there["p_adjusted"] >= there["p"]


def test_groups_widen_the_interval_of_queries_that_move_together() -> None:
    """Two conversations, all of whose queries win or lose together: forty queries are no more than two groups."""
    base = a_run([0.5] * 40, "old", strata={"talk=a": list(range(20)), "talk=b": list(range(20, 40))})
    moved = a_run([0.7] * 20 + [0.5] * 20, strata={"talk=a": list(range(20)), "talk=b": list(range(20, 40))})
    plain = compare([base, moved], ["nDCG@10"], ["all"]).canonical
    grouped = compare([base, moved], ["nDCG@10"], ["all"], "talk").canonical
    (one,), (two,) = plain["results"], grouped["results"]
    assert (two["ci_low"], two["ci_high"]) == (0.0, 0.2)  # both groups drawn from one side, or both from the other
    assert 0.0 < one["ci_low"] < one["ci_high"] < 0.2
    assert (one["p"], one["difference"]) == (two["p"], two["difference"])
    assert grouped["tests"]["groups"] == "talk"
    with pytest.raises(ReceiptError, match="did you mean 'talk'"):
        compare([base, moved], None, None, "tlak")
