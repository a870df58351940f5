"""The one total order, level by level, and that it depends on nothing but its keys."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.engine.order import arrange, deduplicate, is_arranged, order_index, stamp_ranks, top
from assay.types import Part, Ranking


def ranking(rows: list[tuple[str, float, int, int, int]]) -> Ranking:
    """Rows of (id, score, tier, priority, source_rank)."""
    ids = [r[0] for r in rows]
    return Ranking.of(
        ids,
        [Part("s", "add", np.array([r[1] for r in rows], np.float64))],
        "unit",
        tier=np.array([r[2] for r in rows], np.int32),
        priority=np.array([r[3] for r in rows], np.int32),
        source_rank=np.array([r[4] for r in rows], np.int32),
    )


def test_each_level_breaks_the_tie_of_the_one_before() -> None:
    mixed = ranking(
        [
            ("e", 0.9, 1, 0, 1),  # a better score in a later tier stands last
            ("d", 0.5, 0, 1, 2),
            ("c", 0.5, 0, 1, 1),
            ("b", 0.5, 0, 0, 9),
            ("a2", 0.7, 0, 1, 1),
            ("a1", 0.7, 0, 1, 1),
        ]
    )
    assert arrange(mixed).ids.tolist() == ["a1", "a2", "b", "c", "d", "e"]


def test_ids_compare_by_code_point() -> None:
    assert arrange(ranking([(i, 1.0, 0, 0, 0) for i in ("b", "B", "é", "a", "Z", "10", "9")])).ids.tolist() == [
        "10", "9", "B", "Z", "a", "b", "é"
    ]  # fmt: skip


few = st.sampled_from([0.0, 0.25, 0.5, 1.0])
rows = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=3), few, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    unique_by=lambda r: r[0],
)


@given(rows, st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_order(
    given_rows: list[tuple[str, float, int, int, int]], rng: object
) -> None:
    expected = [r[0] for r in sorted(given_rows, key=lambda r: (r[2], -r[1], r[3], r[4], r[0]))]
    shuffled = list(given_rows)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    arranged = arrange(ranking(shuffled))
    assert arranged.ids.tolist() == expected
    assert is_arranged(arranged)
    assert (order_index(arranged) == np.arange(len(expected))).all()


@given(rows)
def test_is_arranged_agrees_with_sorting(given_rows: list[tuple[str, float, int, int, int]]) -> None:
    some = ranking(given_rows)
    assert is_arranged(some) == (some.ids.tolist() == arrange(some).ids.tolist())


def test_helpers() -> None:
    three = arrange(ranking([("a", 0.3, 0, 0, 0), ("b", 0.2, 0, 0, 0), ("c", 0.1, 0, 0, 0)]))
    assert top(three, 2).ids.tolist() == ["a", "b"]
    assert top(three, 9) is three
    stamped = stamp_ranks(three, 2)
    assert stamped.priority.tolist() == [2, 2, 2]
    assert stamped.source_rank.tolist() == [1, 2, 3]
    twice = three.take(np.array([1, 0, 1]))
    assert deduplicate(twice).ids.tolist() == ["b", "a"]
