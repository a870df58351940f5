"""Turns measured parts into the receipt: their facts, the fitted model, what it says of sizes that nobody measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.cluster_growth.model import (
    BUILD,
    EXACT_QUERY,
    GRAPH_QUERY,
    MEMORY,
    GrowthPoint,
    extrapolate,
    report_form,
)
from benchmarks.cluster_growth.parts import DIM, QUERIES, GrowthPart
from benchmarks.measure import write_receipt

HELD_OUT = ("hnsw-1M-1",)
NODE_GB = 64.0
SIZES = (1e6, 1e7, 1e8, 1e9)
_WIDEST = 1_024.0


def write_growth(home: Path) -> Path:
    parts = {file.stem: GrowthPart(file.stem, home) for file in sorted(home.glob("*-*-*.json"))}
    measured = {name: part for name, part in parts.items() if "query" in part.facts}
    forms = {
        EXACT_QUERY: ("exact", lambda facts: facts["query"]["k=100"]["server_cpu_ms"]),
        GRAPH_QUERY: ("hnsw", lambda facts: facts["query"]["k=100"]["server_cpu_ms"]),
        BUILD: ("hnsw", lambda facts: facts["build"]["server_cpu_s"]),
        MEMORY: ("hnsw", lambda facts: sum(facts["query"]["resident_mb"])),
    }
    points: dict[str, Sequence[GrowthPoint]] = {}
    reports = {}
    for form, (kind, read) in forms.items():
        chosen = {name: part for name, part in measured.items() if name.startswith(f"{kind}-")}
        every = {
            name: GrowthPoint(
                part.size, part.nodes, part.facts["query"].get("chosen", {}).get("ef", 0), read(part.facts)
            )
            for name, part in chosen.items()
        }
        points[form] = [point for name, point in every.items() if name not in HELD_OUT]
        held_out = next((point for name, point in every.items() if name in HELD_OUT), None)
        reports[form] = report_form(form, points[form], held_out)
    return write_receipt(
        "cluster_growth",
        {
            "dim": DIM,
            "queries": QUERIES,
            "parts": {
                name: {
                    "rows": part.size,
                    "nodes": part.nodes,
                    **{key: part.facts[key] for key in ("build", "query")},
                }
                for name, part in sorted(
                    measured.items(), key=lambda one: (one[0].split("-")[0], one[1].size, one[1].nodes)
                )
            },
            "model": reports,
            "node_gb": NODE_GB,
            "extrapolated": extrapolate(points, reports, SIZES, NODE_GB, _WIDEST),
        },
    )
