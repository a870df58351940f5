"""The fusers that read scores, against values computed by hand."""

import math
from pathlib import Path

import pytest

from assay.config.load import load
from assay.errors import ConfigError
from assay.fuse.convex import Convex
from assay.fuse.dbsf import Dbsf
from assay.fuse.fixed_spread import FixedSpread
from assay.fuse.weighted_merge import WeightedMerge
from assay.testing.build import found
from assay.testing.sample import sample_snapshot
from assay.types import Query, Range, Ranking

RAW = Range("raw", 0.0, math.inf)
COSINE = Range("raw", -1.0, 1.0)
UNIT = Range("unit", 0.0, 1.0)


def scores(fuser, **legs):
    fused = fuser.fuse(Query("q"), legs, sample_snapshot())
    assert fused.scale == "unit"
    return dict(zip(fused.ids.tolist(), fused.score.tolist(), strict=True))


BM25 = found({"a": 10.0, "b": 6.0, "c": 2.0}, "raw", priority=0)
DENSE = found({"b": 0.8, "d": 0.4, "a": 0.0}, "raw", priority=1)


def test_min_max():
    # bm25: a 1, b 0.5, c 0.  dense: b 1, d 0.5, a 0.  Mean of the two.
    assert scores(Convex(), bm25=BM25, dense=DENSE) == pytest.approx({"b": 0.75, "a": 0.5, "d": 0.25, "c": 0.0})


def test_min_max_weighted():
    got = scores(Convex(weights={"dense": 3.0}), bm25=BM25, dense=DENSE)
    assert got == pytest.approx({"b": 3.5 / 4, "d": 1.5 / 4, "a": 1 / 4, "c": 0.0})


def test_the_graph_under_tm2c2_by_hand():
    """The mass of a walk is never negative: .3 is half of the best, .6; .45 and .1 are the recipe's weights."""
    fuser = load(str(Path(__file__).parents[2] / "benchmarks" / "recipes" / "tm2c2+graph.toml")).fuser
    got = scores(
        fuser, bm25=found({"a": 8.0, "b": 2.0}, "raw"), dense=found({"b": 0.6}), graph=found({"a": 0.3, "b": 0.6})
    )
    assert got == pytest.approx({"a": 0.45 + 0.1 / 2, "b": 0.45 / 4 + 0.45 + 0.1}, rel=1e-11)


def test_tm2c2():
    # bm25 from 0: a 1, b .6, c .2.  dense from -1 to .8: b 1, d 1.4/1.8, a 1/1.8.
    got = scores(Convex(norm="tm2c2"), bm25=BM25, dense=DENSE)
    expected = {"b": 0.8, "a": (1 + 1 / 1.8) / 2, "d": 1.4 / 1.8 / 2, "c": 0.1}
    assert got == pytest.approx(expected)


@pytest.mark.parametrize("leg", [{"a": 3.0}, {"a": 3.0, "b": 3.0}])
def test_nothing_to_stretch(leg):
    assert set(scores(Convex(), bm25=found(leg, "raw")).values()) == {1.0}
    assert set(scores(Convex(norm="tm2c2"), bm25=found(leg, "raw")).values()) == {1.0}
    at_the_bottom = found(dict.fromkeys(leg, 0.0), "raw")
    assert set(scores(Convex(norm="tm2c2"), bm25=at_the_bottom).values()) == {0.0}
    assert set(scores(Dbsf(), bm25=found(leg, "raw")).values()) == {0.5}


def test_equal_scores_that_do_not_average_exactly():
    """The mean of three times 0.1 is not 0.1 in floats; a spread of 1e-17 must not be stretched."""
    assert set(scores(Dbsf(), x=found(dict.fromkeys("abc", 0.1))).values()) == {0.5}


def test_a_score_below_the_stated_minimum_counts_as_the_minimum():
    fused = scores(Convex(norm="tm2c2", minima={"x": 0.0}), x=found({"a": 1.0, "b": -1.0}, "raw"))
    assert fused == {"a": 1.0, "b": 0.0}


def test_dbsf():
    # 10, 6, 2: mean 6, population deviation sqrt(32/3); n = 1/2 + (s - 6) / (6 · 3.26599).
    sigma = math.sqrt(32 / 3)
    got = scores(Dbsf(), bm25=BM25)
    assert got == pytest.approx({"a": 0.5 + 4 / (6 * sigma), "b": 0.5, "c": 0.5 - 4 / (6 * sigma)})
    assert got["a"] == pytest.approx(0.70412415, abs=1e-8)


def test_dbsf_clips_an_outlier():
    """One 1 among 19 zeros is (1 - .05) / sqrt(.05 · .95) = 4.36 deviations out; three are 1."""
    leg = {f"z{i:02d}": 0.0 for i in range(19)} | {"top": 1.0}
    got = scores(Dbsf(), x=found(leg))
    assert got["top"] == 1.0
    assert got["z00"] == pytest.approx(0.5 - 0.05 / (6 * math.sqrt(0.05 * 0.95)))


def test_dbsf_with_room_for_an_outlier():
    # Nine 0s and a 10: mean 1, deviation 3; the 10 stands 3 deviations up, half of the 6 there is room for.
    leg = {"top": 10.0, **{f"c{i}": 0.0 for i in range(9)}}
    got = scores(Dbsf(deviations=6.0), x=found(leg, "raw"))
    assert got["top"] == pytest.approx(0.75)
    assert got["c0"] == pytest.approx(0.5 - 1 / 36)
    with pytest.raises(ConfigError, match="deviations"):
        Dbsf(deviations=0.0)


def test_dbsf_of_tiny_and_huge_scores():
    """Squares of 1e-200 underflow, squares of 1e200 overflow; the shape of the list is the same."""
    expected = scores(Dbsf(), x=BM25)
    for factor in (1e-200, 1e200):
        scaled = found({"a": 10.0 * factor, "b": 6.0 * factor, "c": 2.0 * factor}, "raw")
        assert scores(Dbsf(), x=scaled) == pytest.approx(expected)


def test_fixed_spread_by_hand():
    """.9 .5 .4: mean .6; with a spread of .1 and d = 6 the first is .5 + .3 / 1.2. bm25 is scaled as dbsf scales it."""
    dense = found({"a": 0.9, "b": 0.5, "c": 0.4}, "raw")
    got = scores(FixedSpread(spreads={"dense": 0.1}), dense=dense)
    assert got == pytest.approx({"a": 0.75, "b": 0.5 - 0.1 / 1.2, "c": 0.5 - 0.2 / 1.2})
    both = scores(FixedSpread(spreads={"dense": 0.1}, weights={"dense": 3.0}), bm25=BM25, dense=dense)
    words = scores(Dbsf(deviations=6.0), bm25=BM25)
    assert both == pytest.approx({name: (3.0 * got[name] + words[name]) / 4.0 for name in "abc"})


def test_a_flat_list_has_less_say_under_a_fixed_spread():
    """Ten times closer together, the cosines move the scores ten times less; dbsf would stretch them."""
    wide, flat = found({"a": 0.9, "b": 0.5}, "raw"), found({"a": 0.54, "b": 0.5}, "raw")
    fuser = FixedSpread(spreads={"dense": 0.1})
    gaps = [(lambda got: got["a"] - got["b"])(scores(fuser, dense=one)) for one in (wide, flat)]
    assert gaps[0] == pytest.approx(10.0 * gaps[1])
    assert scores(Dbsf(), dense=wide) == pytest.approx(scores(Dbsf(), dense=flat))


@pytest.mark.parametrize("spread", [0.0, -1.0, float("nan"), 1e9])
def test_a_spread_is_a_positive_number(spread: float):
    with pytest.raises(ConfigError, match=r"fixed_spread\.spreads\.dense"):
        FixedSpread(spreads={"dense": spread})


def test_a_spread_names_a_leg():
    with pytest.raises(ConfigError, match="'densed', which is no leg") as caught:
        FixedSpread(spreads={"densed": 0.1}).gives({"dense": Range("raw", -1.0, 1.0)})
    assert "dense" in caught.value.cure


def test_weighted_merge_of_002():
    dense, bm25 = found({"a": 0.9, "b": 0.6}), found({"b": 1.0, "c": 0.5})
    got = scores(WeightedMerge(weights={"dense": 0.7, "bm25": 0.3}), dense=dense, bm25=bm25)
    assert got == pytest.approx({"b": 0.72, "a": 0.63, "c": 0.15})


@pytest.mark.parametrize("fuser", [Convex(), Convex(norm="tm2c2"), Dbsf(), WeightedMerge()])
def test_nothing_found(fuser):
    assert scores(fuser) == {}
    assert scores(fuser, bm25=Ranking.empty("unit"), dense=Ranking.empty("unit")) == {}


def test_weighted_merge_refuses_raw_scores():
    assert WeightedMerge().gives({"bm25": UNIT, "dense": Range("unit", 0.0, 0.5)}) == UNIT
    with pytest.raises(ConfigError, match=r"weighted_merge \(leg 'bm25'\) needs unit scores"):
        WeightedMerge().gives({"bm25": RAW, "dense": UNIT})


def test_minima_are_checked_against_ranges():
    convex = Convex(norm="tm2c2")
    assert convex.gives({"bm25": RAW, "dense": COSINE, "graph": UNIT}) == UNIT
    with pytest.raises(ConfigError, match=r"lowest score that leg 'beam' can give\n.*beam = 0 "):
        convex.gives({"bm25": RAW, "beam": RAW})
    with pytest.raises(ConfigError, match=r"minima\.dense = 0 is above the lowest score of that leg, -1"):
        Convex(norm="tm2c2", minima={"dense": 0.0}).gives({"dense": COSINE})
    with pytest.raises(ConfigError, match="no leg of this pipeline"):
        Convex(norm="tm2c2", minima={"sparse": 0.0}).gives({"dense": COSINE})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"norm": "minmax"}, r"convex\.norm = 'minmax'.*\n.*did you mean 'min-max'"),
        ({"minima": {"bm25": 0.0}}, "no effect under norm = 'min-max'"),
        ({"norm": "tm2c2", "minima": {"bm25": float("nan")}}, r"convex\.minima\.bm25 = nan"),
        ({"weights": {"bm25": 10.5}}, "from 0 to 10"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ConfigError, match=message):
        Convex(**settings)
