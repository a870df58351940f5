"""The allocation of a suite of 300 queries, scaled to 500: every slot times 5/3, and every stratum exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from assay.bench.rb006.world.queries import ALLOCATION, QuerySlot
from assay.errors import ConfigError

SIZES = (300, 500)


@cache
def allocate(size: int) -> tuple[QuerySlot, ...]:
    """The slots of a suite of so many queries."""
    if size == SIZES[0]:
        return ALLOCATION
    if size not in SIZES:
        raise ConfigError(f"there is no suite of {size} queries", f"choose from {', '.join(map(str, SIZES))}")
    return scale_slots(ALLOCATION, size, SIZES[0])


def scale_slots(slots: Sequence[QuerySlot], size: int, of: int) -> tuple[QuerySlot, ...]:
    """Multiply by size / of. Where that is no whole number, some slots are rounded up, so that every stratum whose
    scaled count is whole has exactly that count: the first such choice in the order of the slots."""
    whole = count_strata(slots)
    wanted = {name: count * size // of for name, count in whole.items() if count * size % of == 0}
    floors = tuple(replace(slot, number=slot.number * size // of) for slot in slots)
    found = count_strata(floors)
    missing = {name: count - found[name] for name, count in wanted.items()}
    raised = _choose([strata_of(slot) if slot.number * size % of else None for slot in slots], missing)
    if raised is None:
        raise ConfigError(f"the allocation cannot be scaled to {size} queries", "keep the 300 queries")
    return tuple(replace(slot, number=slot.number + up) for slot, up in zip(floors, raised, strict=True))


def strata_of(slot: QuerySlot) -> frozenset[str]:
    """What a slot counts towards: its tags, feasible or impossible, its kind."""
    return frozenset({*slot.tags, f"kind {slot.kind}", "impossible" if slot.kind else "feasible"})


def count_strata(slots: Sequence[QuerySlot]) -> Counter[str]:
    return Counter(name for slot in slots for name in strata_of(slot) for _ in range(slot.number))


def _choose(slots: Sequence[frozenset[str] | None], missing: Mapping[str, int]) -> list[int] | None:
    """Which slots are rounded up (None: may not be), by depth-first search; None if no choice fits."""
    left = [Counter[str]() for _ in range(len(slots) + 1)]
    for place in range(len(slots) - 1, -1, -1):
        left[place] = left[place + 1] + Counter(slots[place] or ())

    def search(place: int, needed: Mapping[str, int]) -> list[int] | None:
        if any(not 0 <= count <= left[place][name] for name, count in needed.items()):
            return None
        if place == len(slots):
            return []
        strata = slots[place]
        for up in (1, 0) if strata is not None else (0,):
            rest = search(place + 1, {n: c - (up if strata and n in strata else 0) for n, c in needed.items()})
            if rest is not None:
                return [up, *rest]
        return None

    return search(0, missing)
