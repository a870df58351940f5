"""The layout of the tree: its laws on random stores, small stores by hand, the same bytes with any threads."""

import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.index.tree.capacity import assign_capped, fill_small
from assay.index.tree.clustering import build_layout, count_levels
from assay.index.tree.grid import dot, grid_scale, sum_by_label, to_grid
from assay.index.tree.kmeans import cluster_capped, find_centroids
from assay.index.tree.layout import TreeLayout, TreeSettings
from assay.index.tree.row_assignment import assign_rows
from assay.types import Rows, Vectors

SMALL = TreeSettings(branching=4, leaf_min=4, leaf_cap=8)


def make_vectors(size: int, dim: int = 16, topics: int = 12, seed: int = 0, zero: float = 0.0) -> Vectors:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((topics, dim))
    raw = centres[rng.integers(0, topics, size)] + 0.5 * rng.standard_normal((size, dim))
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    unit[rng.random(size) < zero] = 0.0
    return unit.astype(np.float32)


def make_families(size: int, most: int, seed: int = 0) -> Rows:
    """Random families, named by their smallest row."""
    labels = np.random.default_rng(seed).integers(0, max(1, size // max(1, most // 2)), size)
    first = {int(label): row for row, label in reversed(list(enumerate(labels)))}
    return np.array([first[int(label)] for label in labels], np.int64)


def rows_under(layout: TreeLayout, node: int) -> Rows:
    if layout.child_count[node] == 0:
        return np.flatnonzero(layout.leaf_of_row == node)
    return np.concatenate([rows_under(layout, child) for child in layout.children(node)])


def check_laws(layout: TreeLayout, vectors: Vectors, families: Rows, config: TreeSettings) -> None:
    size, nodes = len(vectors), len(layout.parent)
    assert all(len(column) == nodes for column in (layout.level, layout.first_child, layout.child_count))
    assert layout.centroids.shape == (nodes, vectors.shape[1])
    assert layout.centroids.dtype == np.float32
    if size == 0:
        assert nodes == 0
        return
    # One root; children are consecutive, one level below, and know their parent; all leaves have one level.
    assert layout.parent[0] == -1
    assert layout.level[0] == 0
    assert (layout.parent[1:] >= 0).all()
    seen = [0]
    for node in range(nodes):
        for child in layout.children(node):
            assert layout.parent[child] == node
            assert layout.level[child] == layout.level[node] + 1
            seen.append(child)
    assert sorted(seen) == list(range(nodes))
    assert (layout.child_count <= config.branching).all()
    leaves = layout.leaves()
    assert len(set(layout.level[leaves].tolist())) == 1
    assert ((layout.first_child == -1) == (layout.child_count == 0)).all()
    # Every row is in one leaf; no leaf is empty or above the cap.
    assert np.isin(layout.leaf_of_row, leaves).all()
    sizes = layout.leaf_sizes()
    assert sizes.sum() == size
    assert (sizes[leaves] >= 1).all()
    assert (sizes <= config.leaf_cap).all()
    # A family is in one leaf unless it is larger than the cap.
    split = []
    for family in np.unique(families):
        rows = np.flatnonzero(families == family)
        places = layout.leaf_of_row[rows]
        if len(rows) > config.leaf_cap:
            split.append(int(family))
        else:
            assert len(set(places.tolist())) == 1
    assert layout.split_families.tolist() == split
    # Centroids are the normalised means of their rows; siblings are ordered by smallest row.
    for node in range(nodes):
        rows = rows_under(layout, node)
        assert len(rows)
        mean = vectors[rows].astype(np.float64).sum(axis=0)
        length = np.linalg.norm(mean)
        if length > 1e-6:
            np.testing.assert_allclose(layout.centroids[node], mean / length, atol=1e-6)
        firsts = [rows_under(layout, child).min() for child in layout.children(node)]
        assert firsts == sorted(firsts)


def same_bytes(one: TreeLayout, other: TreeLayout) -> bool:
    return all(getattr(one, f.name).tobytes() == getattr(other, f.name).tobytes() for f in fields(TreeLayout))


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(0, 300),
    most=st.integers(1, 40),
    topics=st.integers(1, 20),
    zero=st.sampled_from([0.0, 0.2, 1.0]),
    branching=st.integers(2, 6),
    cap=st.integers(1, 12),
    levels=st.integers(1, 4),
    group_rows=st.sampled_from([20, 16_384]),
    seed=st.integers(0, 5),
)
def test_laws_of_random_trees(
    size: int,
    most: int,
    topics: int,
    zero: float,
    branching: int,
    cap: int,
    levels: int,
    group_rows: int,
    seed: int,
) -> None:
    config = TreeSettings(branching, levels, max(1, cap // 2), cap, second_margin=0.2)
    vectors, families = make_vectors(size, 6, topics, seed, zero), make_families(size, most, seed)
    layout = build_layout(vectors, families, config, seed, group_rows=group_rows)
    check_laws(layout, vectors, families, config)
    assert same_bytes(layout, build_layout(vectors, families, config, seed, group_rows=group_rows))
    second = layout.second_leaf_of_row
    assert np.count_nonzero(second >= 0) <= (config.replication - 1) * size
    assert (second != layout.leaf_of_row).all()
    assert np.isin(second[second >= 0], layout.leaves()).all()
    alone = np.bincount(families, minlength=size)[families] == 1
    assert (second[alone & ~vectors.any(axis=1)] == -1).all()


def test_default_shape_of_six_thousand_rows() -> None:
    vectors, families = make_vectors(6_500, 16, 90), make_families(6_500, 6)
    layout = build_layout(vectors, families)
    check_laws(layout, vectors, families, TreeSettings())
    sizes = layout.leaf_sizes()[layout.leaves()]
    assert layout.level.max() == 3
    assert sizes.min() >= 64
    assert (layout.second_leaf_of_row == -1).all()


def test_no_rows() -> None:
    layout = build_layout(np.empty((0, 5), np.float32), np.empty(0, np.int64))
    check_laws(layout, np.empty((0, 5), np.float32), np.empty(0, np.int64), TreeSettings())
    assert len(layout.leaves()) == 0
    assigned = assign_rows(layout, make_vectors(2, 5), np.arange(2))
    assert assigned.leaf_of_row.tolist() == [-1, -1]
    assert assigned.overfull.tolist() == []


@pytest.mark.parametrize("size", [1, 10, 128])
def test_a_store_that_fits_into_one_leaf_is_one_node(size: int) -> None:
    vectors = np.repeat(make_vectors(1), size, axis=0)
    for families in (np.arange(size), np.zeros(size, np.int64)):
        layout = build_layout(vectors, families)
        check_laws(layout, vectors, families, TreeSettings())
        assert layout.parent.tolist() == [-1]
        assert layout.leaf_of_row.tolist() == [0] * size
        assert layout.children(0) == range(-1, -1)


def test_identical_rows_fill_leaves() -> None:
    vectors = np.repeat(make_vectors(1), 1_000, axis=0)
    families = np.arange(1_000)
    for group_rows in (16_384, 300):
        layout = build_layout(vectors, families, group_rows=group_rows)
        check_laws(layout, vectors, families, TreeSettings())
        assert layout.leaf_sizes()[layout.leaves()].min() >= 64


def test_a_family_larger_than_a_leaf_is_split_in_row_order_and_named() -> None:
    families = np.array([0] * 20 + [20] * 5)
    vectors = make_vectors(25)
    layout = build_layout(vectors, families, SMALL)
    check_laws(layout, vectors, families, SMALL)
    assert layout.split_families.tolist() == [0]
    assert [len(set(layout.leaf_of_row[rows].tolist())) for rows in (slice(0, 7), slice(7, 14), slice(14, 20))] == [
        1
    ] * 3


def test_rows_without_a_vector_follow_their_family_or_get_leaves_of_their_own_in_row_order() -> None:
    vectors = make_vectors(40)
    vectors[[3, *range(30, 40)]] = 0.0
    families = np.arange(40)
    families[3] = 2
    layout = build_layout(vectors, families, SMALL)
    check_laws(layout, vectors, families, SMALL)
    assert layout.leaf_of_row[3] == layout.leaf_of_row[2]
    own = layout.leaf_of_row[30:]
    assert len(set(own[:8].tolist())) == 1
    assert len(set(own[8:].tolist())) == 1
    assert not np.isin(own, layout.leaf_of_row[:30]).any()
    assert not layout.centroids[own].any()


@pytest.mark.parametrize("dim", [0, 3])
def test_a_store_without_vectors_is_a_tree_in_row_order(dim: int) -> None:
    vectors = np.zeros((100, dim), np.float32)
    layout = build_layout(vectors, np.arange(100), SMALL)
    check_laws(layout, vectors, np.arange(100), SMALL)
    assert (np.diff(layout.leaf_of_row[:8]) == 0).all()
    assert not layout.centroids.any()


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="one family for each row"):
        build_layout(make_vectors(3), np.arange(2))
    broken = make_vectors(300)
    broken[7, 3] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        build_layout(broken, np.arange(300))


@pytest.mark.parametrize(
    "wrong",
    [
        {"branching": 1},
        {"levels": 0},
        {"leaf_min": 0},
        {"leaf_min": 200},
        {"second_margin": -0.1},
        {"second_margin": float("nan")},
        {"replication": 2.0},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        TreeSettings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("leaves", "levels"), [(0, 0), (1, 0), (2, 1), (15, 1), (16, 2), (63, 2), (64, 3), (4_096, 3), (4_097, 4)]
)
def test_levels_by_hand(leaves: int, levels: int) -> None:
    assert count_levels(leaves, TreeSettings()) == levels


def test_threads_change_nothing() -> None:
    script = (
        "import hashlib, numpy as np\n"
        "from assay.index.tree.clustering import build_layout\n"
        "from assay.index.tree.layout import TreeSettings\n"
        "raw = np.random.default_rng(2).standard_normal((3000, 96))\n"
        "unit = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)\n"
        "layout = build_layout(unit, np.arange(3000) // 2 * 2, TreeSettings(second_margin=.05))\n"
        "names = sorted(layout.__slots__)\n"
        "print(hashlib.sha256(b''.join(getattr(layout, name).tobytes() for name in names)).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2", "4")
    }
    assert len(runs) == 1


def test_grid_products_are_exact() -> None:
    vectors = make_vectors(200, 384)
    grid = to_grid(vectors)
    assert (dot(grid, grid) == grid.astype(np.int64) @ grid.astype(np.int64).T).all()
    longest = np.ones((1, 4_096), np.float32)
    assert 2**23 < dot(to_grid(longest), to_grid(longest))[0, 0] < 2**24
    np.testing.assert_allclose(dot(grid, grid) / grid_scale(384) ** 2, vectors @ vectors.T, atol=1e-3)
    sums = sum_by_label(grid, np.array([2] * 200), np.arange(200) % 3 * 2, 6)
    assert (sums[2] == 2 * grid[1::3].astype(np.int64).sum(axis=0)).all()
    assert not sums[1].any()


def test_capped_assignment_by_hand() -> None:
    similarities = np.array([[9, 8], [9, 1], [9, 5], [1, 9]], np.float32)
    # All but the last want cluster 0, which holds two: the point that loses least (9 − 8) moves.
    assert assign_capped(similarities, np.ones(4, np.int64), 2).tolist() == [1, 0, 0, 1]
    # The heavy point chooses first although it loses least; the point that fits nowhere opens cluster 2.
    assert assign_capped(similarities, np.array([2, 1, 1, 1]), 2).tolist() == [0, 1, 2, 1]


def test_small_clusters_are_filled_or_dissolved_by_hand() -> None:
    similarities = np.array([[9, 1], [9, 8], [9, 2], [1, 9]], np.float32)
    ones = np.ones(4, np.int64)
    assert fill_small(similarities, np.array([0, 0, 0, 1]), ones, 4, 2).tolist() == [0, 1, 0, 1]
    assert fill_small(similarities, np.array([0, 0, 0, 1]), ones, 4, 3).tolist() == [0, 0, 0, 0]
    assert fill_small(similarities, np.array([0, 0, 0, 1]), ones, 3, 3).tolist() == [0, 0, 0, 1]


def test_clusters_of_separate_topics_are_found() -> None:
    rng = np.random.default_rng(1)
    raw = np.eye(4)[np.repeat(np.arange(4), 10)] + 0.05 * rng.standard_normal((40, 4))
    points = to_grid(raw)
    labels = cluster_capped(points, np.ones(40, np.int64), 4, 12, 5, rng, starts=10)
    assert [len(set(labels[start : start + 10].tolist())) for start in range(0, 40, 10)] == [1] * 4
    assert len(set(labels.tolist())) == 4


def test_quality_is_close_to_uncapped_k_means() -> None:
    import faiss

    vectors = make_vectors(3_000, 32, 60, 3)
    layout = build_layout(vectors, np.arange(3_000))
    leaves = layout.leaves()
    capped = float((vectors * layout.centroids[layout.leaf_of_row]).sum(axis=1).mean())
    plain = faiss.Kmeans(32, len(leaves), niter=10, seed=1, spherical=True, min_points_per_centroid=1)
    plain.train(vectors)
    assert capped > 0.97 * float(plain.index.search(vectors, 1)[0].mean())


def test_centroids_of_equal_points() -> None:
    points = to_grid(np.repeat(make_vectors(1), 5, axis=0))
    assert find_centroids(points, np.ones(5, np.int64), 9, np.random.default_rng(1)).shape == (5, 16)


def test_new_rows_join_their_family_or_the_nearest_leaf() -> None:
    vectors = make_vectors(200, topics=30)
    families = np.arange(200)
    layout = build_layout(vectors, families, SMALL)
    fresh = make_vectors(50, topics=30, seed=9)
    fresh_families = np.arange(200, 250)
    fresh_families[:3] = 7  # known: the family of row 7
    fresh_families[11] = fresh_families[10]  # two new rows of one new family
    assigned = assign_rows(layout, fresh, fresh_families, SMALL)
    assert assigned.leaf_of_row[:3].tolist() == [layout.leaf_of_row[7]] * 3
    assert assigned.leaf_of_row[10] == assigned.leaf_of_row[11]
    leaves = layout.leaves()
    cosines = fresh @ layout.centroids.T
    chosen = cosines[np.arange(50), assigned.leaf_of_row]
    assert (chosen[12:] >= cosines[12:, leaves].max(axis=1) - 1e-3).all()
    sizes = layout.leaf_sizes() + np.bincount(assigned.leaf_of_row, minlength=len(layout.parent))
    assert assigned.overfull.tolist() == np.flatnonzero(sizes > SMALL.leaf_cap).tolist()
    assert len(assigned.overfull)


def test_new_rows_of_a_split_family_and_without_a_vector() -> None:
    families = np.array([0] * 20 + list(range(20, 40)))
    vectors = make_vectors(40)
    layout = build_layout(vectors, families, SMALL)
    fresh = np.concatenate([make_vectors(1, seed=4), np.zeros((2, 16), np.float32)])
    assigned = assign_rows(layout, fresh, np.array([0, 40, 41]), SMALL)
    leaves = layout.leaves()
    assert assigned.leaf_of_row[0] == leaves[np.argmax(fresh[0] @ layout.centroids[leaves].T)]
    sizes = layout.leaf_sizes()[leaves]
    assert assigned.leaf_of_row[1] == leaves[np.argmin(sizes)]
    assert assign_rows(layout, fresh[:0], np.empty(0, np.int64)).leaf_of_row.tolist() == []


def test_progress_ends_complete() -> None:
    seen: list[tuple[str, int, int]] = []
    build_layout(make_vectors(300), np.arange(300), progress=lambda *step: seen.append(step))
    assert seen[-1] == ("clustering chunks", 300, 300)
