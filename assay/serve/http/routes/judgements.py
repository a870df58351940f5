"""/judgements: grades that people give in the workbench, and the dataset they make."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from assay.bench.collection import from_store
from assay.bench.judge.judgement_writer import LEDGER, check_folder, write_judgements
from assay.bench.judge.ledger import Ledger, graded_entries
from assay.bench.judge.pool import PoolItem
from assay.bench.query_log import name_query
from assay.serve.document_list import NotFound
from assay.serve.http.context import ServerContext, caller_of, context_of, needs
from assay.serve.http.schemas import Name, RequestModel, Text
from assay.where import And, Compare

router = APIRouter(prefix="/judgements", tags=["judgements"])


class JudgementRequest(RequestModel):
    """One grade. `rank` is the rank that the rater saw, null where it was hidden; `undo` takes the last grade back."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "key rotation", "chunk_id": "ugdczf3b", "rater": "ada", "grade": 2, "rank": None}]
        }
    )
    query: Annotated[Text, Field(min_length=1)]
    chunk_id: Name
    rater: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    grade: Literal[0, 1, 2, 3] | None = Field(None, description="null: skipped.")
    rank: Annotated[int, Field(ge=1, le=10_000)] | None = None
    undo: bool = False


@router.get("", summary="Count and list judgements", dependencies=[needs("read")])
async def list_judgements(
    request: Request,
    query: Annotated[str | None, Query(max_length=10_000, description="Also list those of this question.")] = None,
    rater: Annotated[str | None, Query(max_length=100, description="Only of this rater.")] = None,
) -> Response:
    context = context_of(request)

    def read() -> dict[str, Any]:
        entries = list(graded_entries(Ledger.open(_folder(context) / LEDGER)))
        own = [one for one in entries if query is not None and one.query == query and rater in (None, one.judge)]
        return {
            "judgements": len(entries),
            "queries": len({one.query_id for one in entries}),
            "raters": sorted({one.judge for one in entries}),
            "entries": [
                {"doc_id": one.doc_id, "chunk_id": one.chunk_id, "rater": one.judge, "grade": one.grade} for one in own
            ],
        }

    return await context.run(read)


@router.post("", summary="Grade a result", dependencies=[needs("write")])
async def grade(request: Request, body: JudgementRequest) -> Response:
    """The grade is on disk when this answers. The last grade of a rater for a question and a document counts."""
    context, caller = context_of(request), caller_of(request)

    def write() -> dict[str, Any]:
        folder = _folder(context)
        check_folder(folder)
        view, allowed = context.kb.snapshot(), context.documents.condition(caller.scopes)
        only = Compare("id", "=", context.kb.full_id(body.chunk_id, view, missing_ok=True))
        rows = view.live_rows(only if allowed is None else And((allowed, only)))
        if not len(rows):
            raise NotFound(f"there is no chunk {body.chunk_id[:60]!r}", "ids are in every result of a search")
        item = PoolItem(name_query(body.query), view.chunks(np.asarray(rows))[0])
        ledger, now = Ledger(folder / LEDGER), datetime.now(UTC).isoformat(timespec="seconds")
        rater = " ".join(body.rater.split())
        if body.undo:
            ledger.undo(item, rater, now)
        else:
            ledger.grade(item, rater, body.grade, now, shown_rank=body.rank)
        return {"doc_id": item.chunk.doc_id, "grade": None if body.undo else body.grade, "rater": rater}

    return await context.run(write)


@router.post("/dataset", summary="Write the dataset of all judgements", dependencies=[needs("admin")])
async def write_dataset(request: Request) -> Response:
    """Several grades of one document become their low median; `command` runs the lab on it."""
    context = context_of(request)

    def write() -> dict[str, Any]:
        folder = _folder(context)
        ledger = Ledger.open(folder / LEDGER)
        if not any(graded_entries(ledger)):
            raise NotFound("nothing has been judged yet", "grade some results first")
        done = write_judgements(ledger, from_store(context.kb), folder, Path(str(context.kb.store.address)).name)
        command = f"assay bench run {shlex.quote(folder.name)} --systems bm25,dense,default --split all"
        return {
            "queries": done.queries,
            "judgements": done.judgements,
            "relevant": done.relevant,
            "lost": done.lost,
            "command": command,
        }

    return await context.run(write)


def _folder(context: ServerContext) -> Path:
    if context.settings.judgements is None:
        raise NotFound("this server stores no judgements", "start it with --judgements DIR")
    return context.settings.judgements
