"""Datasets × systems → run receipts: every system answers every topic from one index, and every metric reads that."""

from __future__ import annotations

import hashlib
import math
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import assay
from assay.bench.abstention import abstention
from assay.bench.bounds import PIECES, drawn, known
from assay.bench.metrics import defaults, parse, score
from assay.bench.metrics import mean as mean_of
from assay.bench.metrics import to_json as column
from assay.bench.receipt import Receipt, canonical_bytes
from assay.bench.snapshot_cache import Remembering
from assay.bench.systems import ORACLE, System
from assay.bench.types import ALL, Dataset, Piece, Retrieved, Run
from assay.bench.workspace import Workspace
from assay.config.preflight import Finding, preflight
from assay.engine.answer import Answer
from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError
from assay.protocols import Snapshot
from assay.types import Progress, Query, Rows

DEPTH = 100
"""Documents kept for each topic; no metric may look deeper."""
PACKAGES = ("numpy", "faiss-cpu", "tantivy", "onnxruntime", "ir_measures")


@dataclass(frozen=True)
class RunPlan:
    """What a run measures, and how deep. The first metric is the one that decides; none named means the dataset's.

    With `abstention`, questions without an answer are asked too, see abstention.py.
    """

    metrics: tuple[str, ...] = ()
    depth: int = DEPTH
    seed: int = 0
    abstention: bool = False

    def fitted(self, dataset: Dataset) -> RunPlan:
        """With every metric under its one name."""
        return replace(self, metrics=tuple(str(parse(name)) for name in self.metrics or defaults(dataset)))


class Bench:
    """One dataset on one index. Look-ups are remembered, so a system costs only what no other has asked before."""

    def __init__(self, dataset: Dataset, workspace: Workspace, plan: RunPlan | None = None) -> None:
        self.dataset = dataset
        self.workspace = workspace
        self.plan = (plan or RunPlan()).fitted(dataset)
        self.snapshot = Remembering(workspace.snapshot)
        self._queries: dict[str, Query] = {}

    def query(self, topic: str) -> Query:
        if topic not in self._queries:
            self._queries[topic] = self.workspace.query(self.dataset.topics[topic])
        return self._queries[topic]

    def run(self, system: System, progress: Progress = lambda *_: None) -> Run:
        """The system's results for every scored topic. A topic that fails is a row with its reason."""
        results = []
        for done, topic in enumerate(self.dataset.scored, 1):
            results.append(self._answer(system, topic))
            progress(system.name, done, len(self.dataset.scored))
        return results

    def _asks_silence(self, system: System) -> bool:
        return (
            self.plan.abstention and system.pipeline is not None and bool(self.dataset.abstain and self.dataset.scored)
        )

    def _silence(self, system: System, answered: Run) -> dict[str, Any]:
        """The receipt's word on questions without an answer, where the plan asks for it and there are some."""
        if not self._asks_silence(system):
            return {}
        asked = [self._answer(system, topic) for topic in sorted(self.dataset.abstain)]
        return {"abstention": abstention(answered, asked)}

    def _answer(self, system: System, topic: str) -> Retrieved:
        try:
            if system.pipeline is not None:
                return self._search(system.pipeline, topic)
            if system.name == ORACLE:
                return known(self.dataset, topic, self.plan.depth)
            return drawn(self.dataset, topic, self.workspace, self.plan.depth, self.plan.seed)
        except AssayError as error:
            return Retrieved(topic, failed=f"{type(error).__name__}: {error.message}")
        except Exception as error:  # a plug-in's bug costs its query, never the run
            return Retrieved(topic, failed=f"{type(error).__name__}: {error}")

    def _search(self, pipeline: Pipeline, topic: str) -> Retrieved:
        answer = pipeline.run(self.query(topic), self.snapshot, k=self.snapshot.size)
        return self.retrieved(topic, answer, pipeline.k)

    def retrieved(self, topic: str, answer: Answer, k: int) -> Retrieved:
        """An answer as the metrics read it: documents by their best chunk, this store's and those from elsewhere.

        `k` is how many of its chunks count when it is asked what each leg contributed.
        """
        view, rows = answer.snapshot, answer.chosen.rows
        rows = view.rows(answer.chosen.ids) if rows is None else rows
        best: dict[str, float] = {}
        for name, value in zip(self._documents(view, rows), answer.chosen.score.tolist(), strict=True):
            best.setdefault(name, value)
            if len(best) == self.plan.depth:
                break
        pieces: tuple[Piece, ...] = ()
        if self.dataset.evidence.get(topic):
            pieces = tuple(Piece(chunk.doc_id, chunk.text, chunk.tokens) for chunk in view.chunks(rows[:PIECES]))
        empty = tuple(span.name for span in answer.trace if span.kind == "leg" and not len(span.gave))
        by_leg = tuple((one.leg, one.chosen, one.alone) for one in answer.contributions(k))
        return Retrieved(topic, tuple(best), tuple(best.values()), pieces, "", answer.verdict.degraded, empty, by_leg)

    def _documents(self, view: Snapshot, rows: Rows) -> list[str]:
        own = rows < FIRST_FOREIGN_ROW
        if own.all():
            names: list[str] = self.workspace.documents[rows].tolist()
            return names
        return [chunk.doc_id for chunk in view.chunks(rows)]

    def inputs(self, system: System) -> dict[str, Any]:
        """What decides a run's numbers, as its receipt says it."""
        return {
            "dataset": describe(self.dataset),
            "system": {"name": system.name, "spec": dict(system.spec), "digest": system.digest},
            "index": self.workspace.describe(),
            "versions": dict(versions()),
            "seed": self.plan.seed,
            "depth": self.plan.depth,
        }

    def fits(self, receipt: Receipt, system: System) -> bool:
        """Could a new run only say the same as this receipt?"""
        said = receipt.canonical
        same = receipt.kind == "run" and all(said.get(key) == value for key, value in self.inputs(system).items())
        same = same and ("abstention" in said) == self._asks_silence(system)
        return same and list(said.get("scores", ())) == list(self.plan.metrics)

    def receipt(self, system: System, results: Run, findings: Sequence[Finding] = ()) -> Receipt:
        """The run as a receipt; its measured half is still empty."""
        dataset, plan = self.dataset, self.plan
        scores = score(plan.metrics, dataset, results)
        strata = dataset.strata()
        why = unmeasured(system, self.snapshot, results)
        return Receipt(
            "run",
            {
                **self.inputs(system),
                "status": "not_measured" if why else "measured",
                "why": why,
                "queries": list(dataset.scored),
                "strata": {name: places.tolist() for name, places in strata.items()},
                "scores": {name: column(values) for name, values in scores.items()},
                "rankings": [ranking_digest(result) for result in results],
                "failed": {result.topic: result.failed for result in results if result.failed},
                "degraded": dict(sorted(Counter(reason for r in results for reason in r.degraded).items())),
                "aggregates": {
                    scope: {name: mean_of(values[places]) for name, values in scores.items()}
                    for scope, places in {ALL: np.arange(len(results)), **strata}.items()
                },
                "preflight": [asdict(finding) for finding in (*before(system), *_empty(results), *findings)],
                **self._silence(system, results),
            },
        )


def before(system: System) -> list[Finding]:
    """What preflight knows about a system before it runs."""
    return preflight(system.pipeline) if system.pipeline else []


def _empty(results: Run) -> list[Finding]:
    """Legs that found nothing for any topic: dead weight, or a sign that something is broken."""
    never = set.intersection(*(set(result.empty) for result in results)) if results else set()
    return [Finding("warning", f"legs.{name}", "this leg found nothing for any query") for name in sorted(never)]


def unmeasured(system: System, snapshot: Remembering, results: Run) -> str:
    """Why this cell says nothing about the system as it is written; "" when it does.

    A leg or a step that the index cannot serve, or that was skipped for every topic, makes another system of it.
    """
    if system.pipeline is not None:
        plans = [(plan.name, plan.leg.needs) for plan in system.pipeline.legs]
        plans += [(plan.name, plan.step.needs) for plan in system.pipeline.steps]
        for name, needs in plans:
            for need in sorted(needs):
                reason = snapshot.lacks("dense" if need == "vector" else need)
                if reason:
                    return f"{name} cannot run: {reason}"
    failed = [result.failed for result in results if result.failed]
    if results and len(failed) == len(results):
        return f"every query failed, the first with: {failed[0]}"
    degraded = Counter(reason for result in results for reason in set(result.degraded))
    for reason, count in sorted(degraded.items()):
        if count == len(results):
            return f"degraded for every query: {reason}"
    return ""


def legs(results: Run) -> dict[str, dict[str, int]]:
    """What each leg did for all answers together: places it had a part in, and places that it alone filled."""
    total: dict[str, dict[str, int]] = {}
    for result in results:
        for leg, chosen, alone in result.by_leg:
            found = total.setdefault(leg, {"chosen": 0, "alone": 0})
            found["chosen"] += chosen
            found["alone"] += alone
    return total


def describe(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "source": dataset.source,
        "split": dataset.split,
        "digest": dataset.digest,
        "label": dataset.label,
        "documents": dataset.document_count,
        "queries": len(dataset.scored),
        "judged": sum(len(judged) for judged in dataset.judgements.values()),
        "abstain": len(dataset.abstain),
        "notes": list(dataset.notes),
    }


@cache
def versions() -> Mapping[str, str]:
    """What may change a number: the platform and the libraries that compute."""
    found = {"assay": assay.__version__, "python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def ranking_digest(result: Retrieved) -> str:
    """Sixteen hex digits that change when a document, a score or their order does."""
    said = [list(result.documents), [_brief(value) for value in result.scores], result.failed]
    return hashlib.sha256(canonical_bytes(said)).hexdigest()[:16]


def _brief(value: float) -> str:
    """A score to twelve digits."""
    return f"{value:.12g}" if math.isfinite(value) else str(value)


def aggregate(receipt: Receipt, metric: str, scope: str = ALL) -> float | None:
    """A run's mean of a metric over a scope; None where it has none."""
    values: Mapping[str, Any] = receipt.canonical["aggregates"].get(scope, {})
    found = values.get(metric)
    return None if found is None else float(found)
