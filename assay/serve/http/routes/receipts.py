"""/receipts: the results of the lab that the server was given, and the tests between runs."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from assay.bench.compare import compare
from assay.bench.receipt import Receipt
from assay.serve.http.context import context_of, needs
from assay.serve.http.schemas import MAX_PAGE, Name, RequestModel
from assay.serve.redaction import redact

router = APIRouter(tags=["receipts"], dependencies=[needs("read")])
MAX_RUNS = 20


class ReceiptsRequest(RequestModel):
    """Names of run receipts, the baseline first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"receipts": ["lab/a.bm25.json", "lab/a.default.json"]}]})
    receipts: Annotated[list[Name], Field(min_length=2, max_length=MAX_RUNS)]
    metrics: Annotated[list[Name], Field(max_length=20)] | None = None


@router.get("/receipts", summary="List receipts")
async def list_receipts(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Response:
    """Receipts of the folder that the server was started with (`--receipts`), by name; `error` where one is damaged."""
    context = context_of(request)

    def work() -> dict[str, Any]:
        found = context.receipts.find()
        end = offset + limit
        return {
            "receipts": context.receipts.summarise(dict(islice(found.items(), offset, end))),
            "total": len(found),
            "next_offset": end if end < len(found) else None,
        }

    return await context.run(work)


@router.post("/compare/receipts", summary="Test runs against the first")
async def compare_receipts(request: Request, body: ReceiptsRequest) -> Response:
    """Differences with bootstrap intervals and paired tests, as `assay bench compare` gives them."""
    context = context_of(request)

    def work() -> dict[str, Any]:
        found = compare([context.receipts.read(name) for name in body.receipts], body.metrics)
        return _whole(found)

    return await context.run(work)


@router.get("/receipts/{name:path}", summary="One receipt")
async def get_receipt(request: Request, name: str) -> Response:
    """The whole receipt, checked against its digest."""
    context = context_of(request)
    return await context.run(lambda: _whole(context.receipts.read(name)))


def _whole(receipt: Receipt) -> dict[str, Any]:
    whole = {
        "schema": receipt.schema,
        "kind": receipt.kind,
        "digest": receipt.digest,
        "canonical": dict(receipt.canonical),
        "measured": dict(receipt.measured),
    }
    return dict(redact(whole))
