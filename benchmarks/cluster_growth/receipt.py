"""Turns measured parts into the receipt: their facts, the fitted model, what it says of sizes that nobody measured.

Parts that the committed receipt has, and that were not measured anew, stay in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cluster_growth.model import (
    BUILD,
    EXACT_QUERY,
    GRAPH_QUERY,
    GRAPHS,
    MEMORY,
    GrowthPoint,
    extrapolate,
    report_form,
)
from benchmarks.cluster_growth.parts import DIM, QUERIES, GrowthPart
from benchmarks.measure import RECEIPTS, write_receipt

HELD_OUT = ("exact-1M-3", "hnsw-1M-3", "int8-3M-3")
"""Chosen before they were measured: of each kind the largest part on the most nodes."""
NODE_GB = 64.0
SIZES = (1e6, 1e7, 1e8, 1e9)
_WIDEST = 1_024.0
_NAME = "cluster_growth"
Part = Mapping[str, Any]


def write_growth(home: Path) -> Path:
    parts = {**read_committed(RECEIPTS / f"{_NAME}.json"), **_read_measured(home)}
    parts = dict(sorted(parts.items(), key=lambda one: (one[1]["vectors"], one[1]["rows"], one[1]["nodes"])))
    points, reports = fit_forms(parts)
    return write_receipt(
        _NAME,
        {
            "dim": DIM,
            "queries": QUERIES,
            "parts": parts,
            "model": reports,
            "node_gb": NODE_GB,
            "extrapolated": extrapolate(points, reports, SIZES, NODE_GB, _WIDEST),
        },
    )


def read_committed(receipt: Path) -> dict[str, Part]:
    """The parts of a receipt; each names the commit that it was measured at."""
    content = json.loads(receipt.read_text("utf-8"))
    commit = content["machine"]["commit"]
    return {
        name: {"commit": commit, "vectors": name.split("-")[0], **part}
        for name, part in content["measured"]["parts"].items()
    }


def _read_measured(home: Path) -> dict[str, Part]:
    parts = [GrowthPart(file.stem, home) for file in home.glob("*-*-*.json")]
    return {
        part.name: {
            "vectors": part.settings.vectors,
            "rows": part.size,
            "nodes": part.nodes,
            **{key: part.facts[key] for key in ("commit", "build", "query")},
        }
        for part in parts
        if "query" in part.facts
    }


def fit_forms(parts: Mapping[str, Part]) -> tuple[dict[str, list[GrowthPoint]], dict[str, Any]]:
    """The points that every form was fitted to, and what came of it."""
    points, reports = {}, {}
    for form, (kinds, read) in _READ.items():
        every = {
            name: GrowthPoint(
                part["vectors"],
                part["rows"],
                part["nodes"],
                part["query"].get("chosen", {}).get("ef", 0),
                read(part),
            )
            for name, part in parts.items()
            if part["vectors"] in kinds and read(part)
        }
        points[form] = [point for name, point in every.items() if name not in HELD_OUT]
        held_out = {name: point for name, point in every.items() if name in HELD_OUT}
        reports[form] = report_form(form, points[form], held_out)
    return points, reports


def _query_ms(part: Part) -> float:
    return float(part["query"]["k=100"]["server_cpu_ms"])


def _build_s(part: Part) -> float:
    return float(part["build"]["server_cpu_s"])


def _memory_mb(part: Part) -> float:
    """Resident memory. Where the originals are on disk, what serving needs, before the truth made all of them be read;
    0 for parts that were measured before this was noted."""
    query = part["query"]
    return float(sum(query.get("serving_mb", []) if part["vectors"] == "int8" else query["resident_mb"]))


_READ: dict[str, tuple[Sequence[str], Callable[[Part], float]]] = {
    EXACT_QUERY: (("exact",), _query_ms),
    GRAPH_QUERY: (GRAPHS, _query_ms),
    BUILD: (GRAPHS, _build_s),
    MEMORY: (GRAPHS, _memory_mb),
}
"""What is modelled → the kinds of parts that it is fitted to, and how it is read."""
