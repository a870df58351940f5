"""The growth model finds the parameters that points were made with, and says how wrong it is where they do not fit."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import pytest

from benchmarks.cluster_growth.model import (
    BUILD,
    EXACT_QUERY,
    GRAPH_QUERY,
    MEMORY,
    GrowthModel,
    GrowthPoint,
    extrapolate,
    report_form,
)
from benchmarks.cluster_growth.receipt import fit_forms, read_committed


def _graph_ms(kind: str, n: float, s: float, ef: float) -> GrowthPoint:
    """2 ms a request; a candidate costs .001 in hnsw and .0005 in int8."""
    slope = {"hnsw": 0.001, "int8": 0.0005}[kind]
    return GrowthPoint(kind, n, s, ef, s * (2.0 + slope * ef * log(n / s)))


def test_parameters_of_both_kinds_are_found() -> None:
    points = [_graph_ms("hnsw", 1e5, 1, 512), _graph_ms("hnsw", 1e5, 3, 512), _graph_ms("int8", 1e6, 1, 1024)]
    assert GrowthModel.fit(GRAPH_QUERY, points).parameters == pytest.approx((2.0, 0.001, 0.0005))


def test_a_part_that_was_held_out_is_not_fitted_and_its_error_is_signed() -> None:
    points = [GrowthPoint("exact", n, 1, 0, 1.0 + n * 1e-4) for n in (1e4, 1e5)]
    report = report_form(EXACT_QUERY, points, {"far": GrowthPoint("exact", 1e6, 2, 0, 204.0)})
    assert report["largest_error"] == 0.0
    assert report["held_out"]["far"] == {"measured": 204.0, "predicted": 102.0, "error": -0.5}


def test_a_kind_that_no_part_has_gets_no_cost() -> None:
    points = [GrowthPoint("hnsw", n, s, 0, 100.0 * s + n * 0.003) for n, s in ((1e5, 1), (1e5, 3), (3e5, 1))]
    assert GrowthModel.fit(MEMORY, points).parameters == pytest.approx((100.0, 0.003, 0.0))


def test_no_cost_is_negative_where_more_nodes_were_faster() -> None:
    sizes = (3e5, 1, 30.0), (1e6, 1, 100.0), (3e5, 2, 20.0)
    sending, linking, _ = GrowthModel.fit(
        BUILD, [GrowthPoint("hnsw", n, s, 0, value) for n, s, value in sizes]
    ).parameters
    assert sending == 0.0
    assert linking > 0.0


def test_an_extrapolation_takes_as_many_nodes_as_its_memory_needs() -> None:
    kinds = {"hnsw": 0.004, "int8": 0.002}
    sizes = [(kind, n, s) for kind in kinds for n, s in ((1e5, 1), (1e6, 1), (1e6, 3))]
    points = {
        MEMORY: [GrowthPoint(kind, n, s, 512, s * 100.0 + n * kinds[kind]) for kind, n, s in sizes],
        GRAPH_QUERY: [_graph_ms(kind, n, s, 512) for kind, n, s in sizes],
        BUILD: [GrowthPoint(kind, n, s, 512, n * (1 - 1 / s) * 1e-4 + n * log(n / s) * 1e-5) for kind, n, s in sizes],
    }
    reports = {form: report_form(form, some, {}) for form, some in points.items()}
    entries = extrapolate(points, reports, (1e8,), 64.0, 1_024.0)
    # 400 GB and 200 GB of rows on nodes that keep 63.9 GB for them
    assert [(entry["vectors"], entry["nodes"], entry["memory_gb"]) for entry in entries] == [
        ("hnsw", 7, 401),
        ("int8", 4, 200),
    ]


def test_the_committed_receipt_follows_from_its_parts() -> None:
    receipt = Path(__file__).parents[2] / "receipts" / "cluster_growth.json"
    _, reports = fit_forms(read_committed(receipt))
    committed = json.loads(receipt.read_text("utf-8"))["measured"]["model"]
    assert json.loads(json.dumps(reports)) == committed
