"""The values that thresholds judge, by hand."""

from __future__ import annotations

import pytest

from assay.bench.rb006.diagnostics.values import compute_values
from assay.bench.rb006.verdict.hypotheses import Declared, load_thresholds
from tests.bench.rb006.diagnostics.hand_made_records import make_measurements, make_routing, make_scale

RACE = "f1:11111 f2:01111 f3:01111 f4:01111 f5:00001"
FLAT = "f1:01111 f2:00111 f3:00111 f4:00001 f5:00001"
BEAM = "f1:01111 f2:01111 f3:00001 f4:01111 f5:00000"
COLLAPSED = "f1:01111 f2:00001 f3:01111 f4:00001 f5:00000"
NO_LINKS = "f1:01111 f2:01111 f3:01111 f4:00001 f5:00001"
SYSTEMS = {
    "race": RACE,
    "flat-strong": FLAT,
    "beam-only": BEAM,
    "collapsed-only": COLLAPSED,
    "xlink-off": NO_LINKS,
}
SAID = {"i1": "listing", "i2": "", "o1": "out_of_scope", "f5": "listing", "n1": "out_of_scope"}


def values(**changed: str) -> dict[str, float | None]:
    chosen = {name: text for name, text in {**SYSTEMS, **changed}.items() if text}
    return compute_values(make_measurements(make_scale(chosen, SAID)), Declared())


def test_token_efficiency() -> None:
    found = values()
    assert found["race_minus_flat_400"] == pytest.approx(4 / 5 - 1 / 5)
    assert found["race_400_minus_flat_pool"] == pytest.approx(4 / 5 - 1.0)
    assert found["race_800_minus_flat_pool"] == pytest.approx(4 / 5 - 1.0)
    assert found["budget_at_parity"] == 1250, "never reached: beyond the grid, so that the line fails"


def test_parity_is_the_smallest_budget_from_which_on_it_holds() -> None:
    assert values(race="f1:11111 f2:01111 f3:01111 f4:01111 f5:01111")["budget_at_parity"] == 400


def test_the_race_is_judged_over_all_queries_in_scope() -> None:
    found = values()
    # In scope: 5 feasible and 4 impossible. Refused: i1, o1, f5. Right of the race: f1..f4, i1, o1 = 6 of 9.
    # beam: f1, f2, f4, i1, o1 = 5 of 9; collapsed: f1, f3, i1, o1 = 4 of 9; flat: f1, i1, o1 = 3 of 9.
    assert found["race_gain"] == pytest.approx(1 / 9)
    # dpi: race 1, beam 0, collapsed 1: no gain. thematic: race 2/2, beam 2/2. entity: race 1/2, beam 1/2.
    assert found["race_strata_won"] == 0
    assert found["race_minus_flat_400_at_50k"] is None
    assert found["race_minus_flat_400_at_200k"] is None


def test_a_refused_feasible_query_is_wrong() -> None:
    everything = "f1:11111 f2:11111 f3:11111 f4:11111 f5:11111"
    at = make_scale({"race": everything}, SAID)
    right = at.right("race")
    assert right is not None
    assert right.tolist() == [1, 1, 1, 1, 0, 1, 0, 1, 0]


def test_larger_scales_have_lines_of_their_own() -> None:
    small, large = make_scale(SYSTEMS, SAID, scale=1000), make_scale({**SYSTEMS, "race": FLAT}, SAID, scale=5000)
    largest = make_scale({**SYSTEMS, "flat-strong": RACE, "race": FLAT}, SAID, scale=9000)
    found = compute_values(make_measurements(small, large, largest), Declared())
    assert found["race_minus_flat_400"] == 0.0, "the second scale is judged"
    assert found["race_minus_flat_400_at_50k"] == 0.0
    assert found["race_minus_flat_400_at_200k"] == pytest.approx(-3 / 9)


def test_cross_links_count_on_entity_spanning_queries_only() -> None:
    assert values()["cross_link_drop"] == pytest.approx(1 / 2)


def test_routing_errors_by_branch_and_on_the_slice() -> None:
    lost = {"f1": make_routing(missed=1), "f3": make_routing(missed=2), "f5": make_routing(hop_missed=1.0)}
    at = make_scale(SYSTEMS, SAID, lost)
    found = compute_values(make_measurements(at), Declared())
    # Single-branch: f1, f2, f3. Level 1 loses 1 of 3; level 2 is reached by two and loses 1.
    assert found["epsilon_single_branch_max"] == pytest.approx(1 / 2)
    assert found["epsilon_cross_branch_max"] == 0.0, "a hop is no level of the walk"
    # The slice is f1, f3, f4: level 1 loses 1 of 3.
    assert found["epsilon_level_1_dev_slice"] == pytest.approx(1 / 3)


def test_survival_predicts_answers() -> None:
    lost = {"f5": make_routing(hop_missed=1.0)}
    found = compute_values(make_measurements(make_scale(SYSTEMS, SAID, lost)), Declared())
    assert found["survival_rho"] == pytest.approx(1.0)
    assert values()["survival_rho"] is None, "without spread there is no correlation"


def test_detection() -> None:
    found = values()
    # Called impossible in scope: i1, o1, f5. True: 2 of 3. Impossible: i1, i2, o1, o2, of which 2 were called.
    assert found["impossible_precision"] == pytest.approx(2 / 3)
    assert found["impossible_recall"] == pytest.approx(1 / 2)
    assert found["listing_precision"] == pytest.approx(1 / 2)
    assert found["listing_recall"] == pytest.approx(1 / 2)
    assert found["out_of_scope_precision"] == 1.0
    assert found["out_of_scope_recall"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("missing", ["race", "flat-strong", "beam-only", "collapsed-only", "xlink-off"])
def test_what_was_not_measured_is_none(missing: str) -> None:
    found = values(**{missing: ""})
    lines = {
        "race": ("race_minus_flat_400", "race_gain", "cross_link_drop", "survival_rho", "epsilon_single_branch_max"),
        "flat-strong": ("race_minus_flat_400", "budget_at_parity"),
        "beam-only": ("race_gain", "race_strata_won"),
        "collapsed-only": ("race_gain", "race_strata_won"),
        "xlink-off": ("cross_link_drop",),
    }
    for name in lines[missing]:
        assert found[name] is None
    assert found["impossible_recall"] is not None


def test_without_a_detector_nothing_is_said_about_all_queries() -> None:
    found = compute_values(make_measurements(make_scale(SYSTEMS)), Declared())
    assert found["race_gain"] is None
    assert found["impossible_precision"] is None
    assert found["race_minus_flat_400"] is not None


def test_every_threshold_has_a_value() -> None:
    names = {line.value for one in load_thresholds().hypotheses for line in (*one.go, *one.kill)}
    assert names <= set(values())
