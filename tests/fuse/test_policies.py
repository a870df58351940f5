"""append_fill and confirm_boost, against the router policy and the memory pipeline."""

import pytest

from assay.errors import ConfigError
from assay.fuse.append_fill import AppendFill
from assay.fuse.confirm_boost import ConfirmBoost
from assay.testing.build import found
from assay.testing.sample import sample_snapshot
from assay.types import Query, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
RAW = Range("raw", 0.0, float("inf"))


def fuse(fuser, **legs):
    return fuser.fuse(Query("q"), legs, sample_snapshot())


def table(ranking):
    return list(zip(ranking.ids.tolist(), ranking.tier.tolist(), ranking.score.tolist(), strict=True))


def test_append_fill_keeps_the_first_and_fills():
    fused = fuse(
        AppendFill(),
        lance=found({"b": 0.99, "x": 0.98, "y": 0.5}, priority=1),
        qmd=found({"a": 0.3, "b": 0.2}, priority=0),
    )
    assert table(fused) == [("a", 0, 0.3), ("b", 0, 0.2), ("x", 1, 0.98), ("y", 1, 0.5)]
    assert fused.priority.tolist() == [0, 0, 1, 1]
    assert fused.source_rank.tolist() == [1, 2, 2, 3]
    assert fused.scale == "unit"


def test_append_fill_bounds_what_is_appended_in_all():
    fused = fuse(
        AppendFill(max_fill=2),
        one=found({"a": 1.0}, priority=0),
        two=found({"a": 1.0, "b": 0.9}, priority=1),
        three=found({"c": 1.0, "d": 0.9}, priority=2),
    )
    assert fused.ids.tolist() == ["a", "b", "c"]
    assert fused.tier.tolist() == [0, 1, 2]
    (note,) = fused.notes
    assert (note.kind, note.ids) == ("dropped", ("d",))
    assert fuse(AppendFill(max_fill=0), one=found({"a": 1.0}), two=found({"b": 1.0})).ids.tolist() == ["a"]


def test_append_fill_orders_legs_of_one_priority_by_name():
    legs = {"zeta": found({"z": 1.0}), "alpha": found({"a": 0.1})}
    assert fuse(AppendFill(), **legs).ids.tolist() == ["a", "z"]


def test_append_fill_keeps_a_legs_own_tiers():
    from dataclasses import replace

    import numpy as np

    deferred = replace(found({"a": 0.9, "b": 0.8}), tier=np.array([0, 3], np.int32))
    fused = fuse(AppendFill(), one=deferred, two=found({"c": 1.0}, priority=1))
    assert table(fused) == [("a", 0, 0.9), ("b", 3, 0.8), ("c", 4, 1.0)]
    late = replace(deferred, tier=np.array([2, 3], np.int32))  # the best of it was dropped
    assert table(fuse(AppendFill(), one=late)) == [("a", 0, 0.9), ("b", 1, 0.8)]


def test_append_fill_is_raw_when_any_leg_is():
    assert fuse(AppendFill(), a=found({"x": 3.0}, "raw"), b=Ranking.empty("unit")).scale == "raw"
    assert AppendFill().gives({"a": Range("raw", -1.0, 3.0), "b": UNIT}) == Range("raw", -1.0, 3.0)
    assert AppendFill().gives({"a": UNIT}) == UNIT
    with pytest.raises(ConfigError, match=r"append_fill\.max_fill = -1"):
        AppendFill(max_fill=-1)


def test_confirm_boost_of_002():
    fused = fuse(
        ConfirmBoost(),
        dense=found({"both": 0.6, "vector": 0.65, "sure": 0.95}),
        bm25=found({"both": 0.9, "word": 0.2, "words": 0.7, "sure": 0.1}, priority=1),
    )
    got = dict(zip(fused.ids.tolist(), fused.score.tolist(), strict=True))
    # 0.6 · 1.15 = 0.69; a keyword hit alone counts at least 0.5; 0.95 · 1.15 = 1.0925 is held to 1.
    assert got == pytest.approx({"sure": 1.0, "words": 0.7, "both": 0.69, "vector": 0.65, "word": 0.5})
    assert fused.ids.tolist() == ["sure", "words", "both", "vector", "word"]
    assert [p.name for p in fused.parts] == ["dense", "confirmed", "bm25", "floor", "clamp"]


def test_confirm_boost_with_one_leg_missing():
    assert fuse(ConfirmBoost(), dense=found({"a": 0.4})).score.tolist() == [0.4]
    assert fuse(ConfirmBoost(), bm25=found({"a": 0.4})).score.tolist() == [0.5]
    assert len(fuse(ConfirmBoost())) == 0


def test_confirm_boost_knows_its_legs():
    fuser = ConfirmBoost()
    assert fuser.gives({"dense": UNIT, "bm25": UNIT}) == Range("unit", 0.0, 1.0)
    narrow = {"dense": Range("unit", 0.6, 0.8), "bm25": Range("unit", 0.0, 0.3)}
    assert fuser.gives(narrow) == Range("unit", 0.5, pytest.approx(0.92))
    with pytest.raises(ConfigError, match=r"confirm_boost\.confirm names 'bm25', which is no leg"):
        fuser.gives({"dense": UNIT})
    with pytest.raises(ConfigError, match="leg 'graph' would be ignored"):
        fuser.gives({"dense": UNIT, "bm25": UNIT, "graph": UNIT})
    with pytest.raises(ConfigError, match="needs unit scores"):
        fuser.gives({"dense": UNIT, "bm25": RAW})
    with pytest.raises(ConfigError, match="both 'dense'"):
        ConfirmBoost(confirm="dense")
    with pytest.raises(ConfigError, match=r"confirm_boost\.floor = 1\.5"):
        ConfirmBoost(floor=1.5)
