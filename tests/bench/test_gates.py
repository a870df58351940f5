"""Gates: every operator at equality, what was not measured never passes, rules that cannot be used as written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.bench.gates.rules import OPERATORS, RuleError, RuleSet, list_shipped_rules, load_rules, parse_rules
from assay.bench.gates.verdicts import EXIT_CODES, judge_receipt, worst_verdict
from assay.bench.metrics import MetricError
from assay.bench.receipt import Receipt, ReceiptError, read, write
from assay.bench.stats import benjamini_hochberg, holm, sign_flip
from tests.bench.run_receipts import STRATA, a_run, unmeasured

ROOT = Path(__file__).parents[2]


def rules(*lines: str) -> RuleSet:
    return parse_rules("[[gate]]\n" + "\n".join(lines))


def absolute(op: str, threshold: float, scope: str = "all", metric: str = "nDCG@10") -> RuleSet:
    return rules(f'metric = "{metric}"', f'op = "{op}"', f"threshold = {threshold}", f'scope = "{scope}"')


def relative(op: str, threshold: float, *more: str, metric: str = "nDCG@10") -> RuleSet:
    return rules(f'metric = "{metric}"', f'op = "{op}"', f"threshold = {threshold}", 'against = "baseline"', *more)


def verdict(receipt: Receipt) -> str:
    return str(receipt.measured["verdict"])


def gate(receipt: Receipt, place: int = 0) -> dict[str, object]:
    return dict([*receipt.canonical["gates"], *receipt.measured["gates"]][place])


@pytest.mark.parametrize(
    ("op", "below", "equal", "above"),
    [
        (">=", "fail", "pass", "pass"),
        (">", "fail", "fail", "pass"),
        ("<=", "pass", "pass", "fail"),
        ("<", "pass", "fail", "fail"),
    ],
)
def test_every_operator_at_its_threshold(op: str, below: str, equal: str, above: str) -> None:
    """A value, a difference and a ratio that stand just below, at and just above the threshold."""
    assert set(OPERATORS) == {">=", ">", "<=", "<"}
    for value, expected in ((0.2999999999, below), (0.3, equal), (0.3000000001, above)):
        run = a_run([value] * 4)
        found = judge_receipt(run, absolute(op, 0.3))
        assert verdict(found) == expected
        assert gate(found)["observed"] == value
        # .3 − .2 is not .1 in floats; receipts have ten decimals
        assert verdict(judge_receipt(run, relative(op, 0.1), a_run([0.2] * 4, "old"))) == expected
    for ms, expected in ((14.999, below), (15.0, equal), (15.001, above)):
        found = judge_receipt(a_run(p95=ms), relative(op, 1.5, metric="latency.p95"), a_run(name="old", p95=10.0))
        assert verdict(found) == expected
        assert verdict(judge_receipt(a_run(p95=ms), absolute(op, 15.0, metric="latency.p95"))) == expected


def test_the_observed_value_by_hand() -> None:
    run, base = a_run([0.2, 0.4, 0.3, 0.3], strata=STRATA), a_run([0.1, 0.2, 0.3, 0.4], "old", strata=STRATA)
    assert gate(judge_receipt(run, absolute(">=", 0.3)))["observed"] == 0.3
    assert gate(judge_receipt(run, absolute(">=", 0.3, "type=b")))["observed"] == 0.3
    found = gate(judge_receipt(run, relative(">=", 0.05), base))
    assert found["observed"] == 0.05
    assert found["why"] == "nDCG@10 difference +0.0500 is >= 0.05"
    assert found["verdict"] == "pass"


def test_the_whole_is_the_worst_of_its_gates() -> None:
    assert worst_verdict(["pass", "not_measured", "fail"]) == "fail"
    assert worst_verdict(["pass", "not_measured"]) == "not_measured"
    assert worst_verdict(["pass", "pass"]) == "pass"
    assert worst_verdict([]) == "not_measured"
    assert EXIT_CODES == {"pass": 0, "fail": 1, "not_measured": 2}
    text = """
[[gate]]
metric = "nDCG@10"
op = ">="
threshold = 0.4
[[gate]]
metric = "R@100"
op = ">="
threshold = 0.1
[[gate]]
name = "third"
metric = "nDCG@10"
op = ">="
threshold = {}
"""
    assert verdict(judge_receipt(a_run(), parse_rules(text.format(0.9)))) == "fail"
    assert verdict(judge_receipt(a_run(), parse_rules(text.format(0.4)))) == "not_measured"
    both = a_run({"nDCG@10": [0.5], "R@100": [1.0]})
    assert verdict(judge_receipt(both, parse_rules(text.format(0.4)))) == "pass"


STRICT = relative(">=", -1.0)


@pytest.mark.parametrize(
    ("run", "base", "rules", "why"),
    [
        (unmeasured("no model"), None, absolute(">=", 0.0), "new was not measured: no model"),
        (unmeasured("no model"), a_run(name="old"), STRICT, "new was not measured: no model"),
        (a_run(), unmeasured("no model", "old"), STRICT, "old was not measured: no model"),
        (a_run(), None, STRICT, "no baseline was given"),
        (a_run(), None, absolute(">=", 0.0, metric="R@10"), "new has no R@10; known: nDCG@10"),
        (a_run(), a_run({"R@10": [1.0] * 4}, "old"), STRICT, "old has no nDCG@10"),
        (a_run(strata=STRATA), None, absolute(">=", 0.0, "type=c"), "no stratum 'type=c'; did you mean 'type="),
        (a_run(), None, rules('metric = "nDCG@10"', 'op = ">="', "threshold = 0", "min_n = 5"), "4 queries"),
        (a_run({"ER@400tok": [None] * 4}), None, absolute(">=", 0.0, metric="ER@400"), "0 queries"),
        (a_run(run="two"), a_run(name="old"), relative("<=", 9.0, metric="latency.p95"), "different runs"),
        (a_run(run=""), a_run(name="old", run=""), relative("<=", 9.0, metric="latency.p95"), "not timed"),
        (a_run(), None, relative("<=", 9.0, metric="latency.p95"), "no baseline was given"),
        (a_run(p95=None), None, absolute("<=", 9.0, metric="latency.p95"), "no time of total p95"),
        (a_run(), None, absolute("<=", 9.0, metric="latency.dense.p95"), "no time of dense p95"),
        (unmeasured(), None, absolute("<=", 99.0, metric="latency.p95"), "was not measured"),
        (a_run([0.5]), a_run([0.1], "old"), relative(">=", 0.0, "min_effect = 0.1"), "no spread"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_was_not_measured_never_passes(run: Receipt, base: Receipt | None, rules: RuleSet, why: str) -> None:
    found = judge_receipt(run, rules, base)
    assert verdict(found) == "not_measured"
    assert why in str(gate(found)["why"])
    assert gate(found)["observed"] is None


def test_a_maximum_p_stops_a_pass_by_chance() -> None:
    base, new = [0.1, 0.2, 0.3, 0.4], [0.2, 0.4, 0.3, 0.3]  # p = 6/8
    for most, expected in ((0.75, "pass"), (0.7499, "fail")):
        found = judge_receipt(a_run(new), relative(">", 0.0, f"max_p = {most}"), a_run(base, "old"))
        assert verdict(found) == expected
    assert "p 0.7500 > 0.7499" in str(gate(found)["why"])


def test_a_minimum_effect_is_in_standard_deviations() -> None:
    base, new = [0.1, 0.2, 0.3, 0.4], [0.2, 0.4, 0.3, 0.3]  # d_z = .05 / .12909944… = .38729833…
    for least, expected in ((0.387, "pass"), (0.388, "fail")):
        found = judge_receipt(a_run(new), relative(">", 0.0, f"min_effect = {least}"), a_run(base, "old"))
        assert verdict(found) == expected
    # a rule that wants less looks in the other direction
    assert verdict(judge_receipt(a_run(base), relative("<", 0.0, "min_effect = 0.387"), a_run(new, "old"))) == "pass"
    # differences that are all alike have no spread: any effect is reached, but none without a difference
    assert verdict(judge_receipt(a_run([0.6] * 4), relative(">", 0.0, "min_effect = 9"), a_run(name="old"))) == "pass"
    assert verdict(judge_receipt(a_run(), relative(">=", 0.0, "min_effect = 0.1"), a_run(name="old"))) == "fail"
    assert verdict(judge_receipt(a_run([0.4] * 4), relative(">=", -1.0, "min_effect = 0"), a_run(name="old"))) == "fail"


def test_a_miss_within_noise_is_forgiven_when_the_rule_says_so() -> None:
    base, new = [0.2, 0.4, 0.3, 0.3], [0.1, 0.2, 0.3, 0.4]  # −.05, p = .75
    assert verdict(judge_receipt(a_run(new), relative(">=", -0.02), a_run(base, "old"))) == "fail"
    forgiving = judge_receipt(a_run(new), relative(">=", -0.02, "fail_p = 0.05"), a_run(base, "old"))
    assert verdict(forgiving) == "pass"
    assert str(gate(forgiving)["why"]).endswith("p 0.7500 > 0.05: noise")
    assert verdict(judge_receipt(a_run(new), relative(">=", -0.02, "fail_p = 0.75"), a_run(base, "old"))) == "fail"


def test_each_stratum_is_judged_alone_and_the_worst_decides() -> None:
    rules = relative(">=", 0.0, 'scope = "each stratum"')
    run, base = a_run([0.2, 0.4, 0.3, 0.3], strata=STRATA), a_run([0.1, 0.2, 0.3, 0.4], "old", strata=STRATA)
    found = judge_receipt(run, rules, base)
    assert verdict(found) == "fail"
    one = gate(found)
    assert one["observed"] == -0.05
    assert [(f["scope"], f["verdict"]) for f in one["findings"]] == [("type=a", "pass"), ("type=b", "fail")]
    few = relative(">=", -1.0, 'scope = "each stratum"', "min_n = 2")
    lone = {"type=a": [0, 1, 2], "type=b": [3]}
    found = judge_receipt(a_run(strata=lone), few, a_run(name="old", strata=lone))
    assert [f["verdict"] for f in gate(found)["findings"]] == ["pass", "not_measured"]
    assert verdict(found) == "not_measured"


def test_a_dataset_without_strata_is_one_stratum() -> None:
    found = judge_receipt(a_run([0.4] * 4), relative(">=", 0.0, 'scope = "each stratum"'), a_run(name="old"))
    assert [f["scope"] for f in gate(found)["findings"]] == ["all"]
    assert verdict(found) == "fail"


def test_p_is_adjusted_within_claims_and_within_alarms() -> None:
    random = np.random.Generator(np.random.PCG64(3))
    strata = {"type=a": list(range(20)), "type=b": list(range(20, 50))}
    columns = [{m: random.random(50).round(10).tolist() for m in ("nDCG@10", "R@10", "P@5")} for _ in range(2)]
    base, run = a_run(columns[0], "old", strata=strata), a_run(columns[1], strata=strata)
    text = """
[[gate]]
metric = "nDCG@10"
against = "baseline"
op = ">="
threshold = -1.0
max_p = 1.0
[[gate]]
metric = "R@10"
against = "baseline"
op = ">="
threshold = -1.0
max_p = 1.0
[[gate]]
metric = "P@5"
against = "baseline"
op = ">="
threshold = -1.0
[[gate]]
metric = "nDCG@10"
scope = "each stratum"
against = "baseline"
op = ">="
threshold = -1.0
max_p = 1.0
[[gate]]
name = "alarm"
metric = "R@10"
against = "baseline"
op = ">="
threshold = 1.0
fail_p = 0.0
"""
    reasons = [
        str(f["why"]) for g in judge_receipt(run, parse_rules(text), base).canonical["gates"] for f in g["findings"]
    ]
    change = {m: np.array(columns[1][m]) - np.array(columns[0][m]) for m in columns[0]}
    first = holm([sign_flip(change["nDCG@10"]), sign_flip(change["R@10"])])
    strata_ps = benjamini_hochberg([sign_flip(change["nDCG@10"][:20]), sign_flip(change["nDCG@10"][20:])])
    expected = [*first.tolist(), None, *strata_ps.tolist(), sign_flip(change["R@10"])]
    for why, p in zip(reasons, expected, strict=True):
        assert ("p " in why) is (p is not None)
        assert p is None or f"p {p:.4f} " in why
    assert first[1] > expected[-1], "an alarm adjusts no claim, and a claim no alarm"


def test_latency_stands_in_the_measured_half() -> None:
    text = """
[[gate]]
metric = "nDCG@10"
op = ">="
threshold = 0.5
[[gate]]
metric = "latency.p95"
against = "baseline"
op = "<="
threshold = 1.5
"""
    base = a_run(name="old")
    quick, slow = (
        judge_receipt(a_run(), parse_rules(text), base),
        judge_receipt(a_run(p95=99.0), parse_rules(text), base),
    )
    assert (verdict(quick), verdict(slow)) == ("pass", "fail")
    assert quick.digest == slow.digest
    assert slow.canonical["verdict"] == "pass"
    assert [g["observed"] for g in slow.measured["gates"]] == [9.9]


def test_receipts_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ReceiptError, match="split"):
        judge_receipt(a_run(), STRICT, a_run(name="old", dataset={"split": "dev"}))
    with pytest.raises(ReceiptError, match="queries"):
        judge_receipt(a_run(), STRICT, a_run([0.1] * 5, "old"))
    with pytest.raises(ReceiptError, match="kind"):
        judge_receipt(Receipt("comparison", {}), STRICT)


def test_the_verdicts_are_a_receipt(tmp_path: Path) -> None:
    found = judge_receipt(a_run(), STRICT, a_run(name="old"))
    write(found, tmp_path / "gate.json")
    assert read(tmp_path / "gate.json").digest == found.digest
    assert found.canonical["rules"]["digest"] == STRICT.digest
    assert found.digest == judge_receipt(a_run(), STRICT, a_run(name="old")).digest
    assert found.digest != judge_receipt(a_run([0.5, 0.5, 0.5, 0.6]), STRICT, a_run(name="old")).digest
    json.dumps(found.canonical, allow_nan=False)


def test_what_rules_demand_is_in_their_digest_and_how_they_are_called_is_not() -> None:
    assert relative(">=", 0.1).digest == relative(">=", 0.1, 'name = "x"').digest
    texts = [relative(">=", 0.1), relative(">", 0.1), relative(">=", 0.2), relative(">=", 0.1, "max_p = 0.05")]
    texts += [relative(">=", 0.1, "min_n = 2"), absolute(">=", 0.1), relative(">=", 0.1, metric="R@10")]
    assert len({one.digest for one in texts}) == len(texts)


GOOD = 'metric = "nDCG@10"\nop = ">="\nthreshold = 0.5\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing could fail"),
        ("gate = []", "nothing could fail"),
        ("gate = 3", "list of tables"),
        ("[gate]\n" + GOOD, "list of tables"),
        ("[[gate]\n", "not valid TOML"),
        ("abuot = 'x'\n[[gate]]\n" + GOOD, "no setting 'abuot'.*did you mean 'about'"),
        ("[[gate]]\n" + GOOD + "treshold = 1", "no setting 'treshold'.*did you mean 'threshold'"),
        ("[[gate]]\nop = '>='\nthreshold = 1", "which metric"),
        ("[[gate]]\nmetric = 3\nop = '>='\nthreshold = 1", "type str"),
        ("[[gate]]\nmetric = 'latency.p90'\nop = '>='\nthreshold = 1", "latency.p90.*latency.p95"),
        ("[[gate]]\nmetric = 'nDCG@10'\nop = '=='\nthreshold = 1", "'==' is no operator.*>= > <= <"),
        ("[[gate]]\nmetric = 'nDCG@10'\nop = '>='", "no threshold"),
        ("[[gate]]\nmetric = 'nDCG@10'\nop = '>='\nthreshold = nan", "no number"),
        ("[[gate]]\nmetric = 'nDCG@10'\nop = '>='\nthreshold = inf", "no number"),
        ("[[gate]]\nmetric = 'nDCG@10'\nop = '>='\nthreshold = '1'", "no number"),
        ("[[gate]]\nmetric = 'nDCG@10'\nop = '>='\nthreshold = true", "no number"),
        (f"[[gate]]\nmetric = 'nDCG@10'\nop = '>='\nthreshold = 1{'0' * 400}", "no number"),
        ("[[gate]]\n" + GOOD + "against = 'bm25'", "against = 'bm25'"),
        ("[[gate]]\n" + GOOD + "max_p = 0.05", "max_p has no effect"),
        ("[[gate]]\n" + GOOD + "min_effect = 0.1", "min_effect has no effect"),
        ("[[gate]]\n" + GOOD + "against = 'baseline'\nmax_p = 1.5", "out of range"),
        ("[[gate]]\n" + GOOD + "against = 'baseline'\nmin_effect = -1", "out of range"),
        ("[[gate]]\n" + GOOD + "against = 'baseline'\nmax_p = 0.1\nfail_p = 0.1", "fail_p forgives"),
        ("[[gate]]\n" + GOOD + "min_n = 0", "min_n = 0"),
        ("[[gate]]\n" + GOOD + "min_n = 1.5", "type int"),
        ("[[gate]]\nmetric = 'latency.p95'\nop = '<='\nthreshold = 1\nscope = 'type=a'", "not measured by stratum"),
        ("[[gate]]\nmetric = 'latency.p95'\nop = '<='\nthreshold = 1\nmin_n = 3", "no effect on latency"),
        ("[[gate]]\nmetric = 'latency.p95'\nagainst = 'baseline'\nop = '<='\nthreshold = 1\nmax_p = 0.1", "no effect"),
        (("[[gate]]\n" + GOOD) * 2, "two gates are called 'nDCG@10'"),
    ],
    ids=lambda value: "" if "\n" in value or "gate" in value else value,
)
def test_rules_that_cannot_be_used_say_why(text: str, message: str) -> None:
    with pytest.raises(RuleError, match=f"(?s){message}") as caught:
        parse_rules(text)
    assert caught.value.cure
    assert caught.value.exit_code == 2


def test_a_misspelt_metric_names_the_nearest() -> None:
    with pytest.raises(MetricError, match="nDGC@10") as caught:
        absolute(">=", 0.5, metric="nDGC@10")
    assert "did you mean 'nDCG'" in caught.value.cure
    assert absolute(">=", 0.5, metric="ndcg@10").rules[0].metric == "nDCG@10"


def test_shipped_rules_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    assert {"promote", "no-regression"} <= set(list_shipped_rules())
    for name in list_shipped_rules():
        assert load_rules(name).about
        assert load_rules(str(ROOT / "assay" / "bench" / "gates" / f"{name}.toml")) == load_rules(name)
    with pytest.raises(RuleError, match="no rules called 'promot'") as caught:
        load_rules("promot")
    assert "did you mean 'promote'" in caught.value.cure
    with pytest.raises(RuleError, match="cannot be read"):
        load_rules(str(tmp_path / "absent.toml"))
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(RuleError, match="cannot be read"):
        load_rules(str(tmp_path / "bad.toml"))


def test_promotion_takes_a_real_gain_and_nothing_less() -> None:
    random = np.random.Generator(np.random.PCG64(7))
    old = random.uniform(0.2, 0.6, 60).round(10)
    strata = {"type=a": list(range(20)), "type=b": list(range(20, 60))}

    def run(name: str, scores: np.ndarray, p95: float = 10.0) -> Receipt:
        return a_run({"nDCG@10": scores.round(10).tolist(), "R@100": [1.0] * 60}, name, strata=strata, p95=p95)

    base, promote = run("old", old), load_rules("promote")
    assert verdict(judge_receipt(run("new", old + 0.05), promote, base)) == "pass"
    assert verdict(judge_receipt(run("new", old), promote, base)) == "fail"
    assert verdict(judge_receipt(run("new", old + 0.05, p95=16.0), promote, base)) == "fail"
    mixed = old + np.where(np.arange(60) < 20, -0.05, 0.15)
    assert verdict(judge_receipt(run("new", mixed), promote, base)) == "fail"
    assert verdict(judge_receipt(run("new", old + 0.05), promote)) == "not_measured"


def test_the_gate_of_a_rerank_stage_wants_a_gain_that_nobody_pays_for_within_the_budget() -> None:
    random = np.random.Generator(np.random.PCG64(8))
    old = random.uniform(0.2, 0.6, 60).round(10)
    strata = {"type=a": list(range(20)), "type=b": list(range(20, 60))}

    def run(name: str, scores: np.ndarray, p95: float = 150.0) -> Receipt:
        return a_run({"nDCG@10": scores.round(10).tolist()}, name, strata=strata, p95=p95)

    base, rules = run("fused", old), load_rules("rerank")
    assert verdict(judge_receipt(run("reranked", old + 0.05), rules, base)) == "pass"
    assert verdict(judge_receipt(run("reranked", old), rules, base)) == "fail", "no gain"
    assert verdict(judge_receipt(run("reranked", old + 0.05, p95=201.0), rules, base)) == "fail", "too slow"
    mixed = old + np.where(np.arange(60) < 20, -0.05, 0.15)
    assert verdict(judge_receipt(run("reranked", mixed), rules, base)) == "fail", "one stratum pays for the other"
