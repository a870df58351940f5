"""The app of `assay serve`: routes, guard, limits, and the workbench."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from assay import __version__
from assay.serve.access import LOCAL
from assay.serve.http.context import ServerContext
from assay.serve.http.problems import install_handlers
from assay.serve.http.request_guard import RequestGuard
from assay.serve.http.routes import documents, health, pipelines, search
from assay.serve.http.schemas import PROBLEMS, Problem

WORKBENCH = Path(__file__).resolve().parents[1] / "workbench"
GZIP_BYTES = 1_024
"""Answers from this size on are compressed for clients that take it."""
ROUTERS = (health.router, search.router, pipelines.router, documents.router)
DESCRIPTION = """Search documents, keep memories, compare pipelines. Every answer has its trace.

Errors are `application/problem+json` with a `cure`. Every response has an `X-Request-Id`."""


def make_server_app(context: ServerContext) -> FastAPI:
    """The app over an open store. When it shuts down, accepted requests are finished."""
    settings = context.settings

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await context.pool.close()

    app = FastAPI(
        title="Assay",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        responses=PROBLEMS,
        redoc_url=None,
        docs_url=None,
    )
    app.state.context = context
    install_handlers(app)
    for router in ROUTERS:
        app.include_router(router)
    _mount_workbench(app, settings.workbench or WORKBENCH)
    _describe_problems(app)

    app.add_middleware(GZipMiddleware, minimum_size=GZIP_BYTES, compresslevel=1)
    app.add_middleware(RequestGuard, settings=settings, authenticate=lambda *_: LOCAL, observe=lambda _: None)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-Id"],
            expose_headers=["X-Request-Id", "Retry-After"],
        )
    return app


def _mount_workbench(app: FastAPI, folder: Path) -> None:
    """The page at /workbench/, where its files are installed; / leads there."""
    if not (folder / "index.html").exists():
        return
    app.mount("/workbench", StaticFiles(directory=folder, html=True), name="workbench")

    @app.get("/", include_in_schema=False)
    async def home() -> Response:
        return RedirectResponse("/workbench/")


def _describe_problems(app: FastAPI) -> None:
    """Add the shape of errors to the OpenAPI description, which no route returns as its own type."""
    build = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = build()
            schema.setdefault("components", {}).setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
