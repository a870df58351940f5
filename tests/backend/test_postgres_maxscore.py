"""Who must be looked at: every set of terms that could reach a floor holds one of the sets that are asked for."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backend.postgres import maxscore
from assay.backend.postgres.maxscore import covers, estimate_floor, minimal_sets

CAPS = st.lists(st.floats(0.01, 30.0), min_size=1, max_size=9)


def subsets(size: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(size), n) for n in range(1, size + 1)))


@given(CAPS, st.floats(0.0, 200.0))
def test_nobody_who_could_reach_the_floor_is_left_out(caps: list[float], floor: float) -> None:
    asked = minimal_sets(caps, floor)
    for held in subsets(len(caps)):
        if sum(caps[i] for i in held) > floor + 1e-9:
            assert covers(asked, [held]), (asked, held)


@given(CAPS, st.floats(0.0, 200.0))
def test_sets_are_few_and_smallest(caps: list[float], floor: float) -> None:
    asked = minimal_sets(caps, floor)
    assert sum(len(one) > 1 for one in asked) <= maxscore.MOST_SETS
    assert len(set(asked)) == len(asked)
    for one in asked:
        if len(one) > 1:
            assert sum(caps[i] for i in one) > floor - 1e-9
            assert all(sum(caps[i] for i in one if i != left_out) <= floor + 1e-9 for left_out in one)


def test_by_hand() -> None:
    caps = [6.0, 5.0, 4.0, 1.0]
    assert minimal_sets(caps, 0.0) == ((0,), (1,), (2,), (3,))
    assert minimal_sets(caps, 4.5) == ((0,), (1,), (2, 3))
    assert minimal_sets(caps, 9.5) == ((0, 1), (0, 2), (1, 2, 3))
    assert minimal_sets(caps, 16.0) == ()  # nobody can


def test_too_many_sets_become_single_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maxscore, "MOST_SETS", 2)
    assert minimal_sets([3.0, 3.0, 3.0, 3.0], 5.0) == ((0,), (1,), (2,))  # the fourth alone gives 3


def test_the_guess() -> None:
    assert estimate_floor([1, 2], [9.0, 8.0], 1_000, 10) == 0.0  # fewer holders than asked for: all must be looked at
    assert estimate_floor([5, 50], [7.0, 3.0], 1_000, 10) == pytest.approx(maxscore._LIKELY * 3.0)
    assert estimate_floor([400, 400], [1.0, 1.0], 1_000, 10) == pytest.approx(
        1.3 * 2.0
    )  # 160 hold both, by chance alone
