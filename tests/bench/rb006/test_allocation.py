"""The suite of 500 queries has every stratum of the suite of 300 times 5/3."""

from __future__ import annotations

import pytest

from assay.bench.rb006.world.allocation import allocate, count_strata, scale_slots
from assay.bench.rb006.world.queries import ALLOCATION, QuerySlot
from assay.errors import ConfigError


def test_every_stratum_is_scaled_exactly() -> None:
    small, large = count_strata(allocate(300)), count_strata(allocate(500))
    assert sum(slot.number for slot in allocate(500)) == 500
    for name, count in small.items():
        if count % 3 == 0:
            assert large[name] == count * 5 // 3, name
        else:
            assert large[name] in (count * 5 // 3, count * 5 // 3 + 1), name
    assert (large["feasible"], large["impossible"], large["dpi"], large["ood"]) == (300, 200, 200, 50)
    for before, after in zip(ALLOCATION, allocate(500), strict=True):
        assert after.number in (before.number * 5 // 3, -(-before.number * 5 // 3))
        assert (before.binder, before.tags, before.kind) == (after.binder, after.tags, after.kind)


def test_other_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match="no suite of 400"):
        allocate(400)


def test_slots_that_cannot_be_scaled_are_an_error() -> None:
    slots = (QuerySlot("a", 1, ("x", "y")), QuerySlot("b", 1, ("x",)), QuerySlot("c", 1, ("x", "y")))
    assert [slot.number for slot in scale_slots(slots, 5, 3)] == [2, 2, 1]
    # Each of x, y and z is in two of three slots; no choice of whole slots takes one of each.
    circle = (QuerySlot("a", 1, ("x", "y")), QuerySlot("b", 1, ("y", "z")), QuerySlot("c", 1, ("x", "z")))
    with pytest.raises(ConfigError, match="cannot be scaled"):
        scale_slots(circle, 1, 2)
