"""What monitoring reads from /metrics: requests, stages of searches, the pool, caches, the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.engine.answer import Answer
from assay.kb import KnowledgeBase
from assay.serve.http.request_pool import RequestPool
from assay.serve.inline_pipelines import NAME as INLINE

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histograms."""


class ServerMetrics:
    """The metrics of one server, in a registry of its own. Names of steps of inline pipelines come from clients, so
    they are counted as `inline`: the number of series stays bounded."""

    def __init__(self, kb: KnowledgeBase, pool: RequestPool) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self.registry.register(_StateCollector(kb, pool))
        named: dict[str, Any] = {"registry": self.registry}
        self._requests = Counter("assay_http_requests", "Requests", ["method", "route", "status"], **named)
        self._seconds = Histogram("assay_http_request_seconds", "Time of requests", ["route"], buckets=SECONDS, **named)
        self._answers = Counter("assay_answers", "Answers by status", ["pipeline", "status"], **named)
        self._stages = Histogram(
            "assay_stage_seconds", "Time of the steps of searches", ["step", "kind"], buckets=SECONDS, **named
        )
        self._outcomes = Counter(
            "assay_stage_outcomes",
            "How steps ended: ran, not_triggered, out_of_time, failed, unable, degraded",
            ["step", "kind", "outcome"],
            **named,
        )

        self._children: dict[tuple[Any, ...], Any] = {}

    def _child(self, metric: Any, *labels: str) -> Any:
        """The series of these labels. `labels()` checks, sorts and locks each time; a search reads a dozen."""
        key = metric, *labels
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = metric.labels(*labels)
        return found

    def observe_request(self, facts: Mapping[str, Any]) -> None:
        route = facts["route"] or "other"
        method = facts["method"] if route != "other" else "any"
        self._child(self._requests, method, route, str(facts["status"])).inc()
        self._child(self._seconds, route).observe(facts["ms"] / 1000.0)

    def observe_answer(self, answer: Answer, pipeline: str) -> None:
        self._child(self._answers, pipeline, answer.status.word).inc()
        inline = pipeline == INLINE
        for span in answer.trace:
            step = INLINE if inline else span.name
            self._child(self._outcomes, step, span.kind, span.outcome).inc()
            if span.outcome == "ran":
                self._child(self._stages, step, span.kind).observe(span.ms / 1000.0)
        for problem in answer.status.problems:
            if not problem.skipped:
                self._child(self._outcomes, INLINE if inline else problem.step, "any", "degraded").inc()

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


class _StateCollector(Collector):
    """Reads the pool, the vector cache and the store when it is asked."""

    def __init__(self, kb: KnowledgeBase, pool: RequestPool) -> None:
        self._kb = kb
        self._pool = pool

    def describe(self) -> Iterable[Metric]:
        return ()  # without it the registry would collect once to learn the names, and open the store's model

    def collect(self) -> Iterable[Metric]:
        pool = self._pool
        yield GaugeMetricFamily("assay_pool_requests", "Requests that run or wait", pool.inside)
        yield GaugeMetricFamily("assay_pool_capacity", "Requests that may run or wait", pool.workers + pool.waiting)
        yield CounterMetricFamily("assay_pool_refused", "Requests refused because the pool was full", pool.refused)
        yield GaugeMetricFamily("assay_store_version", "Version of the store", self._kb.store.version())
        yield GaugeMetricFamily("assay_store_chunks", "Chunks of the store", self._kb.snapshot().size)
        yield GaugeMetricFamily("assay_store_pending", "Changes that wait for the index", self._kb.backend.pending)
        cache = self._kb.cached_vectors
        family = CounterMetricFamily("assay_vector_cache", "Texts looked up in the vector cache", labels=["result"])
        family.add_metric(["hit"], cache[0])
        family.add_metric(["miss"], cache[1])
        yield family
