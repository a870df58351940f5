"""/health: the process lives. /ready: a real query is answered."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from assay import __version__
from assay.serve.http.context import context_of, encode_json, json_response

router = APIRouter(tags=["health"])
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
