"""Reciprocal rank fusion against values computed by hand."""

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.fuse.rrf import Rrf
from assay.testing.build import found
from assay.testing.sample import sample_snapshot
from assay.types import Query, Range, Ranking, fold

RAW = Range("raw", 0.0, float("inf"))


def fuse(fuser, **legs):
    return fuser.fuse(Query("q"), legs, sample_snapshot())


def by_id(ranking):
    return dict(zip(ranking.ids.tolist(), ranking.score.tolist(), strict=True))


def undivided(ranking):
    """The sum that the router policy and weighted fusion state: everything before "normalise"."""
    assert ranking.parts[-1].name == "normalise"
    return dict(zip(ranking.ids.tolist(), fold(ranking.parts[:-1], len(ranking)).tolist(), strict=True))


def test_two_legs_by_hand():
    fused = fuse(
        Rrf(),
        bm25=found({"a": 9.0, "b": 5.0, "c": 1.0}, "raw", priority=0),
        dense=found({"b": 0.9, "d": 0.8}, "unit", priority=1),
    )
    # b: rank 2 and 1; a: rank 1 alone; d: rank 2 alone; c: rank 3 alone.
    assert fused.ids.tolist() == ["b", "a", "d", "c"]
    sums = undivided(fused)
    assert sums == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63}, abs=1e-12)
    best = 2 / 61
    assert by_id(fused) == pytest.approx({name: value / best for name, value in sums.items()}, rel=1e-11)
    assert fused.scale == "unit"
    assert [part.name for part in fused.parts] == ["bm25", "dense", "normalise"]


def test_first_everywhere_is_one():
    fused = fuse(Rrf(), bm25=found({"a": 2.0}, "raw"), dense=found({"a": 0.5}))
    assert fused.score.tolist() == [1.0]
    assert undivided(fused)["a"] == pytest.approx(0.0327868852, abs=1e-9)  # 2/61, 000's peak


def test_weights_of_004():
    """A graph hit at rank 1 weighs 0.35/61, which is below a lexical hit at rank 113 and above one at 115."""
    lexical = found({f"l{i:03d}": 200.0 - i for i in range(1, 121)}, "raw", priority=0)
    fused = fuse(Rrf(weights={"graph": 0.35}), lex=lexical, dense=Ranking.empty("unit"), graph=found({"g": 1.0}))
    assert undivided(fused)["g"] == pytest.approx(0.35 / 61, abs=1e-12)
    # 1/(60+r) = 0.35/61 at r = 114.29
    assert fused.places()["l114"] + 1 == fused.places()["g"] == fused.places()["l115"] - 1


def ranked(priority=0, **ranks):
    """A leg in which these candidates have these ranks; fillers stand between them."""
    names = {rank: name for name, rank in ranks.items()}
    last = max(names)
    return found(
        {names.get(r, f"filler-{priority}-{r:02d}"): 1.0 - r / 100 for r in range(1, last + 1)}, "unit", priority
    )


@pytest.mark.parametrize(("x", "y"), [((2, 1, 8), (8, 2, 1)), ((11, 4, 1), (4, 1, 11))])
def test_ties_on_paper_are_ties_here(x, y):
    """Both candidates have the same three ranks, from different legs; sums of floats in leg order would differ."""
    sums = [(1 / (60 + a) + 1 / (60 + b)) + 1 / (60 + c) for a, b, c in (x, y)]
    assert sums[0] != sums[1]
    legs = {leg: ranked(p, x=x[p], y=y[p]) for p, leg in enumerate(("a", "b", "c"))}
    for more in ({}, {"d": Ranking.empty("unit")}):
        fused = fuse(Rrf(), **legs, **more)
        scores = by_id(fused)
        assert scores["x"] == scores["y"]
        # Leg a has the first priority, so its ranks break the tie, whatever other legs are planned (law 6).
        assert (fused.places()["x"] < fused.places()["y"]) == (x[0] < y[0])


def test_priority_and_source_rank_come_from_the_best_occurrence():
    fused = fuse(
        Rrf(), bm25=found({"x": 2.0, "a": 1.0}, "raw", priority=3), dense=found({"b": 0.9, "a": 0.8}, priority=1)
    )
    places = fused.places()
    assert (fused.priority[places["a"]], fused.source_rank[places["a"]]) == (1, 2)
    assert (fused.priority[places["x"]], fused.source_rank[places["x"]]) == (3, 1)


def test_rows_are_kept_when_every_leg_knows_them_and_dropped_when_one_does_not():
    from dataclasses import replace

    one = replace(found({"a": 1.0, "b": 0.5}), rows=np.array([7, 3]))
    two = replace(found({"b": 1.0}), rows=np.array([3]))
    fused = fuse(Rrf(), one=one, two=two)
    assert dict(zip(fused.ids.tolist(), fused.rows.tolist(), strict=True)) == {"a": 7, "b": 3}
    assert fuse(Rrf(), one=one, two=replace(two, rows=None)).rows is None
    elsewhere = replace(found({"y": 1.0, "z": 0.5}), rows=np.array([-1, -1]))
    assert set(fuse(Rrf(), one=one, two=elsewhere).ids.tolist()) == {"a", "b", "y", "z"}


@pytest.mark.parametrize("rankings", [{}, {"bm25": Ranking.empty("raw")}])
def test_nothing_found(rankings):
    assert len(Rrf().fuse(Query(), rankings, sample_snapshot())) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"c": -1.0}, r"rrf\.c = -1\.0"),
        ({"c": float("nan")}, r"rrf\.c = nan"),
        ({"weights": {"dense": -0.1}}, r"rrf\.weights\.dense = -0\.1"),
        ({"weights": {"dense": float("inf")}}, "from 0 to 10"),
        ({"weights": {"dense": "heavy"}}, "heavy"),
    ],
)
def test_impossible_settings(settings, message):
    with pytest.raises(ConfigError, match=message):
        Rrf(**settings)


def test_gives_refuses_weights_that_nobody_reads():
    assert Rrf(weights={"bm25": 2.0}).gives({"bm25": RAW, "dense": RAW}) == Range("unit", 0.0, 1.0)
    with pytest.raises(ConfigError, match=r"bm52.*\n.*did you mean 'bm25'"):
        Rrf(weights={"bm52": 2.0}).gives({"bm25": RAW})
    with pytest.raises(ConfigError, match="every leg has weight 0"):
        Rrf(weights={"bm25": 0.0}).gives({"bm25": RAW})
