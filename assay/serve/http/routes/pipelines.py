"""/pipelines: what may be named in a search, and what preflight says of a posted one."""

from __future__ import annotations

import tomllib
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from assay.config.effects import find_effects
from assay.config.load import loads, preset_names, read_toml
from assay.config.preflight import check_scales, preflight
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError
from assay.serve.document_list import NotFound
from assay.serve.http.context import ServerContext, caller_of, context_of, needs
from assay.serve.http.schemas import MAX_TOML, RequestModel
from assay.serve.inline_pipelines import read_inline
from assay.util.permissions import find_forbidden

router = APIRouter(prefix="/pipelines", tags=["pipelines"], dependencies=[needs("read")])


class PreflightRequest(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"toml": 'k = 5\n[legs.bm25]\nk = 100\n[legs.dense]\nk = 100\n[fuse]\nuse = "rrf"\n'}]
        }
    )
    toml: Annotated[str, Field(min_length=1, max_length=MAX_TOML, description="A pipeline as TOML.")]


@router.get("", summary="List pipelines")
async def list_pipelines(request: Request) -> Response:
    """The presets, and the files of the server's own folder (`--pipelines`)."""
    context = context_of(request)
    return await context.run(lambda: {"pipelines": _list(context)})


@router.get("/{name}", summary="One pipeline with its TOML")
async def get_pipeline(request: Request, name: str) -> Response:
    context = context_of(request)

    def read() -> dict[str, Any]:
        files = context.pipeline_files()
        if name not in files and name not in preset_names():
            raise NotFound(f"there is no pipeline called {name[:60]!r}", "see /pipelines")
        text = read_toml(str(files[name]) if name in files else name)
        return {**_summary(loads(text, name), text, name in files), "toml": text, **_preflight(loads(text, name))}

    return await context.run(read)


@router.post("/preflight", summary="Check a pipeline before it runs")
async def check_pipeline(request: Request, body: PreflightRequest) -> Response:
    """What can be said of a pipeline without a search: whether it reads, the scales of its scores, thresholds that
    cannot be reached, legs that cannot matter, and what it would do outside of the server. A pipeline that does not
    read is no error of the request: `valid` is false and `error` has the cure."""

    caller = caller_of(request)

    def check() -> dict[str, Any]:
        try:
            pipeline = read_inline(body.toml, caller)
            return {"valid": True, "error": None, **_summary(pipeline, body.toml, False), **_preflight(pipeline)}
        except AssayError as error:
            return {"valid": False, "error": {"detail": error.message, "cure": error.cure or None}}

    return await context_of(request).run(check)


def _list(context: ServerContext) -> list[dict[str, Any]]:
    files = context.pipeline_files()
    found = []
    for name in [*(name for name in preset_names() if name not in files), *files]:
        text = read_toml(str(files[name]) if name in files else name)
        try:
            found.append(_summary(loads(text, name), text, name in files))
        except AssayError as error:
            found.append({"name": name, "own": name in files, "error": error.message, "cure": error.cure or None})
    return found


def _summary(pipeline: Pipeline, text: str, own: bool) -> dict[str, Any]:
    return {
        "name": pipeline.name,
        "about": tomllib.loads(text).get("about", ""),
        "own": own,
        "digest": pipeline.digest,
        "k": pipeline.k,
        "legs": [plan.name for plan in pipeline.legs],
        "steps": [plan.name for plan in pipeline.steps],
    }


def _preflight(pipeline: Pipeline) -> dict[str, Any]:
    return {
        "findings": [{**asdict(finding), "text": finding.text} for finding in preflight(pipeline)],
        "scales": [
            {"step": step, "scale": scores.scale, "lo": _finite(scores.lo), "hi": _finite(scores.hi)}
            for step, _, scores in check_scales(pipeline)
        ],
        "effects": [
            {"where": where, "effect": str(effect), "allowed": not find_forbidden([effect])}
            for where, effect in find_effects(pipeline)
        ],
    }


def _finite(value: float) -> float | None:
    """A bound as JSON has it: null for none."""
    return value if abs(value) != float("inf") else None
