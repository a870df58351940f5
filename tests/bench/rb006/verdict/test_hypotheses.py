"""The verdict: every threshold of the design, and how lines become GO, NO-GO, KILL or NOT MEASURED."""

from __future__ import annotations

import pytest

from assay.bench.gates.rules import RuleError
from assay.bench.rb006.verdict.hypotheses import load_thresholds, parse_thresholds

GOOD: dict[str, float | None] = {
    "race_minus_flat_400": 0.08,
    "race_400_minus_flat_pool": -0.02,
    "budget_at_parity": 400,
    "race_800_minus_flat_pool": 0.0,
    "race_gain": 0.03,
    "race_strata_won": 2,
    "race_minus_flat_400_at_50k": 0.0,
    "race_minus_flat_400_at_200k": 0.0,
    "epsilon_single_branch_max": 0.02,
    "epsilon_cross_branch_max": 0.03,
    "survival_rho": 0.6,
    "cross_link_drop": 0.10,
    "epsilon_level_1_dev_slice": 0.05,
    "impossible_precision": 0.80,
    "impossible_recall": 0.70,
    "listing_precision": 0.80,
    "listing_recall": 0.70,
    "out_of_scope_precision": 0.80,
    "out_of_scope_recall": 0.70,
}


def _outcomes(**changed: float | None) -> dict[str, str]:
    return {v.hypothesis.name: v.outcome for v in load_thresholds().judge({**GOOD, **changed})}


def test_the_thresholds_themselves_are_enough() -> None:
    assert _outcomes() == dict.fromkeys(("H1a", "H1b", "H1c", "impossible"), "GO")


@pytest.mark.parametrize(
    ("name", "value", "hypothesis", "outcome"),
    [
        ("race_minus_flat_400", 0.079, "H1a", "NO-GO"),
        ("race_400_minus_flat_pool", -0.021, "H1a", "NO-GO"),
        ("budget_at_parity", 450, "H1a", "NO-GO"),
        ("race_minus_flat_400", 0.0, "H1a", "NO-GO"),  # one kill line alone does not kill H1a
        ("race_gain", 0.029, "H1b", "NO-GO"),
        ("race_gain", 0.01, "H1b", "KILL"),
        ("race_strata_won", 1, "H1b", "NO-GO"),
        ("race_minus_flat_400_at_50k", -0.001, "H1b", "NO-GO"),
        ("race_minus_flat_400_at_200k", -0.001, "H1b", "NO-GO"),
        ("epsilon_single_branch_max", 0.021, "H1c", "NO-GO"),
        ("epsilon_cross_branch_max", 0.031, "H1c", "NO-GO"),
        ("survival_rho", 0.59, "H1c", "NO-GO"),
        ("survival_rho", 0.29, "H1c", "KILL"),
        ("cross_link_drop", 0.09, "H1c", "NO-GO"),
        ("cross_link_drop", 0.029, "H1c", "KILL"),
        ("epsilon_level_1_dev_slice", 0.051, "H1c", "KILL"),
        ("impossible_precision", 0.79, "impossible", "NO-GO"),
        ("impossible_precision", 0.64, "impossible", "KILL"),
        ("impossible_recall", 0.69, "impossible", "NO-GO"),
        ("impossible_recall", 0.49, "impossible", "KILL"),
        ("listing_precision", 0.79, "impossible", "NO-GO"),
        ("listing_recall", 0.69, "impossible", "NO-GO"),
        ("out_of_scope_precision", 0.79, "impossible", "NO-GO"),
        ("out_of_scope_recall", 0.69, "impossible", "NO-GO"),
    ],
)
def test_each_threshold_decides(name: str, value: float, hypothesis: str, outcome: str) -> None:
    outcomes = _outcomes(**{name: value})
    assert outcomes.pop(hypothesis) == outcome
    assert set(outcomes.values()) == {"GO"}


def test_h1a_is_killed_by_both_lines_together() -> None:
    assert _outcomes(race_minus_flat_400=0.029, race_800_minus_flat_pool=-0.021)["H1a"] == "KILL"


def test_what_is_not_measured_is_not_a_pass() -> None:
    assert _outcomes(race_minus_flat_400_at_200k=None)["H1b"] == "NOT MEASURED"
    assert _outcomes(race_minus_flat_400_at_200k=float("nan"))["H1b"] == "NOT MEASURED"
    assert _outcomes(race_minus_flat_400_at_200k=None, race_strata_won=0)["H1b"] == "NO-GO"
    assert _outcomes(race_minus_flat_400_at_200k=None, race_gain=0.0)["H1b"] == "KILL"
    lines = load_thresholds().judge({})[0].to_json()
    assert {line["verdict"] for line in lines["go"]} == {"not_measured"}
    assert lines["outcome"] == "NOT MEASURED"


def test_the_digest_covers_what_decides() -> None:
    text = '[[hypothesis]]\nname = "a"\n[[hypothesis.go]]\nvalue = "x"\nop = ">="\nthreshold = 1\n'
    digest = parse_thresholds(text).digest
    assert parse_thresholds(text + 'says = "in words"\n').digest == digest
    for change in (("1\n", "2\n"), (">=", ">"), ('"x"', '"y"')):
        assert parse_thresholds(text.replace(*change)).digest != digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[hypothesis]\n", "not TOML"),
        ("gates = 1\n", "unknown key 'gates'"),
        ('[[hypothesis]]\nname = "a"\n', "lacks go"),
        ('[[hypothesis]]\nname = "a"\ngo = []\n', "lacks go lines"),
        ('[[hypothesis]]\nname = "a"\nkill_when = "some"\ngo = [{value="x", op=">=", threshold=1}]\n', "kill_when"),
        ('[[hypothesis]]\nname = "a"\ngo = [{value="x", op="=>", threshold=1}]\n', "operator '=>'"),
        ('[[hypothesis]]\nname = "a"\ngo = [{value="x", op=">="}]\n', "lacks threshold"),
        ('[[hypothesis]]\nname = "a"\ngo = [{value="x", op=">=", threshold="1"}]\n', "threshold '1'"),
        ('[[hypothesis]]\nname = "a"\ngo = [{value="x", op=">=", threshold=nan}]\n', "threshold nan"),
        ('[[hypothesis]]\nname = "a"\ngo = [{value="x", op=">=", threshold=1, min=2}]\n', "unknown key 'min'"),
    ],
)
def test_a_file_that_cannot_judge_is_refused(text: str, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        parse_thresholds(text)
