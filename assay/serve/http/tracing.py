"""OpenTelemetry spans of searches: one for the answer, one inside it for each step.

A trace has the duration of each step, not its start: the spans of legs begin together after the embedding, as they run
in parallel, and the others follow one another.
"""

from __future__ import annotations

import time
from typing import Any

from assay.engine.answer import Answer
from assay.errors import MissingExtra
from assay.serve.redaction import redact

NANOSECONDS = 1_000_000


class AnswerTracer:
    """Sends the spans of answers through a tracer of OpenTelemetry."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    def trace(self, answer: Answer, pipeline: str) -> None:
        """Make the spans of one answer that has just been given."""
        from opentelemetry import trace

        end = time.time_ns()
        start = end - int(answer.ms * NANOSECONDS)
        parent = self._tracer.start_span(
            "assay.search",
            start_time=start,
            attributes={
                "assay.pipeline": pipeline,
                "assay.status": answer.status.word,
                "assay.found": answer.status.found,
                "assay.version": answer.version or 0,
                "assay.digest": answer.digest,
            },
        )
        context = trace.set_span_in_context(parent)
        at = start
        leg_start = leg_end = 0
        for span in answer.trace:
            length = int(span.ms * NANOSECONDS)
            if span.kind == "leg":
                leg_start = leg_start or at
                begin, leg_end = leg_start, max(leg_end, leg_start + length)
                at = leg_end
            else:
                begin, at = at, at + length
            child = self._tracer.start_span(
                f"assay.{span.kind} {span.name}",
                context=context,
                start_time=begin,
                attributes={
                    "assay.step": span.name,
                    "assay.kind": span.kind,
                    "assay.outcome": span.outcome,
                    "assay.candidates_in": span.candidates_in,
                    "assay.candidates_out": len(span.ranking),
                    **({"assay.skipped": redact(span.skipped)} if span.skipped else {}),
                },
            )
            child.end(end_time=begin + length)
        parent.end(end_time=end)


def open_tracer() -> AnswerTracer:
    """A tracer that sends spans to the collector of OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_ENDPOINT)."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise MissingExtra("tracing", "otel") from error
    provider = TracerProvider(resource=Resource.create({"service.name": "assay"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return AnswerTracer(provider.get_tracer("assay.serve"))
