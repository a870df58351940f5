"""/memories: store, recall, update and forget, within the scopes of the caller."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from assay.errors import StoreError
from assay.serve import memory_calls
from assay.serve.document_list import NotFound
from assay.serve.http.context import caller_of, context_of, encode_json, json_response, needs
from assay.serve.mcp import arguments

router = APIRouter(prefix="/memories", tags=["memories"])
ScopeName = Annotated[str, Query(min_length=1, max_length=200, description="Only this scope; default: the caller's.")]
MemoryId = Annotated[str, Query(min_length=1, max_length=200)]


@router.post("", summary="Store a memory", dependencies=[needs("write")], status_code=201)
async def store(request: Request, body: arguments.StoreArguments) -> Response:
    """Durable when it is answered. 201 when a memory was stored, 200 when not; `action` and `reason` say why."""
    context, caller = context_of(request), caller_of(request)

    def work() -> tuple[bytes, int]:
        stored = memory_calls.store_memory(context.memory, body, caller)
        return encode_json(stored), 201 if stored["action"] in ("stored", "superseded") else 200

    return json_response(*await context.pool.run(work))


@router.post("/recall", summary="Recall memories", dependencies=[needs("read")])
async def recall(request: Request, body: arguments.RecallArguments) -> Response:
    """The memories that answer a question, best first, each with the parts of its score."""
    context, caller = context_of(request), caller_of(request)
    return await context.run(lambda: memory_calls.recall_memories(context.memory, body, caller))


@router.post("/explain", summary="Explain a recall", dependencies=[needs("read")])
async def explain(request: Request, body: arguments.ExplainArguments) -> Response:
    """Why a memory has its place for a query, step by step, or why it was not recalled."""
    context, caller = context_of(request), caller_of(request)
    return await context.run(lambda: memory_calls.explain_recall(context.memory, body, caller))


@router.post("/forget", summary="Forget by id or query", dependencies=[needs("write")])
async def forget(request: Request, body: arguments.ForgetArguments) -> Response:
    """By `id` at once; by `query` in two calls: the first shows the memories with a `token`, the second confirms.
    `purge` erases the text from every version and index, and needs the right admin."""
    context, caller = context_of(request), caller_of(request)
    if body.purge:
        caller.require("admin")
    return await context.run(lambda: memory_calls.forget_memories(context.memory, body, caller))


@router.get("", summary="List memories", dependencies=[needs("read")])
async def list_page(
    request: Request,
    scope: ScopeName | None = None,
    category: Annotated[str, Query(min_length=1, max_length=100)] | None = None,
    tag: Annotated[list[str], Query(max_length=64, description="Only with all these tags.")] = [],  # noqa: B006
    since: Annotated[str, Query(min_length=1, max_length=64)] | None = None,
    until: Annotated[str, Query(min_length=1, max_length=64)] | None = None,
    at: Annotated[str, Query(min_length=1, max_length=64)] | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    everything: Annotated[bool, Query(description="Superseded and expired ones too.")] = False,
) -> Response:
    """A page of memories, newest first; `more` says whether there is another."""
    context, caller = context_of(request), caller_of(request)
    args: dict[str, Any] = {
        "scope": scope, "category": category, "tags": tag, "since": since, "until": until, "at": at,
        "limit": limit, "offset": offset, "everything": everything,
    }  # fmt: skip
    checked = arguments.check_arguments("/memories", arguments.ListArguments, args)
    return await context.run(lambda: memory_calls.list_memories(context.memory, checked, caller))


@router.get("/stats", summary="Count memories", dependencies=[needs("read")])
async def stats(request: Request, scope: ScopeName | None = None) -> Response:
    context, caller = context_of(request), caller_of(request)
    args = arguments.StatsArguments(scope=scope, at=None)
    return await context.run(lambda: memory_calls.count_memories(context.memory, args, caller))


@router.get("/{id}", summary="One memory", dependencies=[needs("read")])
async def get_memory(request: Request, id: str, scope: ScopeName | None = None) -> Response:
    """A memory by its id or a unique beginning."""
    context, caller = context_of(request), caller_of(request)
    return await context.run(lambda: _found(lambda: context.memory.get(id, scope=caller.to_read(scope)).to_json()))


@router.get("/{id}/history", summary="Every state of a memory", dependencies=[needs("read")])
async def history(request: Request, id: str, scope: ScopeName | None = None) -> Response:
    context, caller = context_of(request), caller_of(request)

    def read() -> dict[str, Any]:
        changes = context.memory.history(id, scope=caller.to_read(scope))
        if not changes:
            raise NotFound(f"there is no memory {id[:60]!r}", "ids are listed by /memories")
        return {"states": [change.to_json() for change in changes]}

    return await context.run(lambda: _found(read))


@router.patch("/{id}", summary="Change a memory", dependencies=[needs("write")])
async def update(request: Request, id: str, body: arguments.MemoryPatch) -> Response:
    """What is not given stays; the state before stays in its history."""
    context, caller = context_of(request), caller_of(request)
    given = {"id": id, **body.model_dump(exclude_unset=True)}
    args = arguments.check_arguments("/memories/{id}", arguments.UpdateArguments, given)
    return await context.run(lambda: _found(lambda: dict(memory_calls.update_memory(context.memory, args, caller))))


@router.delete("/{id}", summary="Forget a memory", dependencies=[needs("write")])
async def delete(request: Request, id: str, scope: ScopeName | None = None) -> Response:
    context, caller = context_of(request), caller_of(request)
    args = arguments.check_arguments("/memories/{id}", arguments.ForgetArguments, {"id": id, "scope": scope})
    return await context.run(lambda: _found(lambda: dict(memory_calls.forget_memories(context.memory, args, caller))))


def _found(read: Any) -> dict[str, Any]:
    """A memory that these scopes do not hold is 404; other errors of the store stay what they are."""
    try:
        found: dict[str, Any] = read()
    except StoreError as error:
        if type(error) is StoreError:
            raise NotFound(error.message, error.cure) from error
        raise
    return found
