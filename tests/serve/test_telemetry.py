"""Spans, logs and redaction: what a server says about itself, and what it does not repeat."""

import json
import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from assay.serve.http.hybrid import CascadeServer
from assay.serve.http.logs import JsonFormatter
from assay.serve.http.tracing import AnswerTracer
from assay.serve.redaction import redact
from tests.cascade.planted_bank import open_planted, planted_sequences
from tests.serve.server_fixtures import make_store, problem, serving

TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("telemetry") / "kb") as base:
        yield base


def test_a_search_is_a_span_with_one_inside_for_each_step(kb):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with serving(kb, tracer=AnswerTracer(provider.get_tracer("test"))) as (client, _):
        found = client.post("/search", json={"text": "signing key"}).json()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    whole = spans["assay.search"]
    assert whole.attributes["assay.digest"] == found["digests"]["answer"]
    assert len(spans) == 1 + len(found["trace"])
    leg = spans["assay.leg bm25"]
    assert leg.parent.span_id == whole.context.span_id
    assert whole.start_time <= leg.start_time <= leg.end_time
    assert leg.attributes["assay.candidates_out"] == 2
    dense = spans["assay.leg dense"]
    assert dense.attributes["assay.outcome"] == "unable"
    assert dense.attributes["assay.skipped"]
    assert "signing" not in str([dict(span.attributes) for span in spans.values()])


def test_each_request_is_a_line_of_json_without_its_query(kb, caplog):
    caplog.set_level(logging.INFO, "assay.serve.requests")
    with serving(kb) as (client, _):
        client.post("/search", json={"text": "a private question"}, headers={"x-request-id": "me-1"})
    (record,) = [one for one in caplog.records if one.name == "assay.serve.requests"]
    line = json.loads(JsonFormatter().format(record))
    assert line["request_id"] == "me-1"
    assert (line["method"], line["path"], line["status"], line["caller"]) == ("POST", "/search", 200, "local")
    assert line["ms"] > 0
    assert "private" not in json.dumps(line)


def test_secrets_are_masked_in_logs_and_in_data():
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "failed with %s", (TOKEN,), None)
    assert TOKEN not in JsonFormatter().format(record)
    data = {"a": [f"token {TOKEN}", 3, None], "b": {"c": "plain"}}
    assert redact(data) == {"a": ["token [GitHub token]", 3, None], "b": {"c": "plain"}}


def test_a_traceback_does_not_repeat_a_secret():
    try:
        raise ValueError(f"Authorization: Bearer {TOKEN}")
    except ValueError as error:
        record = logging.LogRecord(
            "x", logging.ERROR, "f", 1, "it failed", (), (type(error), error, error.__traceback__)
        )
    line = JsonFormatter().format(record)
    assert "ValueError" in line
    assert TOKEN not in line


def test_the_cascade_is_served_beside_the_other_routes(kb):
    with serving(kb, cascade=CascadeServer(open_planted(), planted_sequences())) as (client, _):
        vector = open_planted().snapshot.bank.vectors[0].tolist()
        found = client.post("/search/hybrid", json={"query_vec": vector, "k": 3})
        assert len(found.json()["results"]) == 3
        wrong = client.post("/search/hybrid", json={"query_vec": vector, "kk": 3})
        assert wrong.status_code == 422
        assert wrong.json()["detail"][0]["loc"] == ["body", "kk"]
        assert client.get("/metrics/latency").json()["requests"] == 1
        assert client.get("/metrics/routing").status_code == 200
        assert client.post("/search", json={"text": "signing"}).status_code == 200
        described = client.get("/openapi.json").json()
        assert {"/search/hybrid", "/metrics/hitk_offline"} <= described["paths"].keys()
        assert {"HybridRequest", "FaissOptions"} <= described["components"]["schemas"].keys()
    with serving(kb) as (client, _):
        problem(client.post("/search/hybrid", json={}), 404)
