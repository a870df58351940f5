"""The cascade over HTTP: POST /search/hybrid and the metrics of specification 001.

    POST      /search/hybrid             one request in, the first k with their scores and telemetry out
    GET|POST  /metrics/hitk_offline      the held-out evaluation with the current settings
    GET       /metrics/latency           p50 and p95 by stage
    GET       /metrics/routing           lists looked into, candidates taken

What is wrong with a request is answered with 422 and `{"detail": [{"loc": ["body", FIELD], "msg": …}]}`. One thread
answers one request; nothing waits for another but an evaluation for the one before it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
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
from assay.cascade.evaluation.offline import offline
from assay.cascade.service import Cascade, CascadeSettings
from assay.engine.answer import Answer
from assay.errors import AssayError, QueryError
from assay.serve.http.hybrid_request import FIELDS, InvalidRequest, OfflineRequest, SearchRequest, ask_of, parsed
from assay.serve.http.hybrid_telemetry import Served, Telemetry, log
from assay.serve.mcp.errors import words

LONGEST = 4 * 1024 * 1024
"""Bytes of a request; a vector of 4,096 numbers takes 90 thousand."""
HOSTS = ("127.0.0.1", "localhost", "[::1]", "::1")

_READ: Mapping[str, Callable[[str], Any]] = {"limit": int, "baselines": {"true": True, "false": False}.__getitem__}
"""How the parameters of a GET are read."""


class CascadeServer:
    """What the endpoints share."""

    def __init__(self, cascade: Cascade, sequences: Sequences | None) -> None:
        self.cascade = cascade
        self.sequences = sequences
        self.telemetry = Telemetry()
        self.one_at_a_time = anyio.CapacityLimiter(1)
        model = cascade.snapshot.model
        self.model_version = model.name if model else "none"
        self.index_version = cascade.snapshot.index.version

    # -- searching

    def search(self, body: bytes) -> dict[str, Any]:
        """The answer to one request's body, noted and logged."""
        start = time.perf_counter()
        request: SearchRequest = parsed(SearchRequest, body)
        ask = ask_of(request, self.cascade)
        settings = self.cascade.settings_of(ask)
        # Where the truth stands is looked for among all that are left: fewer is a prefix.
        deep = ask if request.truth_id is None else replace(ask, k=settings.k1)
        answer = self.cascade.search(deep, time.perf_counter)
        ms = _ms(answer, (time.perf_counter() - start) * 1000.0)
        nprobe = self.cascade.leg.probes(answer.query)
        self.telemetry.note(Served(settings.k0, nprobe, ms))
        log(self._line(request, settings, nprobe, ms, answer))
        found = {
            "model_version": self.model_version,
            "index_version": self.index_version,
            "k0": settings.k0,
            "k1": settings.k1,
            "k": settings.k,
            "results": _results(answer, request.return_fields or FIELDS, self.cascade)[: settings.k],
            "telemetry": {f"{stage}_ms": round(spent, 3) for stage, spent in ms.items()},
        }
        degraded = list(answer.verdict.degraded)
        return {**found, "degraded": degraded} if degraded else found

    def _line(
        self, request: SearchRequest, settings: CascadeSettings, nprobe: int, ms: dict[str, float], answer: Answer
    ) -> dict[str, Any]:
        line: dict[str, Any] = {
            "model": self.model_version,
            "index": self.index_version,
            "k0": settings.k0,
            "k1": settings.k1,
            "k": settings.k,
            "lambda_tmd": settings.weight,
            "nprobe": nprobe,
            **{f"{stage}_ms": round(spent, 3) for stage, spent in ms.items()},
            "lane": answer.query.extra.get("lane"),
        }
        if request.truth_id is not None:
            rank = self._rank(request.truth_id, answer)
            line |= {"hit5": int(1 <= rank <= 5), "rank_true": rank or None}
        return line

    def _rank(self, truth: int, answer: Answer) -> int:
        """The place of the truth, from 1; 0 when it is not left. A twin of it (the same bytes) counts as it, as in the
        evaluation: nothing tells the two apart."""
        vectors = self.cascade.snapshot.bank.vectors
        right = vectors[self.cascade.snapshot.rows_of([truth], "truth_id")[0]].tobytes()
        rows = np.asarray(answer.chosen.rows, np.int64).tolist()
        return next((place for place, row in enumerate(rows, 1) if vectors[row].tobytes() == right), 0)

    def offline(self, asked: OfflineRequest) -> dict[str, Any]:
        if self.sequences is None:
            raise HTTPException(409, "no held-out sequences are loaded; start the server with --val")
        return offline(self.cascade, self.sequences, asked.limit, asked.baselines)


def app(cascade: Cascade, sequences: Sequences | None = None, hosts: Sequence[str] = HOSTS) -> Starlette:
    """The endpoints over an open cascade; `sequences` are what /metrics/hitk_offline evaluates."""
    desk = CascadeServer(cascade, sequences)

    async def search(request: Request) -> Response:
        body = await _body(request)
        return JSONResponse(await anyio.to_thread.run_sync(desk.search, body))

    async def hitk_offline(request: Request) -> Response:
        body = await _body(request) or b"{}"
        if request.method == "GET":
            body = _as_json(request)
        asked = parsed(OfflineRequest, body)
        found = await anyio.to_thread.run_sync(desk.offline, asked, limiter=desk.one_at_a_time)
        return JSONResponse(found)

    async def latency(_: Request) -> Response:
        return JSONResponse(desk.telemetry.latency())

    async def routing(_: Request) -> Response:
        return JSONResponse(desk.telemetry.routing())

    return Starlette(
        routes=[
            Route("/search/hybrid", search, methods=["POST"]),
            Route("/metrics/hitk_offline", hitk_offline, methods=["GET", "POST"]),
            Route("/metrics/latency", latency),
            Route("/metrics/routing", routing),
        ],
        # A page in a browser that made its own name point here (DNS rebinding) says that name.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        exception_handlers={InvalidRequest: _refused, AssayError: _failed, HTTPException: _http},
    )


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


def _ms(answer: Answer, total: float) -> dict[str, float]:
    """Milliseconds by stage: the leg, the model with its cut to k1, the codes, and all from the body's arrival."""
    spent = {span.name: span.ms for span in answer.trace}
    leg = next(span.name for span in answer.trace if span.kind == "leg")
    return {
        "faiss": spent[leg],
        "lvm": spent.get("lvm", 0.0) + spent.get("k1", 0.0),
        "tmd": spent.get("tmd", 0.0),
        "total": total,
    }


async def _body(request: Request) -> bytes:
    found = bytearray()
    async for block in request.stream():
        found += block
        if len(found) > LONGEST:
            raise HTTPException(413, f"a request has at most {LONGEST} bytes")
    return bytes(found)


def _as_json(request: Request) -> bytes:
    """The parameters of a GET as the body of a POST."""
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        try:
            found[name] = _READ[name](value) if name in _READ else value
        except (ValueError, KeyError):
            found[name] = value
    return json.dumps(found).encode()


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidRequest)
    return JSONResponse({"detail": error.problems}, 422)


async def _failed(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": words(error)}, 422 if isinstance(error, QueryError) else 500)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)
