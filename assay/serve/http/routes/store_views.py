"""/fields: the metadata that filters may name. /tree: the nodes of the tree of chunks."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from assay.bench.judge.judgement_writer import LEDGER
from assay.bench.judge.ledger import Ledger, graded_entries
from assay.errors import QueryError, StoreError
from assay.serve.access import Caller, Forbidden
from assay.serve.document_list import NotFound
from assay.serve.http.context import ServerContext, caller_of, context_of, needs
from assay.serve.tree_errors import measure_judged_walks
from assay.upkeep.tree_report import describe_nodes, find_node, require_tree

router = APIRouter(tags=["store"], dependencies=[needs("read")])


@router.get("/fields", summary="What a filter may name")
async def list_fields(request: Request) -> Response:
    """Every field with the kinds of its values: text, number, flag."""
    context = context_of(request)
    return await context.run(
        lambda: {"fields": {name: sorted(kinds) for name, kinds in sorted(context.kb.snapshot().kinds().items())}}
    )


@router.get("/tree", summary="A node of the tree with those below it")
async def show_tree(
    request: Request,
    path: Annotated[str, Query(max_length=200, description="root, or the places of the children: 2.5")] = "root",
    depth: Annotated[int, Query(ge=0, le=3)] = 1,
) -> Response:
    """Keywords, sentences and counts. A tree mixes all documents, so a key with scopes does not see it; neither is it
    shown for a store that holds memories."""
    context, caller = context_of(request), caller_of(request)

    def read() -> dict[str, Any]:
        _check_tree_access(context, caller)
        view = context.kb.snapshot()
        try:
            tree = require_tree(view)
            nodes = list(describe_nodes(tree, find_node(tree, path), depth))
        except (StoreError, QueryError) as error:
            raise NotFound(error.message, error.cure) from error
        ids = [view.ids(np.array([one.row for one in node.payload.summary], np.int64)).tolist() for node in nodes]
        return {"nodes": [node.to_json(names) for node, names in zip(nodes, ids, strict=True)]}

    return await context.run(read)


@router.get("/tree/errors", summary="Where walks lose the evidence of judged questions")
async def show_tree_errors(
    request: Request,
    pipeline: Annotated[str, Query(min_length=1, max_length=200, description="A pipeline that walks.")] = "hcr",
) -> Response:
    """For the questions that were judged in the workbench: the share of walks that lost every relevant chunk at a level
    (`eps_any`, with its interval), and the nodes where that happened."""
    context, caller = context_of(request), caller_of(request)

    def measure() -> dict[str, Any]:
        _check_tree_access(context, caller)
        require_tree(context.kb.snapshot())
        if context.settings.judgements is None:
            raise NotFound("this server stores no judgements", "start it with --judgements DIR")
        entries = list(graded_entries(Ledger.open(context.settings.judgements / LEDGER)))
        with context.search_slots:
            found = measure_judged_walks(context.kb, entries, context.pipeline(pipeline, None, caller))
        if not found["judged"]:
            raise NotFound("no question has a relevant result yet", "grade some results: the page Judge")
        return found

    return await context.run(measure)


def _check_tree_access(context: ServerContext, caller: Caller) -> None:
    if caller.scopes is not None:
        raise Forbidden("the tree shows the documents of all scopes", "use a key without scopes")
    if context.documents.condition(None) is not None:
        raise NotFound("this store holds memories, so its tree is not shown", "keep them in a store of their own")
