"""The measures of RB-006 beyond the lab's metrics, by hand-computed values and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.rb006.measures.curves import area_under_budget, budget_at_parity
from assay.bench.rb006.measures.detection import DetectionDecision, detect, detect_by_kind, expected_utility
from assay.bench.rb006.measures.race import compare_race, compare_race_by_stratum, strata_won
from assay.bench.rb006.measures.survival import correlate_survival, mean_ranks, routing_survival, spearman
from assay.bench.stats import StatisticsError

# -- curves


def test_the_area_by_hand() -> None:
    curve = {200: 0.4, 400: 0.6, 800: 0.8, 1200: 0.8}
    # 200·.2 + 200·.5 + 400·.7 + 400·.8 = 40 + 100 + 280 + 320 = 740
    assert area_under_budget(curve) == pytest.approx(740 / 1200)
    assert area_under_budget(dict.fromkeys((200, 400, 800, 1200), 1.0)) == pytest.approx(1100 / 1200)
    with pytest.raises(StatisticsError, match="A@800"):
        area_under_budget({200: 0.1, 400: 0.2, 1200: 0.3})


def test_parity_is_the_smallest_budget_from_which_the_level_is_kept() -> None:
    curve = {50: 0.1, 100: 0.6, 150: 0.4, 200: 0.58, 250: 0.7}
    assert budget_at_parity(curve, 0.6) == 200  # .58 ≥ .6 - .02; the lucky 100 does not count
    assert budget_at_parity(curve, 0.6, tolerance=0.0) == 250
    assert budget_at_parity(curve, 0.9) is None
    assert budget_at_parity(curve, 0.1) == 50
    with pytest.raises(StatisticsError):
        budget_at_parity({}, 0.5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 1))
def test_every_budget_from_parity_on_reaches_the_level(values: list[float], level: float) -> None:
    curve = {50 * (place + 1): value for place, value in enumerate(values)}
    parity = budget_at_parity(curve, level)
    reached = {budget for budget, value in curve.items() if value >= level - 0.02 - 1e-12}
    if parity is None:
        assert max(curve) not in reached
    else:
        assert {budget for budget in curve if budget >= parity} <= reached
        assert parity == min(curve) or parity - 50 not in reached


# -- race


def test_a_race_by_hand() -> None:
    beam = np.array([1.0, 1.0, 0.0, 0.0])
    collapsed = np.array([0.0, 0.0, 1.0, 0.0])
    race = np.array([1.0, 0.0, 1.0, 0.0])
    result = compare_race(race, beam, collapsed)
    assert (result.better, result.beam, result.collapsed, result.race) == ("beam", 0.5, 0.25, 0.5)
    assert result.gain == 0.0
    assert result.regret == 0.25  # the second query: beam had it
    assert result.p == 1.0


def test_the_better_path_is_the_better_one_in_the_stratum() -> None:
    beam, collapsed = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 0.0])
    race = np.array([1.0, 1.0, 1.0, 0.0])
    strata = {"a": np.array([0, 1]), "b": np.array([2, 3]), "mixed": np.array([1, 2]), "none": np.array([], np.int64)}
    results = compare_race_by_stratum(race, beam, collapsed, strata)
    assert {name: result.gain for name, result in results.items()} == {"a": 0.0, "b": 0.0, "mixed": 0.5}
    assert results["b"].better == "collapsed"
    assert strata_won(results) == ["mixed"]


def test_the_race_must_beat_both_paths() -> None:
    better = np.ones(20)
    result = compare_race(better, np.zeros(20), better)
    assert result.p == 1.0
    assert compare_race(better, np.zeros(20), np.zeros(20)).p < 0.001


# -- detection


def test_detection_by_hand() -> None:
    decisions = [
        DetectionDecision("listing", "listing"),
        DetectionDecision("listing", "diff"),
        DetectionDecision("listing", ""),
        DetectionDecision("out_of_scope", "out_of_scope"),
        DetectionDecision("", "listing"),
        DetectionDecision("", ""),
        DetectionDecision("", ""),
    ]
    whole = detect(decisions)
    assert (whole.called, whole.impossible) == (4, 4)
    assert (whole.precision, whole.recall, whole.f1) == (0.75, 0.75, 0.75)
    assert whole.kind_right == pytest.approx(2 / 3)
    kinds = detect_by_kind(decisions)
    assert list(kinds) == ["listing", "out_of_scope"]
    assert (kinds["listing"].precision, kinds["listing"].recall) == (0.5, pytest.approx(2 / 3))
    assert (kinds["out_of_scope"].precision, kinds["out_of_scope"].recall) == (1.0, 1.0)
    # 5 right, 1 false refusal, 1 false attempt: (5 - 1 - 2) / 7
    assert expected_utility(decisions) == pytest.approx(2 / 7)


def test_a_detector_that_says_nothing_has_no_precision() -> None:
    result = detect([DetectionDecision("listing", ""), DetectionDecision("", "")])
    assert (result.precision, result.recall, result.f1, result.kind_right) == (None, 0.0, None, None)
    assert detect([DetectionDecision("", "listing")]).recall is None
    assert detect([DetectionDecision("listing", ""), DetectionDecision("", "diff")]).f1 == 0.0
    with pytest.raises(StatisticsError):
        expected_utility([])


# -- survival


def test_survival_is_a_product() -> None:
    assert routing_survival([]) == 1.0
    assert routing_survival([0.5, 0.2]) == pytest.approx(0.4)
    assert routing_survival([0.0, 1.0]) == 0.0
    with pytest.raises(StatisticsError):
        routing_survival([1.5])


def test_ranks_and_rho_by_hand() -> None:
    assert mean_ranks(np.array([10.0, 20.0, 20.0, 5.0])).tolist() == [2.0, 3.5, 3.5, 1.0]
    # ranks 1 2 3 4 against 1 3 2 4: 1 - 6·2 / (4·15) = .8
    assert spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])) == pytest.approx(0.8)
    assert spearman(np.array([1.0, 1.0]), np.array([0.0, 1.0])) is None


def test_the_correlation_has_a_test_and_a_ceiling() -> None:
    survival = np.array([1.0] * 10 + [0.5] * 10)
    same = correlate_survival(survival, np.array([1.0] * 10 + [0.0] * 10), draws=500, seed=1)
    assert same.rho == pytest.approx(1.0)
    assert same.ceiling == pytest.approx(1.0)
    assert same.p == pytest.approx(1 / 501)
    # five answers among ten survivors: the best assignment cannot correlate perfectly
    some = correlate_survival(survival, np.array([1.0] * 5 + [0.0] * 15), draws=500)
    assert some.rho == pytest.approx(some.ceiling)
    assert some.ceiling is not None
    assert some.ceiling < 0.6
    none = correlate_survival(np.ones(4), np.array([1.0, 0.0, 1.0, 0.0]), draws=10)
    assert (none.rho, none.p, none.ceiling) == (None, None, None)
    with pytest.raises(StatisticsError):
        correlate_survival(np.ones(3), np.ones(4))


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 1.0])), min_size=3, max_size=30)
)
def test_no_assignment_beats_the_ceiling(pairs: list[tuple[float, float]]) -> None:
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    result = correlate_survival(x, y, draws=5)
    if result.rho is not None and result.ceiling is not None:
        assert result.rho <= result.ceiling + 1e-9
        assert math.isclose(result.rho, _naive_rho(x, y), abs_tol=1e-9)


def _naive_rho(x: np.ndarray, y: np.ndarray) -> float:
    def rank(values: np.ndarray) -> np.ndarray:
        return np.array([(values < v).sum() + ((values == v).sum() + 1) / 2 for v in values])

    return float(np.corrcoef(rank(x), rank(y))[0, 1])
