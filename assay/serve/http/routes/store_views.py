"""/fields: the metadata that filters may name. /tree: the nodes of the tree of chunks."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from assay.errors import QueryError, StoreError
from assay.serve.access import Forbidden
from assay.serve.document_list import NotFound
from assay.serve.http.context import caller_of, context_of, needs
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
    if caller.scopes is not None:
        raise Forbidden("the tree shows the documents of all scopes", "use a key without scopes")

    def read() -> dict[str, Any]:
        if context.documents.condition(None) is not None:
            raise NotFound("this store holds memories, so its tree is not shown", "keep them in a store of their own")
        view = context.kb.snapshot()
        try:
            tree = require_tree(view)
            nodes = list(describe_nodes(tree, find_node(tree, path), depth))
        except (StoreError, QueryError) as error:
            raise NotFound(error.message, error.cure) from error
        ids = [view.ids(np.array([one.row for one in node.payload.summary], np.int64)).tolist() for node in nodes]
        return {"nodes": [node.to_json(names) for node, names in zip(nodes, ids, strict=True)]}

    return await context.run(read)
