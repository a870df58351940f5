"""Tables behind the verdict: losses, links, detection, scales, comparisons, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.bench.rb006.diagnostics.comparisons import (
    average_seeds,
    compare_primaries,
    compare_race_strata,
    compare_strata,
)
from assay.bench.rb006.diagnostics.detection import summarise_detection
from assay.bench.rb006.diagnostics.links import summarise_links
from assay.bench.rb006.diagnostics.losses import explain_losses
from assay.bench.rb006.diagnostics.measurements import choose_slice
from assay.bench.rb006.diagnostics.routing import binomial_at_most, compare_arms, find_bad_nodes
from assay.bench.rb006.diagnostics.scales import find_crossover, summarise_scales
from tests.bench.rb006.diagnostics.hand_made_records import make_measurements, make_routing, make_scale, make_subject
from tests.bench.rb006.diagnostics.test_values import SAID, SYSTEMS


def test_losses_have_one_reason_each() -> None:
    answers = {
        "race": "f1:00000 f2:00001 f3:00000 f4:00000 f5:00000",
        "beam-only": "",
        "collapsed-only": "f1:01111",
        "flat-strong": "f2:01111 f4:01111",
    }
    walks = {"f3": make_routing(missed=2), "f4": make_routing(hop_missed=1.0)}
    found = explain_losses(make_scale(answers, SAID, walks))
    assert found["reasons"] == {"choice": 1, "routing": 1, "hop": 1, "ranking": 1, "selection": 1}
    assert found["missed"] == found["of"] == 5
    assert found["flat_answers"] == 2
    assert found["strata"]["entity"] == {"missed": 2, "reasons": {"hop": 1, "ranking": 1}}


def test_no_loss_no_reason() -> None:
    everything = "f1:11111 f2:11111 f3:11111 f4:11111 f5:11111"
    assert explain_losses(make_scale({"race": everything}))["reasons"] == {}


def test_links() -> None:
    walks = {
        "f4": make_routing(outside=True, reached=True, used=True),
        "f5": make_routing(outside=True),
        "f1": make_routing(outside=True, reached=True, used=True),
    }
    found = summarise_links(make_scale({**SYSTEMS, "flat-strong-xlink": "f4:01111"}, SAID, walks))
    assert (found["queries"], found["outside"]) == (2, 2)
    assert (found["cbr"]["count"], found["cur"]["count"]) == (1, 1)
    assert found["drop"] == 0.5
    assert found["flat_gain"] == 0.5


def test_detection_by_kind_utility_and_absent_queries() -> None:
    found = summarise_detection(make_scale(SYSTEMS, SAID))
    assert found["queries"] == 9
    # Right: f1..f4, i1, o1 (6); a false refusal: f5; attempts of the impossible: i2, o2.
    assert found["utility"] == pytest.approx((6 - 1 - 4) / 9)
    assert found["absent"] == {"queries": 1, "refused": 1}
    assert found["kinds"]["listing"]["recall"] == 0.5
    low, high = found["kinds"]["listing"]["recall_interval"]
    assert low < 0.5 < high
    assert summarise_detection(make_scale(SYSTEMS)) == {}


def test_the_crossover_is_the_scale_from_which_on_the_race_is_above() -> None:
    above, below = make_scale(SYSTEMS, SAID), make_scale({**SYSTEMS, "race": SYSTEMS["flat-strong"]}, SAID)
    for order, place in (
        ((below, above, above), 2000),
        ((above, below, above), 3000),
        ((above, above, above), 1000),
        ((above, above, below), None),
    ):
        scales = [replace(one, scale=1000 * (n + 1)) for n, one in enumerate(order)]
        assert find_crossover(make_measurements(*scales))["overtakes_at"] == place
    lines = summarise_scales(make_measurements(above))
    assert (lines[0]["in_scope"], lines[0]["absent"], lines[0]["feasible"]) == (9, 1, 5)
    assert lines[0]["difference"] == pytest.approx(0.6)


def test_bad_nodes_come_first() -> None:
    walks = [make_routing(), make_routing(missed=2), make_routing(missed=2), make_routing(missed=1)]
    assert find_bad_nodes(walks) == [
        {"level": 2, "node": 1, "walks": 3, "missed": 2},
        {"level": 1, "node": 0, "walks": 4, "missed": 1},
    ]


def test_binomial_tail() -> None:
    assert binomial_at_most(0, 3, 0.5) == pytest.approx(1 / 8)
    assert binomial_at_most(1, 3, 0.5) == pytest.approx(4 / 8)
    assert binomial_at_most(3, 3, 0.5) == 1.0


def test_arms_are_compared_by_survival() -> None:
    at = make_scale(SYSTEMS, SAID, {"f1": make_routing(missed=1)})
    other = {name: {**record, "routing": make_routing()} for name, record in at.records["race"].items()}
    at = replace(at, records={**at.records, "hcr": other})
    found = compare_arms(at, "race", "hcr")
    assert found is not None
    assert found["difference"] == pytest.approx(-1 / 5)
    assert found["p"] == 1.0, "one difference proves nothing"
    assert compare_arms(at, "race", "flat-strong") is None, "a flat system has no routing error"


def test_primaries_are_adjusted_together() -> None:
    lines = compare_primaries(make_measurements(make_scale(SYSTEMS, SAID)))
    names = [line["name"] for line in lines]
    assert len(names) == 6
    for line in lines:
        assert line["p"] <= line["p_holm"] <= 1.0
    (gain,) = [line for line in lines if "better path" in line["name"]]
    assert gain["difference"] == pytest.approx(1 / 9)
    assert gain["better"] == "beam"


def test_strata_and_race_by_stratum() -> None:
    at = make_scale(SYSTEMS, SAID)
    strata = {line["stratum"]: line for line in compare_strata(at)}
    assert strata["thematic"]["difference"] == pytest.approx(0.5)
    assert strata["dpi"]["n"] == 1
    race = compare_race_strata(at)
    assert race["all"]["n"] == 9
    assert race["feasible"]["n"] == 5
    assert race["chosen"] == {"beam": 5}
    # A perfect choice would be right on f1, f2, f3, f4, which the race is: no regret.
    assert race["all"]["regret"] == pytest.approx(0.0)


def test_seeds_are_averaged_per_query_first() -> None:
    seeds = {
        "race-seed-1": "f1:01111 f2:01111",
        "race-seed-2": "f1:01111",
    }
    found = average_seeds(make_scale({**SYSTEMS, **seeds}), list(seeds))
    assert found is not None
    assert found["by_seed"] == [0.4, 0.2]
    # Averages: f1 1, f2 1/2; flat has f1: the difference is 1/2 on one query of five.
    assert found["against_flat"]["difference"] == pytest.approx(0.1)
    assert (found["against_flat"]["wins"], found["against_flat"]["ties"]) == (1, 4)


def test_the_slice_is_spread_evenly() -> None:
    subject = make_subject()
    assert choose_slice(subject, 50) == ("f1", "f2", "f3", "f4", "f5")
    assert choose_slice(subject, 2) == ("f1", "f3")
