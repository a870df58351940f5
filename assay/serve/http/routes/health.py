"""/health: the process lives. /ready: a real query is answered. /metrics: numbers for monitoring."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from assay import __version__
from assay.serve.http.context import context_of, encode_json, json_response, needs

router = APIRouter(tags=["health"])
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
READY_QUERY = "is the store ready?"


@router.get("/health", summary="The process lives")
async def health() -> dict[str, str]:
    return {"status": "ok", "version": __version__}


@router.get("/ready", summary="A real query is answered")
async def ready(request: Request) -> Response:
    """Searches the store with the default pipeline. 503 while the server is full or drains: send requests elsewhere."""
    context = context_of(request)

    def probe() -> dict[str, Any]:
        answer = context.kb.search(READY_QUERY, 1)
        return {
            "status": "ready",
            "word": answer.status.word,
            "degraded": list(answer.status.degraded),
            "version": answer.version,
            "chunks": answer.searched,
            "ms": round(answer.ms, 3),
        }

    return json_response(await context.pool.run(lambda: encode_json(probe())))


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    dependencies=[needs("read")],
    response_class=PlainTextResponse,
)
async def metrics(request: Request) -> Response:
    """Requests and their times by route; times and outcomes of the steps of searches; the pool, the vector cache, the
    store, the process."""
    context = context_of(request)
    return Response(await asyncio.to_thread(context.metrics.render), media_type=METRICS_TYPE)
