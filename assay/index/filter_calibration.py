"""Calibrates filtered vector search: the share of misses it may expect, measured on filters made of the vectors.

Three kinds of filters keep a tenth of the rows, or more where a tenth is so few that all are scored: rows by chance;
the rows nearest to a vector of the store, as topics, authors and dates do; and the rows nearest to the one of these
vectors that is farthest from the query, so that the answer lies where the query does not point.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.filtered_search import FILTERS, FilteredSearch, FilterRows
from assay.types import Floats, Vectors
from assay.where import Mask

MISSED = (0.03, 0.01, 0.003, 0.001)
"""Expected misses as a share of the wanted rows, the cheapest first."""
_CENTRES, _QUERIES = 8, 24
_SHARE, _LARGEST_SHARE = 0.1, 0.5
_BLOCK = 65_536


def calibrate_filters(
    search: FilteredSearch, matrix: Vectors, has: Mask, queries: Vectors, depth: int, wanted: float, fewest: int
) -> dict[str, Any]:
    """Return the largest share of misses with which every kind of filter reaches the wanted recall, and the recall.

    A filter that keeps fewer than `fewest` rows is not searched by lists.
    """
    count = int(np.count_nonzero(has))
    share = min(max(_SHARE, 2 * fewest / count), _LARGEST_SHARE)
    facts: dict[str, Any] = {"missed": MISSED[-1], "share": share, "recall": {}}
    if share * count <= fewest:
        return facts
    queries = queries[:_QUERIES]
    rng = np.random.default_rng(3)
    centres = matrix[rng.choice(np.flatnonzero(has), _CENTRES)]
    scores = _score_all(matrix, np.concatenate([queries, centres]))
    filters = _make_filters(scores[len(queries) :], has, share, queries @ centres.T, rng)
    truth = {
        name: [_best(scores[place], rows.allowed, depth) for place, rows in enumerate(each)]
        for name, each in filters.items()
    }
    for missed in MISSED:
        trial = replace(search, missed=missed)
        facts["missed"] = missed
        facts["recall"] = {name: _recall(trial, queries, each, truth[name]) for name, each in filters.items()}
        if min(facts["recall"].values()) >= wanted:
            break
    return facts


def write_calibration(folder: Path, facts: dict[str, Any]) -> None:
    (folder / FILTERS).write_text(json.dumps(facts, sort_keys=True))


def _score_all(matrix: Vectors, queries: Vectors) -> NDArray[np.float32]:
    scores = np.empty((len(queries), len(matrix)), np.float32)
    for start in range(0, len(matrix), _BLOCK):
        scores[:, start : start + _BLOCK] = queries @ matrix[start : start + _BLOCK].T
    return scores


def _make_filters(
    towards: NDArray[np.float32], has: Mask, share: float, similar: Floats, rng: np.random.Generator
) -> dict[str, Sequence[FilterRows]]:
    """One filter for each query and kind."""
    kept = int(share * np.count_nonzero(has))
    by_chance = FilterRows(has & (rng.random(len(has)) < share))
    regions = []
    for line in towards:
        ordered = np.where(has, line, -np.inf)
        regions.append(FilterRows(has & (ordered >= np.partition(ordered, len(has) - kept)[len(has) - kept])))
    return {
        "chance": [by_chance] * len(similar),
        "region": [regions[place % len(regions)] for place in range(len(similar))],
        "far region": [regions[place] for place in np.argmin(similar, axis=1).tolist()],
    }


def _best(scores: NDArray[np.float32], allowed: Mask, depth: int) -> NDArray[np.int64]:
    rows = np.flatnonzero(allowed)
    return rows[np.argpartition(-scores[rows], depth - 1)[:depth]]


def _recall(
    search: FilteredSearch, queries: Vectors, filters: Sequence[FilterRows], truth: Sequence[NDArray[np.int64]]
) -> float:
    """The mean share of the truly best rows that a search finds."""
    shares = []
    for query, rows, right in zip(queries, filters, truth, strict=True):
        found, scores = search.nearest(query, len(right), rows)
        best = found[np.argpartition(-scores, len(right) - 1)[: len(right)]]
        shares.append(np.isin(right, best).mean())
    return round(float(np.mean(shares)), 4)
