"""The app of `assay serve`: routes, guard, limits, and the workbench."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse, Response

from assay import __version__
from assay.serve.http.authentication import Authenticator
from assay.serve.http.context import ServerContext
from assay.serve.http.hybrid import CascadeServer
from assay.serve.http.logs import log_request
from assay.serve.http.problems import install_handlers
from assay.serve.http.request_guard import RequestGuard
from assay.serve.http.routes import (
    documents,
    health,
    judgements,
    memories,
    models,
    pipelines,
    receipts,
    search,
    store_views,
    uploads,
)
from assay.serve.http.routes.hybrid import add_hybrid_routes
from assay.serve.http.schemas import PROBLEMS, Problem
from assay.serve.http.workbench_files import WorkbenchFiles

WORKBENCH = Path(__file__).resolve().parents[1] / "workbench"
GZIP_BYTES = 1_024
"""Answers from this size on are compressed for clients that take it."""
ROUTERS = (
    health.router,
    search.router,
    pipelines.router,
    uploads.router,
    documents.router,
    memories.router,
    receipts.router,
    judgements.router,
    store_views.router,
    models.router,
)
DESCRIPTION = """Search documents, keep memories, compare pipelines. Every answer has its trace.

Errors are `application/problem+json` with a `cure`. Every response has an `X-Request-Id`."""


def make_server_app(context: ServerContext, cascade: CascadeServer | None = None) -> FastAPI:
    """The app over an open store, with the routes of a cascade where there is one. When it shuts down, accepted
    requests are finished."""
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
    schemas = {"Problem": Problem.model_json_schema()}
    if cascade is not None:
        schemas |= add_hybrid_routes(app, context, cascade)
    for router in ROUTERS:
        app.include_router(router)
    _mount_workbench(app, settings.workbench or WORKBENCH)
    _complete_description(app, schemas)

    app.add_middleware(GZipMiddleware, minimum_size=GZIP_BYTES, compresslevel=1)

    def observe(facts: dict[str, Any]) -> None:
        context.metrics.observe_request(facts)
        log_request(facts)

    authenticate = Authenticator(settings, context.keys)
    app.add_middleware(RequestGuard, settings=settings, authenticate=authenticate, observe=observe)
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
    app.mount("/workbench", WorkbenchFiles(directory=folder, html=True), name="workbench")

    @app.get("/", include_in_schema=False)
    async def home() -> Response:
        return RedirectResponse("/workbench/")


def _complete_description(app: FastAPI, schemas: Mapping[str, Any]) -> None:
    """Add to the OpenAPI description what no route declares: the shape of errors, the requests of the cascade, how a
    key is sent."""
    build = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            description = build()
            components = description.setdefault("components", {})
            components.setdefault("schemas", {}).update(schemas)
            components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            description["security"] = [{"key": []}, {}]
            app.openapi_schema = description
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
