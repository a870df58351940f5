"""Reads a run's receipt into checked columns for comparisons and gates, and checks that two runs are comparable.

Receipts are untrusted input: a column of the wrong length, a score that is no number or a stratum that points outside
is an error that names the system and the place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.messages import why
from assay.bench.metrics import from_json
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.stats.latency import latency_interval
from assay.bench.types import ALL, Scores
from assay.errors import nearest

_RERUN = "make it again: assay bench run"


@dataclass(frozen=True, eq=False)
class RunColumns:
    """One system on one split. `why` is empty for a run that was measured, else the reason it was not.

    `scores` holds one column per metric, in the order of `queries`, NaN where a query has no value; `strata` the
    places of each stratum's queries.
    `run` names the run that timed it, `latency_ms` what it took, by stage and percentile, and `latency_samples` the
    times of each timed question, by stage; all come from the measured half, which no digest covers.
    """

    receipt: str
    system: str
    system_digest: str
    dataset: Mapping[str, str]
    queries: tuple[str, ...]
    strata: Mapping[str, NDArray[np.int64]]
    scores: Mapping[str, Scores]
    why: str
    run: str
    latency_ms: Mapping[str, Mapping[str, float]]
    latency_samples: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def values(self, metric: str, scope: str = ALL) -> Scores:
        """The scope's scores, without queries for which the metric has no value."""
        column = self.scores[metric][self.scopes()[scope]]
        return column[~np.isnan(column)]

    def groups(self, field: str) -> NDArray[np.str_]:
        """Each query's group: its stratum of this field; a query without one is a group of its own."""
        members = {name: places for name, places in self.strata.items() if name.startswith(f"{field}=")}
        if not members:
            fields = {name.partition("=")[0] for name in self.strata}
            raise ReceiptError(f"{self.dataset['name']} has no strata by {field!r}", nearest(field, fields))
        groups = np.array([f"query {query}" for query in self.queries], object)
        for name, places in members.items():
            groups[places] = name
        return groups.astype(np.str_)

    def scopes(self) -> dict[str, NDArray[np.int64]]:
        """All queries, then every stratum in name order."""
        return {ALL: np.arange(len(self.queries)), **self.strata}


def read_columns(receipt: Receipt) -> RunColumns:
    """The columns of a run's receipt."""
    if receipt.kind != "run":
        raise ReceiptError(f"a receipt of kind {receipt.kind!r} holds no scores of its own", "name receipts of runs")
    canonical = receipt.canonical
    system = _table(canonical, "system", "the receipt")
    name = _text(system, "name", "the receipt's system")
    dataset = _table(canonical, "dataset", name)
    status = _text(canonical, "status", name)
    if status not in ("measured", "not_measured"):
        raise ReceiptError(f"{name}: status {status!r} is neither measured nor not_measured", _RERUN)
    measured = status == "measured"
    queries = _names(canonical.get("queries"), f"{name}: queries") if measured else ()
    columns = _columns(canonical, name, len(queries)) if measured else {}
    return RunColumns(
        receipt=receipt.digest,
        system=name,
        system_digest=_text(system, "digest", name),
        dataset={key: _text(dataset, key, f"{name}: dataset") for key in ("name", "split", "digest")},
        queries=queries,
        strata=_strata(canonical, name, len(queries)) if measured else {},
        scores=columns,
        why="" if measured else why(receipt) or "no reason is given",
        run=str(receipt.measured.get("run", "")),
        latency_ms=_latency(receipt.measured.get("latency_ms")),
        latency_samples=_samples(receipt.measured.get("latency_samples")),
    )


def check_fit(baseline: RunColumns, other: RunColumns) -> None:
    """Raise unless two runs are comparable: same dataset, split, queries and strata."""
    cure = f"run both in one go: assay bench run {baseline.dataset['name']} --systems …"
    first, second = baseline.dataset, other.dataset
    pair = f"{baseline.system} and {other.system}"
    for key in ("name", "split"):
        if first[key] != second[key]:
            raise ReceiptError(f"{pair} differ in the dataset's {key}: {first[key]} and {second[key]}", cure)
    if first["digest"] != second["digest"]:
        raise ReceiptError(
            f"{pair} ran on {first['name']}, but its documents, topics or judgements differ: digests "
            f"{first['digest'][:12]} and {second['digest'][:12]}",
            cure,
        )
    if baseline.why or other.why:
        return  # a run that was not measured has no queries to differ in
    if baseline.queries != other.queries:
        only = sorted(set(baseline.queries) ^ set(other.queries))
        detail = f"{len(only)} stand in only one of them, first {only[0]!r}" if only else "they stand in another order"
        raise ReceiptError(f"{pair} differ in their queries: {detail}", cure)
    if {k: v.tolist() for k, v in baseline.strata.items()} != {k: v.tolist() for k, v in other.strata.items()}:
        raise ReceiptError(f"{pair} differ in their strata", cure)


def check_metric(metric: str, runs: Sequence[RunColumns]) -> None:
    """Every run has the metric, for the same queries."""
    for run in runs:
        if metric not in run.scores:
            raise ReceiptError(f"{run.system} was not scored by {metric}", nearest(metric, run.scores))
        if not np.array_equal(np.isnan(run.scores[metric]), np.isnan(runs[0].scores[metric])):
            raise ReceiptError(f"{runs[0].system} and {run.system} have {metric} for different queries", _RERUN)


def latency_ratio(baseline: RunColumns, other: RunColumns, stage: str, percentile: str) -> tuple[float | None, str]:
    """other / baseline, or None and the reason. Only times of one run are comparable."""
    if not baseline.run or not other.run:
        return None, "not comparable (not timed)"
    if baseline.run != other.run:
        return None, "not comparable (different runs)"
    time = other.latency_ms.get(stage, {}).get(percentile)
    baseline_time = baseline.latency_ms.get(stage, {}).get(percentile)
    if time is None or baseline_time is None or baseline_time <= 0.0:
        return None, f"not comparable (no time of {stage} {percentile})"
    return time / baseline_time, ""


def ratio_interval(baseline: RunColumns, other: RunColumns, stage: str, percentile: str) -> tuple[float, float] | None:
    """The interval of `latency_ratio`; None where the runs have no times of single questions."""
    a, b = baseline.latency_samples.get(stage), other.latency_samples.get(stage)
    if a is None or b is None or len(a) != len(b):
        return None
    return latency_interval(a, b, float(percentile.removeprefix("p")))


# -- reading untrusted JSON


def _table(content: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value = content.get(key)
    if not isinstance(value, Mapping):
        raise ReceiptError(f"{where} has no {key}", _RERUN)
    return value


def _text(content: Mapping[str, Any], key: str, where: str) -> str:
    value = content.get(key)
    if not isinstance(value, str):
        raise ReceiptError(f"{where} has no {key}", _RERUN)
    return value


def _names(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ReceiptError(f"{where} is no list of names", _RERUN)
    if not value or len(set(value)) != len(value):
        raise ReceiptError(f"{where}: none, or one of them twice", _RERUN)
    return tuple(value)


def _columns(canonical: Mapping[str, Any], name: str, length: int) -> dict[str, Scores]:
    columns = _table(canonical, "scores", name)
    return {metric: _column(column, f"{name}: {metric}", length) for metric, column in columns.items()}


def _column(value: Any, where: str, length: int) -> Scores:
    if not isinstance(value, list) or len(value) != length:
        raise ReceiptError(f"{where} does not hold one score for each of {length} queries", _RERUN)
    if not all(score is None or _is_finite(score) for score in value):
        raise ReceiptError(f"{where} holds something that is no finite number", _RERUN)
    return from_json(value)


def _strata(canonical: Mapping[str, Any], name: str, length: int) -> dict[str, NDArray[np.int64]]:
    strata = _table(canonical, "strata", name)
    for stratum, places in strata.items():
        if stratum == ALL or not isinstance(places, list) or not places:
            raise ReceiptError(f"{name}: stratum {stratum!r} is empty or misnamed", _RERUN)
        if any(type(place) is not int or not 0 <= place < length for place in places) or _repeats(places):
            raise ReceiptError(f"{name}: stratum {stratum!r} points at a query that is not there, or twice", _RERUN)
    return {stratum: np.array(strata[stratum], np.int64) for stratum in sorted(strata)}


def _latency(value: Any) -> dict[str, dict[str, float]]:
    """Only what is a finite number of milliseconds; a time that is missing here is missing, not wrong."""
    stages = value if isinstance(value, Mapping) else {}
    return {
        str(stage): {str(p): float(ms) for p, ms in times.items() if _is_finite(ms)}
        for stage, times in stages.items()
        if isinstance(times, Mapping)
    }


def _samples(value: Any) -> dict[str, NDArray[np.float64]]:
    """Only stages whose every time is a number of milliseconds above 0."""
    stages = value if isinstance(value, Mapping) else {}
    return {
        str(stage): np.array(times, np.float64)
        for stage, times in stages.items()
        if isinstance(times, list) and times and all(_is_finite(ms) and ms > 0.0 for ms in times)
    }


def _is_finite(value: Any) -> bool:
    """A number that a float can hold; JSON knows whole numbers of any length."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 <= value <= 1e300


def _repeats(places: Sequence[int]) -> bool:
    return len(set(places)) != len(places)
