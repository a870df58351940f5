"""Runs systems on a dataset and makes run receipts: every system answers every topic from one index."""

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
from assay.bench.abstention import measure_abstention
from assay.bench.bounds import PIECES, draw_random, rank_judged
from assay.bench.metrics import default_metrics, parse, score
from assay.bench.metrics import mean as mean_of
from assay.bench.metrics import to_json as column
from assay.bench.metrics.context import split_context
from assay.bench.receipt import Receipt, canonical_bytes
from assay.bench.snapshot_cache import CachingSnapshot
from assay.bench.systems import ORACLE, System
from assay.bench.types import ALL, Dataset, Piece, Run, TopicDegradation, TopicResult
from assay.bench.workspace import Workspace
from assay.config.findings import Finding
from assay.config.preflight import preflight
from assay.config.resolve import with_budget
from assay.engine.answer import Answer
from assay.engine.context import Packer
from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW
from assay.engine.laws import check_context
from assay.engine.pipeline import Pipeline, read_candidates
from assay.errors import AssayError
from assay.protocols import Snapshot
from assay.types import Progress, Query, Rows
from assay.where import And, Compare, Filter

DEPTH = 100
"""Documents kept for each topic; no metric reads deeper."""
SCOPED_NOTE = "each question is answered from its own scope alone, statistics included, as the memory service answers"
PACKAGES = ("numpy", "faiss-cpu", "tantivy", "onnxruntime", "ir_measures")


@dataclass(frozen=True)
class RunPlan:
    """What a run measures, and how deep. The first metric decides; without any, the dataset's default metrics are used.

    With `abstention`, questions without an answer run too, see abstention.py. With `scoped`, a question that has a
    filter is answered from the part of the store that the filter keeps, as if no other chunk existed: how rare a word
    is, is counted there. The memory service answers so. Without it, statistics are those of the whole store.
    """

    metrics: tuple[str, ...] = ()
    depth: int = DEPTH
    seed: int = 0
    abstention: bool = False
    scoped: bool = False

    def fit(self, dataset: Dataset) -> RunPlan:
        """With every metric under its one name."""
        return replace(self, metrics=tuple(str(parse(name)) for name in self.metrics or default_metrics(dataset)))


class Bench:
    """One dataset on one index. Look-ups are cached, so a system costs only what no other has searched before."""

    def __init__(self, dataset: Dataset, workspace: Workspace, plan: RunPlan | None = None) -> None:
        self.dataset = dataset
        self.workspace = workspace
        self.plan = (plan or RunPlan()).fit(dataset)
        self.snapshot = CachingSnapshot(workspace.snapshot)
        self._queries: dict[tuple[str, bool], Query] = {}
        self._parts: dict[str, CachingSnapshot] = {}

    def with_plan(self, plan: RunPlan) -> Bench:
        """The same bench under another plan; queries and look-ups are shared."""
        other = Bench(self.dataset, self.workspace, plan)
        other.snapshot, other._queries, other._parts = self.snapshot, self._queries, self._parts
        return other

    def query(self, topic: str, with_vector: bool = True) -> Query:
        key = topic, with_vector
        if key not in self._queries:
            self._queries[key] = self.workspace.query(self.dataset.topics[topic], with_vector)
        return self._queries[key]

    def uncached_snapshot(self, query: Query) -> Snapshot:
        """What answers a query: the store, or with a scoped plan the part of it that the query's filter keeps."""
        where = self._scope_filter(query)
        return self.workspace.snapshot if where is None else self.workspace.snapshot.within(where)

    def snapshot_for(self, query: Query) -> CachingSnapshot:
        """The same with its look-ups cached; every part has a cache of its own."""
        where = self._scope_filter(query)
        if where is None:
            return self.snapshot
        if str(where) not in self._parts:
            self._parts[str(where)] = CachingSnapshot(self.uncached_snapshot(query))
        return self._parts[str(where)]

    def _scope_filter(self, query: Query) -> Filter | None:
        """The filter that says what a scoped plan answers a query from; None for the whole store."""
        if not self.plan.scoped or query.scope is None:
            return query.where if self.plan.scoped else None
        scope = Compare("scope", "=", query.scope)
        return scope if query.where is None else And((scope, query.where))

    def run(self, system: System, progress: Progress = lambda *_: None) -> Run:
        """The system's results for every scored topic. A topic that fails is a row with its reason."""
        results = []
        for done, topic in enumerate(self.dataset.scored, 1):
            results.append(self._answer(system, topic))
            progress(system.name, done, len(self.dataset.scored))
        return results

    def _measures_abstention(self, system: System) -> bool:
        return (
            self.plan.abstention and system.pipeline is not None and bool(self.dataset.abstain and self.dataset.scored)
        )

    def _abstention(self, system: System, answered: Run) -> dict[str, Any]:
        """Abstention on questions without an answer, where the plan asks for it and there are some."""
        if not self._measures_abstention(system):
            return {}
        results = [self._answer(system, topic) for topic in sorted(self.dataset.abstain)]
        return {"abstention": measure_abstention(answered, results)}

    def _answer(self, system: System, topic: str) -> TopicResult:
        try:
            if system.pipeline is not None:
                return self._search(system.pipeline, topic)
            if system.name == ORACLE:
                return rank_judged(self.dataset, topic, self.plan.depth)
            return draw_random(self.dataset, topic, self.workspace, self.plan.depth, self.plan.seed)
        except AssayError as error:
            return TopicResult(topic, failed=f"{type(error).__name__}: {error.message}")
        except Exception as error:  # a plug-in's bug costs its query, never the run
            return TopicResult(topic, failed=f"{type(error).__name__}: {error}")

    def _search(self, pipeline: Pipeline, topic: str) -> TopicResult:
        query = self.query(topic, pipeline.needs("vector"))
        judge = self.workspace.kb.judge(pipeline) if pipeline.abstain else None
        snapshot = self.snapshot_for(query)
        answer = replace(pipeline, packer=None).run(query, snapshot, k=snapshot.size, judge=judge)
        result = self.collect(topic, answer, pipeline.k)
        if pipeline.packer is None or not self.dataset.evidence.get(topic):
            return result
        contexts, problems = self._pack(pipeline.packer, answer)
        return replace(result, contexts=contexts, degraded=(*result.degraded, *problems))

    def _pack(
        self, packer: Packer, answer: Answer
    ) -> tuple[dict[int, tuple[Piece, ...]], tuple[TopicDegradation, ...]]:
        """What the packer makes of an answer for the budget of every metric by tokens, and what it did without."""
        contexts: dict[int, tuple[Piece, ...]] = {}
        problems: dict[TopicDegradation, None] = {}
        metrics = [parse(name) for name in self.plan.metrics]
        for budget in sorted({metric.cutoff for metric in metrics if metric.unit == "token" and metric.cutoff}):
            sized = with_budget(packer, budget)
            candidates = list(read_candidates(sized, answer.chosen, answer.snapshot))
            context = sized.pack(answer.query, candidates, answer.snapshot)
            check_context(context, candidates)
            contexts[budget] = split_context(context, {one.citation: one.chunk for one in candidates})
            notes = (note for note in context.notes if note.kind == "degraded")
            problems |= dict.fromkeys(TopicDegradation("context", "degraded", note.text) for note in notes)
        return contexts, tuple(problems)

    def collect(self, topic: str, answer: Answer, k: int) -> TopicResult:
        """An answer as the metrics read it: documents by their best chunk, also those from external sources.

        `k` is the number of chunks over which the contribution of each leg is counted.
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
        empty = tuple(span.name for span in answer.trace if span.kind == "leg" and not len(span.ranking))
        by_leg = tuple((one.leg, one.chosen, one.alone) for one in answer.contributions(k))
        return TopicResult(topic, tuple(best), tuple(best.values()), pieces, "", degradations(answer), empty, by_leg)

    def _documents(self, view: Snapshot, rows: Rows) -> list[str]:
        own = rows < FIRST_FOREIGN_ROW
        if own.all():
            names: list[str] = self.workspace.documents[rows].tolist()
            return names
        return [chunk.doc_id for chunk in view.chunks(rows)]

    def inputs(self, system: System) -> dict[str, Any]:
        """What decides a run's numbers, as its receipt describes it."""
        return {
            "dataset": describe_dataset(self.dataset),
            "system": {"name": system.name, "spec": dict(system.spec), "digest": system.digest},
            "index": self.workspace.describe(),
            "seed": self.plan.seed,
            "depth": self.plan.depth,
            **({"scoped": True} if self.plan.scoped else {}),
        }

    def fits(self, receipt: Receipt, system: System) -> bool:
        """Whether a new run would give the same receipt: same inputs, same library versions, same metrics."""
        canonical = receipt.canonical
        inputs = self.inputs(system)
        same = receipt.kind == "run" and all(canonical.get(key) == value for key, value in inputs.items())
        same = same and ("scoped" in canonical) == self.plan.scoped
        same = same and receipt.measured.get("versions") == collect_versions()
        same = same and ("abstention" in canonical) == self._measures_abstention(system)
        return same and list(canonical.get("scores", ())) == list(self.plan.metrics)

    def receipt(self, system: System, results: Run, findings: Sequence[Finding] = ()) -> Receipt:
        """The run as a receipt; its measured half holds versions and messages, and nothing from the clock yet."""
        dataset, plan = self.dataset, self.plan
        scores = score(plan.metrics, dataset, results)
        strata = dataset.strata()
        why, reason = explain_unmeasured(system, self.snapshot, results)
        return Receipt(
            "run",
            {
                **self.inputs(system),
                "status": "not_measured" if why else "measured",
                "why": why,
                "queries": list(dataset.scored),
                "strata": {name: places.tolist() for name, places in strata.items()},
                "scores": {name: column(values) for name, values in scores.items()},
                "rankings": [digest_ranking(result) for result in results],
                "failed": {result.topic: result.error for result in results if result.failed},
                "degraded": _count_degraded(results),
                "aggregates": {
                    scope: {name: mean_of(values[places]) for name, values in scores.items()}
                    for scope, places in {ALL: np.arange(len(results)), **strata}.items()
                },
                "preflight": [
                    asdict(finding) for finding in (*run_preflight(system), *_empty_legs(results), *findings)
                ],
                **self._abstention(system, results),
            },
            {
                "versions": dict(collect_versions()),
                **({"vectors": approximation} if (approximation := self.workspace.approximation) else {}),
                **_texts((*dataset.notes, *([SCOPED_NOTE] if plan.scoped else [])), reason, results),
            },
        )


def run_preflight(system: System) -> list[Finding]:
    """Findings about a system before it runs; the bounds have none."""
    return preflight(system.pipeline) if system.pipeline else []


def _empty_legs(results: Run) -> list[Finding]:
    """Legs that found nothing for any topic: useless, or a sign that something is broken."""
    never = set.intersection(*(set(result.empty) for result in results)) if results else set()
    return [Finding("warning", f"legs.{name}", "leg_found_nothing") for name in sorted(never)]


def explain_unmeasured(system: System, snapshot: CachingSnapshot, results: Run) -> tuple[dict[str, Any] | None, str]:
    """Why this cell says nothing about the system as it is written, as a code and as a sentence, or (None, "").

    A leg or a step that the index cannot serve, or that was skipped for every topic, makes another system of it.
    """
    if system.pipeline is not None:
        plans = [(plan.name, plan.leg.needs) for plan in system.pipeline.legs]
        plans += [(plan.name, plan.step.needs) for plan in system.pipeline.steps]
        for name, needs in plans:
            for need in sorted(needs):
                reason = snapshot.lacks("dense" if need == "vector" else need)
                if reason:
                    return _message("cannot_run", step=name), f"{name} cannot run: {reason}"
    failed = [result for result in results if result.failed]
    if results and len(failed) == len(results):
        sentence = f"every query failed, the first with: {failed[0].failed}"
        return _message("all_failed", error=failed[0].error), sentence
    for step, outcomes in _count_degraded(results).items():
        for outcome, count in outcomes.items():
            if count == len(results):
                first = next(one for one in results[0].degraded if (one.step, one.outcome) == (step, outcome))
                sentence = f"degraded for every query: {step} {outcome}: {first.message}"
                return _message("all_degraded", step=step, outcome=outcome), sentence
    return None, ""


def _message(code: str, **values: Any) -> dict[str, Any]:
    return {"code": code, "values": values}


def degradations(answer: Answer) -> tuple[TopicDegradation, ...]:
    """The steps that did not run as planned; a leg whose trigger did not fire did."""
    found = []
    for span in answer.trace:
        if span.skipped and span.outcome != "not_triggered":
            found.append(TopicDegradation(span.name, "skipped", str(span.skipped)))
        found += [
            TopicDegradation(span.name, "degraded", note.text)
            for note in span.notes
            if note.kind in ("degraded", "skipped")
        ]
    return tuple(found)


def _count_degraded(results: Run) -> dict[str, dict[str, int]]:
    """step → skipped or degraded → for how many queries."""
    counted = Counter(key for result in results for key in {(one.step, one.outcome) for one in result.degraded})
    counts: dict[str, dict[str, int]] = {}
    for (step, outcome), count in sorted(counted.items()):
        counts.setdefault(step, {})[outcome] = count
    return counts


def _texts(notes: Sequence[str], reason: str, results: Run) -> dict[str, Any]:
    """The sentences of a receipt, outside the digest."""
    messages = {
        "why": reason,
        "failed": {result.topic: result.failed for result in results if result.failed},
        "degraded": sorted({f"{one.step} {one.outcome}: {one.message}" for r in results for one in r.degraded}),
    }
    texts = {"notes": list(notes), "messages": {name: text for name, text in messages.items() if text}}
    return {name: text for name, text in texts.items() if text}


def count_contributions(results: Run) -> dict[str, dict[str, int]]:
    """leg → over all answers, how many chosen chunks it found, and how many it alone found."""
    total: dict[str, dict[str, int]] = {}
    for result in results:
        for leg, chosen, alone in result.by_leg:
            counts = total.setdefault(leg, {"chosen": 0, "alone": 0})
            counts["chosen"] += chosen
            counts["alone"] += alone
    return total


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
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
    }


@cache
def collect_versions() -> Mapping[str, str]:
    """Versions that may change a number: the platform and the libraries that compute."""
    versions = {"assay": assay.__version__, "python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    return versions


def digest_ranking(result: TopicResult) -> str:
    """Sixteen hex digits that change when a document, a score or their order does."""
    content = [list(result.documents), [_format_score(value) for value in result.scores], result.error]
    return hashlib.sha256(canonical_bytes(content)).hexdigest()[:16]


def _format_score(value: float) -> str:
    """A score to twelve digits."""
    return f"{value:.12g}" if math.isfinite(value) else str(value)


def get_mean(receipt: Receipt, metric: str, scope: str = ALL) -> float | None:
    """A run's mean of a metric over a scope; None without one."""
    values: Mapping[str, Any] = receipt.canonical["aggregates"].get(scope, {})
    found = values.get(metric)
    return None if found is None else float(found)
