"""/search and its relatives: text in, an answer with its trace out."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from assay.bench.diff import compare_answers
from assay.bench.query_log import LoggedQuery
from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.serve.access import Caller
from assay.serve.http.context import ServerContext, caller_of, context_of, encode_json, json_response, needs
from assay.serve.http.schemas import (
    AnswerShape,
    BatchRequest,
    CompareRequest,
    ExplainRequest,
    SearchRequest,
    SearchSettings,
)
from assay.serve.missing_documents import explain_place
from assay.serve.redaction import redact
from assay.where import parse

router = APIRouter(tags=["search"], dependencies=[needs("read")])


@router.post("/search", summary="Answer a question", response_model=AnswerShape)
async def search(request: Request, body: SearchRequest) -> Response:
    """The best chunks, the score of each as a sum of parts, and what every step of the pipeline did."""
    context, caller = context_of(request), caller_of(request)
    return await context.run(lambda: search_documents(context, caller, body.text, body))


@router.post("/search/batch", summary="Answer several questions")
async def search_batch(request: Request, body: BatchRequest) -> Response:
    """The answers in the order of the questions, all with the same settings. It waits in line as one request."""
    context, caller = context_of(request), caller_of(request)
    answers = await context.pool.map(
        lambda text: encode_json(search_documents(context, caller, text, body)), list(body.texts)
    )
    return json_response(b'{"answers":[' + b",".join(answers) + b"]}")


@router.post("/explain", summary="Why is this chunk here, or why not?")
async def explain(request: Request, body: ExplainRequest) -> Response:
    """What every step did with one chunk for a query: why it has its rank, or why it is not in the answer. Instead of
    a chunk, `document` takes its chunk that comes closest."""
    context, caller = context_of(request), caller_of(request)

    def work() -> dict[str, Any]:
        options = search_options(context, caller, body)
        return explain_place(context.documents, body.text, body.id, body.document, caller.scopes, options)

    return await context.run(work)


@router.post("/compare", summary="Two pipelines on one question")
async def compare(request: Request, body: CompareRequest) -> Response:
    """Both answers, and every chunk that entered, left or moved from `a` to `b`, with the reason in each."""
    context, caller = context_of(request), caller_of(request)

    def work() -> dict[str, Any]:
        sides = {"a": body.a, "b": body.b}
        options = {name: search_options(context, caller, side) for name, side in sides.items()}
        found = {name: context.documents.search(body.text, caller.scopes, **options[name]) for name in sides}
        old, new = found["a"], found["b"]
        change = compare_answers(LoggedQuery("", body.text), old, new, (old.ms, new.ms))
        ids_a, ids_b = old.chosen.ids.tolist(), new.chosen.ids.tolist()
        return {
            **{name: answer_json(found[name], options[name]["pipeline"]) for name in sides},
            "common": [one for one in ids_a if one in ids_b],
            "only_a": [one for one in ids_a if one not in ids_b],
            "only_b": [one for one in ids_b if one not in ids_a],
            **change.to_json(),
        }

    return await context.run(work)


def search_documents(context: ServerContext, caller: Caller, text: str, settings: SearchSettings) -> dict[str, Any]:
    """Answer one question within what the caller may see, as JSON."""
    with context.search_slots:
        options = search_options(context, caller, settings)
        answer = context.documents.search(text, caller.scopes, **options)
        context.observe(answer, options["pipeline"])
        return answer_json(answer, options["pipeline"])


def search_options(context: ServerContext, caller: Caller, settings: SearchSettings) -> dict[str, Any]:
    """The settings of a request as the knowledge base takes them."""
    if settings.scope is not None:
        caller.check_scope(settings.scope)
    return {
        "where": None if settings.where is None else parse(settings.where),
        "pipeline": context.pipeline(settings.pipeline, settings.pipeline_toml, caller),
        **{
            name: getattr(settings, name)
            for name in ("k", "at", "since", "until", "scope", "snapshot", "budget", "budget_ms", "sort", "abstain")
        },
    }


def answer_json(answer: Answer, pipeline: Pipeline) -> dict[str, Any]:
    """An answer in its documented form, with what a client cannot know: the store's version and the time it took."""
    found = answer.to_json()
    if found["status"]["degraded"]:  # a failing provider may repeat a key in its message
        found = {**found, "status": redact(found["status"]), "trace": redact(found["trace"])}
    return {
        **found,
        "pipeline": pipeline.name,
        "version": answer.version,
        "searched": answer.searched,
        "ms": round(answer.ms, 3),
    }
