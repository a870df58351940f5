"""Routing errors by hand, on a tree with two levels."""

import pytest

from assay.bench.metrics.routing import (
    list_ancestors,
    measure_hops,
    measure_levels,
    measure_survival,
    summarise_hops,
    summarise_levels,
)

#            0
#       1         2
#     3 4 5     6 7 8
PARENT = [-1, 0, 0, 1, 1, 1, 2, 2, 2]


def decide(level: int, node: int, chosen: list[int]) -> dict[str, object]:
    children = {0: [1, 2], 1: [3, 4, 5], 2: [6, 7, 8]}[node]
    return {"level": level, "node": node, "children": children, "scores": {}, "chosen": chosen}


def groups(*leaves: list[int]) -> list[frozenset[int]]:
    return [list_ancestors(PARENT, group) for group in leaves]


def test_ancestors() -> None:
    assert list_ancestors(PARENT, [4, 8]) == {0, 1, 2, 4, 8}
    assert list_ancestors(PARENT, []) == frozenset()


def test_levels_by_hand() -> None:
    log = {"levels": [decide(1, 0, [1]), decide(2, 1, [3, 5])]}
    first, second = measure_levels(log, groups([4], [7]), 2)
    assert (first.reached, first.any, first.evidence, first.every, first.lost) == (True, False, 0.5, False, False)
    assert first.chance == 0.0  # both children of the root are correct: none can be missed
    # The first group is below the beam and lost now; the second was lost before and does not count again.
    assert (second.reached, second.any, second.evidence, second.node, second.lost) == (True, True, 1.0, 1.0, True)
    assert second.chance == pytest.approx(1 / 3)  # two of three children drawn: the one correct child is missed
    assert second.children == (2,)


def test_a_level_that_was_not_reached_is_not_blamed() -> None:
    log = {"levels": [decide(1, 0, [2]), decide(2, 2, [6])]}
    first, second = measure_levels(log, groups([4]), 2)
    assert first.any
    assert (second.reached, second.any, second.lost) == (False, False, True)
    lines = summarise_levels([[first, second]])
    assert lines[0]["eps_any"] == 1.0
    assert lines[1]["eps_any"] is None
    assert lines[1]["queries"] == 0
    assert measure_survival([first, second]) == 0.0


def test_equivalent_evidence_counts_once_and_every_is_strict() -> None:
    log = {"levels": [decide(1, 0, [1, 2]), decide(2, 1, [4]), decide(2, 2, [6])]}
    outcomes = measure_levels(log, groups([4, 7]), 2)
    assert outcomes[1].evidence == 0.0
    assert outcomes[1].node == 0.5  # node 2 leads to the second copy and misses it
    assert outcomes[1].every
    assert not outcomes[1].any
    (_, line) = summarise_levels([outcomes, outcomes])
    assert (line["queries"], line["misses"], line["children"]) == (2, 0, 1.0)
    assert line["interval"] == [0.0, pytest.approx(0.8418861)]  # 1 − .025 ** (1/2)
    assert measure_survival(outcomes) == 1.0


def test_hops_count_as_levels() -> None:
    log = {"levels": [], "hops": [{"hop": 1, "chosen": ["c", "x"]}, {"hop": 2, "chosen": ["y"]}]}
    evidence = {1: [{"a"}], 2: [{"b", "c"}, {"d"}], 3: [{"e"}]}
    second, third = measure_hops(log, ["a"], evidence)
    assert (second.hop, second.reached, second.evidence) == (2, True, 0.5)
    assert (third.reached, third.evidence) == (False, 1.0)
    assert not measure_hops(log, ["z"], evidence)[0].reached
    assert measure_hops(log, ["a"], {1: [{"a"}]}) == []
    assert measure_survival([], [second]) == 0.5
    lines = summarise_hops([[second, third]])
    assert [line["eps_evidence"] for line in lines] == [0.5, None]
    assert [line["reached"] for line in lines] == [1, 0]
