"""/search and its relatives: text in, an answer with its trace out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.serve.access import Caller
from assay.serve.http.context import ServerContext, caller_of, context_of, needs
from assay.serve.http.schemas import AnswerShape, SearchRequest, SearchSettings
from assay.where import parse

router = APIRouter(tags=["search"], dependencies=[needs("read")])


@router.post("/search", summary="Answer a question", response_model=AnswerShape)
async def search(request: Request, body: SearchRequest) -> Response:
    """The best chunks, the score of each as a sum of parts, and what every step of the pipeline did."""
    context, caller = context_of(request), caller_of(request)
    return await context.run(lambda: search_documents(context, caller, body.text, body))


def search_documents(context: ServerContext, caller: Caller, text: str, settings: SearchSettings) -> dict[str, Any]:
    """Answer one question within what the caller may see, as JSON."""
    options = search_options(context, caller, settings)
    return answer_json(context.documents.search(text, caller.scopes, **options), options["pipeline"])


def search_options(context: ServerContext, caller: Caller, settings: SearchSettings) -> dict[str, Any]:
    """The settings of a request as the knowledge base takes them."""
    if settings.scope is not None:
        caller.check_scope(settings.scope)
    return {
        "where": None if settings.where is None else parse(settings.where),
        "pipeline": context.pipeline(settings.pipeline, settings.pipeline_toml, caller),
        **{
            name: getattr(settings, name)
            for name in ("k", "at", "since", "until", "scope", "snapshot", "budget", "sort", "abstain")
        },
    }


def answer_json(answer: Answer, pipeline: Pipeline) -> dict[str, Any]:
    """An answer in its documented form, with what a client cannot know: the store's version and the time it took."""
    return {
        **answer.to_json(),
        "pipeline": pipeline.name,
        "version": answer.version,
        "searched": answer.searched,
        "ms": round(answer.ms, 3),
    }
