"""The strong flat baseline on public test sets: a sanity check that it is strong. Nothing here is gated.

nDCG@10 stands beside the values that the BEIR paper publishes for BM25 and for BM25 with a cross-encoder, so that a
baseline that is weak for lack of care is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.rb006.systems import find_systems
from assay.bench.runner import RunPlan, get_mean
from assay.bench.systems import make_system
from assay.bench.workspace import prepare
from assay.errors import ConfigError, nearest
from assay.types import Progress

SYSTEMS = ("bm25", "dense", "hybrid", "flat-strong")
METRICS = ("nDCG@10", "R@100")
PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "scifact": {"bm25": 0.665, "bm25 + cross-encoder": 0.688},
    "nfcorpus": {"bm25": 0.325, "bm25 + cross-encoder": 0.350},
}
"""nDCG@10 as in table 2 of BEIR (Thakur and others, 2021)."""


def check_sets(names: Sequence[str]) -> None:
    """Every name must be a set with published values."""
    for name in names:
        if name not in PUBLISHED:
            raise ConfigError(f"there is no public set {name!r} for the flat baseline", nearest(name, PUBLISHED))


def measure_public(
    names: Sequence[str],
    out: Path,
    *,
    rerank: str,
    progress: Progress = lambda *_: None,
    cache: Path | None = None,
) -> list[dict[str, Any]]:
    """One line for each set: means by system and metric. Receipts are kept in `out`, so an interrupted run goes on."""
    check_sets(names)
    systems = []
    for one in find_systems(SYSTEMS, rerank=rerank):
        assert one.pipeline is not None
        systems.append(make_system(one.pipeline, one.name))
    lines = []
    for name in names:
        dataset = load(name, "test")
        with prepare(dataset, progress=progress, cache=cache) as workspace:
            done = lab.run(dataset, systems, workspace, RunPlan(METRICS), out=out, timed=False, progress=progress)
            lines.append(
                {
                    "set": name,
                    "split": "test",
                    "dataset": dataset.digest,
                    "queries": len(dataset.scored),
                    "chunks": workspace.snapshot.size,
                    "systems": {
                        system: {metric: get_mean(receipt, metric) for metric in METRICS}
                        for system, receipt in done.receipts.items()
                    },
                    "published": dict(PUBLISHED[name]),
                }
            )
    return lines
