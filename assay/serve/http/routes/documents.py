"""/documents: list, read, add and remove what the store holds beside memories."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from assay.serve.document_list import list_documents, read_document
from assay.serve.http.context import caller_of, context_of, needs
from assay.serve.http.schemas import MAX_PAGE

router = APIRouter(prefix="/documents", tags=["documents"])


@router.get("", summary="List documents", dependencies=[needs("read")])
async def list_page(
    request: Request,
    prefix: Annotated[str, Query(max_length=1_000, description="Only those whose name begins so.")] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Response:
    """Files and records by folder and name, a page at a time; `next_offset` is null on the last page."""
    context, caller = context_of(request), caller_of(request)

    def read() -> dict[str, Any]:
        entries = list_documents(context.kb, context.documents, caller.scopes, prefix)
        end = offset + limit
        return {
            "documents": [asdict(entry) for entry in entries[offset:end]],
            "total": len(entries),
            "next_offset": end if end < len(entries) else None,
        }

    return await context.run(read)


@router.get("/{name:path}", summary="Read a document", dependencies=[needs("read")])
async def get_document(
    request: Request,
    name: str,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Response:
    """The chunks of a document, or of all documents of a file, in the order of its text, with their metadata."""
    context, caller = context_of(request), caller_of(request)
    return await context.run(lambda: read_document(context.kb, context.documents, caller.scopes, name, limit, offset))
