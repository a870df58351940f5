"""The vector cascade over HTTP: POST /search/hybrid and its metrics.

    POST      /search/hybrid             one request in, the first k with their scores and telemetry out
    GET|POST  /metrics/hitk_offline      the held-out evaluation with the current settings
    GET       /metrics/latency           p50 and p95 by stage
    GET       /metrics/routing           lists probed, candidates taken

A wrong request is answered with 422 and `{"detail": [{"loc": ["body", FIELD], "msg": …}]}`. Each request runs in a
thread of its own; only evaluations run one at a time. `connection_limits` says which clients are sent away.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio
import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.cascade.bank.sequences import Sequences
from assay.cascade.evaluation.offline import evaluate_offline
from assay.cascade.service import Cascade, CascadeSettings
from assay.engine.answer import Answer
from assay.errors import AssayError, QueryError
from assay.legs.ivf import nprobe_used
from assay.serve.errors import describe_error
from assay.serve.http.connection_limits import DISCONNECT_HANDLERS, SameOriginMiddleware, read_body
from assay.serve.http.hybrid_request import (
    FIELDS,
    HybridRequest,
    InvalidRequest,
    OfflineRequest,
    make_query,
    parse_request,
)
from assay.serve.http.hybrid_telemetry import ServedRequest, Telemetry, log_request
from assay.serve.http.request_pool import Overloaded
from assay.serve.http.settings import LOOPBACK_HOSTS

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Bytes of a request; a vector of 4,096 numbers takes 90 thousand."""

_PARSERS: Mapping[str, Callable[[str], Any]] = {"limit": int, "baselines": {"true": True, "false": False}.__getitem__}
"""Parsers of the parameters of a GET."""


class CascadeServer:
    """The state that the endpoints share."""

    def __init__(self, cascade: Cascade, sequences: Sequences | None) -> None:
        self.cascade = cascade
        self.sequences = sequences
        self.telemetry = Telemetry()
        self.evaluation_limiter = anyio.CapacityLimiter(1)
        model = cascade.snapshot.model
        self.model_version = model.name if model else "none"
        self.index_version = cascade.snapshot.index.version

    # -- searching

    def search(self, body: bytes) -> dict[str, Any]:
        """Answer the body of one request; record its times and log it."""
        start = time.perf_counter()
        request: HybridRequest = parse_request(HybridRequest, body)
        query = make_query(request, self.cascade)
        settings = self.cascade.settings_for(query)
        # The rank of the truth is looked up among all k1 candidates; the results are their first k.
        deep = query if request.truth_id is None else replace(query, k=settings.k1)
        answer = self.cascade.search(deep, time.perf_counter)
        ms = _stage_times(answer, (time.perf_counter() - start) * 1000.0)
        probes = {"nprobe": self.cascade.leg.probes(answer.query), "nprobe_used": nprobe_used(answer)}
        self.telemetry.record(ServedRequest(settings.k0, **probes, ms=ms))
        log_request(self._log_line(request, settings, probes, ms, answer))
        payload = {
            "model_version": self.model_version,
            "index_version": self.index_version,
            "k0": settings.k0,
            "k1": settings.k1,
            "k": settings.k,
            "results": _results(answer, request.return_fields or FIELDS, self.cascade)[: settings.k],
            "telemetry": {**{f"{stage}_ms": round(spent, 3) for stage, spent in ms.items()}, **probes},
        }
        degraded = list(answer.status.degraded)
        return {**payload, "degraded": degraded} if degraded else payload

    def _log_line(
        self,
        request: HybridRequest,
        settings: CascadeSettings,
        probes: Mapping[str, int],
        ms: Mapping[str, float],
        answer: Answer,
    ) -> dict[str, Any]:
        line: dict[str, Any] = {
            "model": self.model_version,
            "index": self.index_version,
            "k0": settings.k0,
            "k1": settings.k1,
            "k": settings.k,
            "lambda_tmd": settings.weight,
            **probes,
            **{f"{stage}_ms": round(spent, 3) for stage, spent in ms.items()},
            "lane": answer.query.extra.get("lane"),
        }
        if request.truth_id is not None:
            rank = self._rank(request.truth_id, answer)
            line |= {"hit5": int(1 <= rank <= 5), "rank_true": rank or None}
        return line

    def _rank(self, truth: int, answer: Answer) -> int:
        """The rank of the truth, from 1; 0 if it is not in the answer. A twin (a vector of the same bytes) counts as
        the truth, as in the evaluation."""
        vectors = self.cascade.snapshot.bank.vectors
        truth_bytes = vectors[self.cascade.snapshot.find_rows([truth], "truth_id")[0]].tobytes()
        rows = np.asarray(answer.chosen.rows, np.int64).tolist()
        return next((place for place, row in enumerate(rows, 1) if vectors[row].tobytes() == truth_bytes), 0)

    def evaluate(self, request: OfflineRequest) -> dict[str, Any]:
        if self.sequences is None:
            raise HTTPException(409, "no held-out sequences are loaded; start the server with --val")
        return evaluate_offline(self.cascade, self.sequences, request.limit, request.baselines)


Run = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs work outside of the event loop."""
Endpoint = Callable[[Request], Awaitable[Response]]


def make_endpoints(server: CascadeServer, run: Run) -> dict[tuple[str, str], Endpoint]:
    """The endpoint of every method and path. Errors have the bodies that the specification of the cascade names."""

    async def search(request: Request) -> Response:
        body = await read_body(request, MAX_BODY_BYTES)
        return JSONResponse(await run(lambda: server.search(body)))

    async def hitk_offline(request: Request) -> Response:
        body = await read_body(request, MAX_BODY_BYTES) or b"{}"
        if request.method == "GET":
            body = _query_to_json(request)
        parsed = parse_request(OfflineRequest, body)
        return JSONResponse(await anyio.to_thread.run_sync(server.evaluate, parsed, limiter=server.evaluation_limiter))

    async def latency(_: Request) -> Response:
        return JSONResponse(server.telemetry.latency())

    async def routing(_: Request) -> Response:
        return JSONResponse(server.telemetry.routing())

    endpoints = {
        ("POST", "/search/hybrid"): search,
        ("GET", "/metrics/hitk_offline"): hitk_offline,
        ("POST", "/metrics/hitk_offline"): hitk_offline,
        ("GET", "/metrics/latency"): latency,
        ("GET", "/metrics/routing"): routing,
    }
    return {place: _answer_errors(endpoint) for place, endpoint in endpoints.items()}


def make_app(cascade: Cascade, sequences: Sequences | None = None, hosts: Sequence[str] = LOOPBACK_HOSTS) -> Starlette:
    """The endpoints over an open cascade; `sequences` are what /metrics/hitk_offline evaluates."""
    endpoints = make_endpoints(CascadeServer(cascade, sequences), anyio.to_thread.run_sync)
    return Starlette(
        routes=[Route(path, endpoint, methods=[method]) for (method, path), endpoint in endpoints.items()],
        # DNS rebinding: a web page whose name points here sends its own name as Host.
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
            Middleware(SameOriginMiddleware),
        ],
        exception_handlers={HTTPException: _on_http_error, **DISCONNECT_HANDLERS},
    )


def _answer_errors(endpoint: Endpoint) -> Endpoint:
    async def call(request: Request) -> Response:
        try:
            return await endpoint(request)
        except InvalidRequest as error:
            return JSONResponse({"detail": error.problems}, 422)
        except Overloaded:
            raise
        except AssayError as error:
            return JSONResponse({"detail": describe_error(error)}, 422 if isinstance(error, QueryError) else 500)
        except HTTPException as error:
            return await _on_http_error(request, error)

    return call


def _results(answer: Answer, fields: Sequence[str], cascade: Cascade) -> list[dict[str, Any]]:
    chosen, bank = answer.chosen, cascade.snapshot.bank
    parts = {part.name: part.column for part in chosen.parts}
    rows = np.asarray(chosen.rows, np.int64)
    nothing: list[float | None] = [None] * len(chosen)
    columns: dict[str, list[Any]] = {
        "id": bank.ids[rows].tolist(),
        "score": chosen.score.tolist(),
        "lvm": parts["lvm"].tolist() if "lvm" in parts else nothing,
        "cos": parts["cosine"].tolist(),
        "tmd_bits": bank.tmd_bits[rows].tolist(),
        "lane": bank.lanes[rows].tolist(),
    }
    return [{name: columns[name][place] for name in fields} for place in range(len(chosen))]


def _stage_times(answer: Answer, total: float) -> dict[str, float]:
    """Milliseconds by stage: the leg, the model with its cut to k1, the codes, and the total."""
    spent = {span.name: span.ms for span in answer.trace}
    leg = next(span.name for span in answer.trace if span.kind == "leg")
    return {
        "faiss": spent[leg],
        "lvm": spent.get("lvm", 0.0) + spent.get("k1", 0.0),
        "tmd": spent.get("tmd", 0.0),
        "total": total,
    }


def _query_to_json(request: Request) -> bytes:
    """The parameters of a GET as the body of a POST."""
    body: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        try:
            body[name] = _PARSERS[name](value) if name in _PARSERS else value
        except (ValueError, KeyError):
            body[name] = value
    return json.dumps(body).encode()


async def _on_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)
