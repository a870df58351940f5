"""Run receipts made by hand: what compare, gates and grids read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.bench.receipt import Receipt

STRATA = {"type=a": [0, 1], "type=b": [2, 3]}


def a_run(
    scores: Mapping[str, Sequence[float | None]] | Sequence[float] = (0.5, 0.5, 0.5, 0.5),
    name: str = "new",
    *,
    strata: Mapping[str, Sequence[int]] | None = None,
    dataset: Mapping[str, str] | None = None,
    p95: float | None = 10.0,
    run: str = "one",
    **changes: Any,
) -> Receipt:
    """A receipt whose columns are given; a plain list is nDCG@10."""
    columns = dict(scores) if isinstance(scores, Mapping) else {"nDCG@10": list(scores)}
    length = len(next(iter(columns.values()), ()))
    canonical: dict[str, Any] = {
        "dataset": {"name": "toy", "source": "toy", "split": "test", "digest": "d" * 64, **(dataset or {})},
        "system": {"name": name, "spec": {"k": 10}, "digest": f"{name}-digest"},
        "status": "measured",
        "why": None,
        "queries": [f"q{place:03d}" for place in range(length)],
        "strata": {} if strata is None else dict(strata),
        "scores": columns,
    }
    latency = {} if p95 is None else {"latency_ms": {"total": {"p50": p95 / 2, "p95": p95, "p99": p95 * 2}}}
    return Receipt("run", {**canonical, **changes}, {"run": run, **latency})


def unmeasured(why: str = "dense cannot run", name: str = "new") -> Receipt:
    return a_run([0.0] * 4, name, status="not_measured", why={"code": "text", "values": {"text": why}})
