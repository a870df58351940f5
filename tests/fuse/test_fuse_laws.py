"""The laws, over every fuser in the table."""

from importlib import import_module

import pytest

from assay.fuse import FUSERS
from assay.testing.contracts import check_fuser
from assay.types import Range

UNIT = Range("unit", 0.0, 1.0)
RAW = Range("raw", -1.0, 50.0)


def build_fuser(name, **settings):
    module, _, cls = FUSERS[name].partition(":")
    return getattr(import_module(module), cls)(**settings)


@pytest.mark.parametrize("name", sorted(FUSERS))
def test_two_unit_legs(name):
    check_fuser(build_fuser(name))


@pytest.mark.parametrize("name", sorted(set(FUSERS) - {"best_score", "confirm_boost", "race", "weighted_merge"}))
def test_three_legs_of_different_scales(name):
    check_fuser(build_fuser(name), {"bm25": RAW, "dense": UNIT, "graph": UNIT})


@pytest.mark.parametrize("name", ["convex", "dbsf", "fixed_spread", "rrf", "weighted_merge"])
def test_four_weighted_legs(name):
    """Uneven weights over four legs: where sums in floats would make and break ties."""
    weights = {"a": 0.1, "b": 0.2, "c": 0.7}
    check_fuser(build_fuser(name, weights=weights), dict.fromkeys("abcd", UNIT))


def test_convex_with_theoretical_minima():
    check_fuser(build_fuser("convex", norm="tm2c2", minima={"bm25": -1.0}), {"bm25": RAW, "dense": RAW})


def test_append_fill_with_a_bound():
    check_fuser(build_fuser("append_fill", max_fill=3))


def test_fixed_spread_with_spreads():
    check_fuser(build_fuser("fixed_spread", spreads={"bm25": 2.0, "dense": 0.1}), {"bm25": RAW, "dense": RAW})
