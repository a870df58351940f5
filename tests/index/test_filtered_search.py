"""Vector search with a filter, against brute force: filters by chance, of regions, and against the query."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.index import filter_calibration as calibration
from assay.index import filtered_search
from assay.index import vectors as module
from assay.index import vectors_builder as builder
from assay.index.filtered_search import FILTERS, FilteredSearch, FilterRows, RecentFilters
from assay.index.list_spread import ListSpread, expected_above, measure_spread
from assay.index.vectors import VectorIndex
from assay.index.vectors_builder import build_vectors
from assay.types import Rows, Vector, Vectors
from assay.where import Mask

SIZE, DIM, K = 12_000, 32, 100


def normalise(raw: NDArray[np.float64]) -> Vectors:
    return (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def matrix() -> Vectors:
    """Families of vectors around centres that are themselves in groups, as topics are."""
    rng = np.random.default_rng(4)
    groups = rng.normal(size=(6, DIM))
    centres = groups[rng.integers(6, size=90)] + 0.7 * rng.normal(size=(90, DIM))
    return normalise(centres[rng.integers(90, size=SIZE)] + 0.45 * rng.normal(size=(SIZE, DIM)))


@pytest.fixture(scope="module")
def queries(matrix: Vectors) -> Vectors:
    rng = np.random.default_rng(5)
    return normalise(matrix[rng.choice(SIZE, 25)] + 0.2 * rng.normal(size=(25, DIM)))


@pytest.fixture(scope="module")
def folder(matrix: Vectors, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index")
    matrix.tofile(path / "vectors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "EXACT", 100)
        build_vectors(path, SIZE, DIM, np.ones(SIZE, np.bool_), 100)
    return path


@pytest.fixture
def index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> VectorIndex:
    """An index that scores all eligible rows only where they are very few."""
    monkeypatch.setattr(module, "EXACT", 100)
    monkeypatch.setattr(module, "_GATHER", 100)
    return VectorIndex(folder, SIZE, DIM)


def make_filter(kind: str, share: float, matrix: Vectors, query: Vector) -> Mask:
    rng, kept = np.random.default_rng(6), int(share * SIZE)
    centre = matrix[rng.choice(SIZE, 12)]
    towards = {
        "chance": rng.random(SIZE),
        "region": matrix @ centre[0],
        "far region": matrix @ centre[int(np.argmin(centre @ query))],
        "near region": matrix @ centre[int(np.argmax(centre @ query))],
        "against the query": -(matrix @ query),
    }[kind]
    mask: Mask = towards >= np.partition(towards, SIZE - kept)[SIZE - kept]
    return mask


@pytest.mark.parametrize("share", [0.02, 0.05, 0.12, 0.3, 0.5])
@pytest.mark.parametrize("kind", ["chance", "region", "far region", "near region", "against the query"])
def test_a_filter_of_any_kind_keeps_recall_and_is_never_short(
    index: VectorIndex, matrix: Vectors, queries: Vectors, kind: str, share: float
) -> None:
    found = []
    for query in queries:
        mask = make_filter(kind, share, matrix, query)
        rows, scores = index.nearest(query, K, mask)
        assert mask[rows].all()
        assert len(set(rows.tolist())) == len(rows) >= K, "a short list"
        exact = np.where(mask, matrix @ query, -np.inf)
        truth = np.argpartition(-exact, K - 1)[:K]
        found.append(np.isin(truth, rows[np.argsort(-scores)][:K]).mean())
    assert np.mean(found) >= 0.985
    assert min(found) >= 0.85


def test_the_calibration_records_the_recall_of_each_kind(folder: Path) -> None:
    facts = json.loads((folder / FILTERS).read_text())
    assert facts["missed"] in calibration.MISSED
    assert facts["share"] == 0.1
    assert set(facts["recall"]) == {"chance", "region", "far region"}
    assert min(facts["recall"].values()) >= 0.985


def test_a_filter_of_few_rows_is_exact(folder: Path, matrix: Vectors, queries: Vectors) -> None:
    index = VectorIndex(folder, SIZE, DIM)
    mask = np.random.default_rng(1).random(SIZE) < 0.5
    assert module._GATHER < np.count_nonzero(mask) <= module.EXACT
    for query in queries[:5]:
        rows, scores = index.nearest(query, K, mask)
        exact = np.where(mask, matrix @ query, -np.inf)
        assert set(rows[np.argsort(-scores)][:K].tolist()) == set(np.argsort(-exact)[:K].tolist())


def test_an_index_of_an_older_release_scores_all_eligible_rows(
    index: VectorIndex, matrix: Vectors, queries: Vectors, tmp_path: Path
) -> None:
    for name in ("vectors", "vectors.has", "vectors.json", "vectors.ivf"):
        (tmp_path / name).symlink_to(index._folder / name)
    old = VectorIndex(tmp_path, SIZE, DIM)
    assert old.filters is None
    mask = matrix[:, 0] > 0
    rows, scores = old.nearest(queries[0], K, mask)
    exact = np.where(mask, matrix @ queries[0], -np.inf)
    assert set(rows[np.argsort(-scores)][:K].tolist()) == set(np.argsort(-exact)[:K].tolist())


class Recorder:
    """Reads the lists of an index, and records which, in which way."""

    def __init__(self, matrix: Vectors, proposal: Rows | None = None) -> None:
        self.matrix, self.proposal = matrix, proposal
        self.scored: set[int] = set()
        self.scans: list[tuple[set[int], int]] = []

    def score(self, query: Vector, rows: Rows) -> Vector:
        self.scored |= set(rows.tolist())
        return self.matrix[rows] @ query

    def scan(self, query: Vector, lists: Rows, fetch: int, allowed: Mask) -> Rows:
        self.scans.append((set(lists.tolist()), fetch))
        assert self.proposal is not None
        return self.proposal[:fetch]


def line_of_lists(count: int, each: int, noise: float = 0.01) -> tuple[Vectors, ListSpread]:
    """Lists that lie one behind the other in the direction of the first axis."""
    rng = np.random.default_rng(2)
    place = np.repeat(np.arange(count), each)
    matrix = noise * rng.normal(size=(len(place), 8)).astype(np.float32)
    matrix[:, 0] += 1 - 0.1 * place
    return matrix, measure_spread(matrix, place.astype(np.int32), count)


def test_lists_without_eligible_rows_are_not_read_and_far_ones_neither() -> None:
    matrix, spread = line_of_lists(10, 50)
    query = np.eye(8, dtype=np.float32)[0]
    mask = (spread.lists % 2 == 1) & (np.arange(500) % 5 == 0)  # ten rows of every other list
    reader = Recorder(matrix)
    rows, _ = FilteredSearch(reader, spread, 1, 1.5, 0.001).nearest(query, 10, FilterRows(mask))
    assert set(rows.tolist()) == set(np.flatnonzero(mask & (spread.lists == 1)).tolist())
    assert reader.scored == set(rows.tolist())
    assert not reader.scans, "one row in five: scoring them is cheaper than reading codes"


def test_further_lists_are_read_while_they_can_hold_better_rows() -> None:
    """Lists that reach into each other: the nearest one has rows enough, but not all of the best."""
    matrix, spread = line_of_lists(10, 200, noise=0.1)
    query = np.eye(8, dtype=np.float32)[0]
    mask = np.arange(2_000) % 20 == 0
    exact = np.where(mask, matrix @ query, -np.inf)
    truth = set(np.argsort(-exact)[:10].tolist())
    read = {}
    for missed in (10.0, 0.001):
        reader = Recorder(matrix)
        rows, scores = FilteredSearch(reader, spread, 1, 1.5, missed).nearest(query, 10, FilterRows(mask))
        read[missed] = truth & set(rows[np.argsort(-scores)][:10].tolist())
        assert len(reader.scored) < np.count_nonzero(mask), "not all of them"
    assert len(read[10.0]) < 10, "the first wave alone misses some"
    assert read[0.001] == truth


def test_codes_that_do_not_order_the_rows_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proposal with the best rows at its end is fetched four times as long, and then all rows are scored."""
    matrix, spread = line_of_lists(1, 4_000)
    query = np.eye(8, dtype=np.float32)[0]
    worst_first = np.argsort(matrix @ query)
    mask = np.ones(4_000, np.bool_)
    reader = Recorder(matrix, worst_first)
    rows, scores = FilteredSearch(reader, spread, 1, 1.5, 0.001).nearest(query, 20, FilterRows(mask))
    assert [fetch for _, fetch in reader.scans] == [30, 120]
    assert set(rows[np.argsort(-scores)][:20].tolist()) == set(worst_first[-20:].tolist())

    reader = Recorder(matrix, worst_first[::-1])
    rows, scores = FilteredSearch(reader, spread, 1, 1.5, 0.001).nearest(query, 20, FilterRows(mask))
    assert [fetch for _, fetch in reader.scans] == [30]
    assert set(rows[np.argsort(-scores)][:20].tolist()) == set(worst_first[-20:].tolist())
    monkeypatch.setattr(filtered_search, "ROW_COST", 0)
    reader = Recorder(matrix)
    FilteredSearch(reader, spread, 1, 1.5, 0.001).nearest(query, 20, FilterRows(mask))
    assert not reader.scans


def test_expected_above_by_hand() -> None:
    counts = np.array([10, 10, 10, 0])
    mean = np.array([0.5, 0.3, 0.9, 0.9], np.float32)
    deviation = np.full(4, 0.1, np.float32)
    # a list whose mean is above the score may be better as a whole; else 10 · exp(−z²/2) / 2 with z = 1 and 3
    assert expected_above(0.6, counts, mean, deviation) == pytest.approx([3.0327, 0.05554, 10.0, 0.0], rel=1e-3)


def test_the_spread_of_lists() -> None:
    """Two families on one axis: its deviation is that axis, and what is left scatters little."""
    rng = np.random.default_rng(3)
    matrix = np.zeros((90, 4), np.float32)
    matrix[:40, 1], matrix[40:80, 1] = 1.0, -1.0
    matrix[:80] += rng.normal(0, 0.01, size=(80, 4))
    matrix[80:, 2] = 1.0
    lists = np.array([0] * 80 + [-1] * 7 + [2] * 3, np.int32)
    spread = measure_spread(matrix, lists, 3)
    assert spread.sizes.tolist() == [80, 0, 3]
    assert spread.means[0] == pytest.approx(np.zeros(4), abs=0.01)
    assert np.abs(spread.axes[0]) == pytest.approx([0, 1, 0, 0], abs=0.02)
    assert spread.scatter[0] == pytest.approx(3e-4, rel=0.4)
    assert spread.scatter[2] == spread.scatter[0], "three rows say nothing of their own"
    assert not spread.axes[1:].any()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 1.0])
def test_rows_are_counted_by_list(share: float) -> None:
    rng = np.random.default_rng(7)
    lists = rng.integers(-1, 9, 500).astype(np.int32)
    spread = measure_spread(rng.normal(size=(500, 4)).astype(np.float32), lists, 9)
    allowed = (rng.random(500) < share) & (lists >= 0)
    counted = spread.count_rows(allowed, int(np.count_nonzero(allowed)))
    assert counted.tolist() == [int(np.count_nonzero(allowed & (lists == number))) for number in range(9)]


def test_spread_of_other_vectors_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="does not belong"):
        ListSpread.read(folder, SIZE - 1, DIM)


def test_the_rows_of_the_last_filters_are_remembered() -> None:
    recent, made = RecentFilters(), []

    def make(mask: Mask) -> FilterRows:
        made.append(mask)
        return FilterRows(mask)

    masks = [np.random.default_rng(seed).random(50) < 0.5 for seed in range(6)]
    first = recent.get(masks[0], lambda: make(masks[0]))
    assert recent.get(masks[0], lambda: make(masks[0])) is first
    assert recent.get(masks[0].copy(), lambda: make(masks[0])) is not first, "known by identity, not by content"
    for mask in masks[1:]:
        assert recent.get(mask, lambda mask=mask: make(mask)).rows.tolist() == np.flatnonzero(mask).tolist()
    assert recent.get(masks[0], lambda: make(masks[0])) is not first, "forgotten after four others"
    assert len(made) == 8
