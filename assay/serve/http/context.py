"""What the routes share: the store, its memory, the pool, the settings."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from assay.config.load import preset_names
from assay.config.resolve import resolve
from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, nearest
from assay.kb import KnowledgeBase
from assay.memory.service import MemoryService
from assay.serve.access import Caller, Right
from assay.serve.http.metrics import ServerMetrics
from assay.serve.http.request_pool import RequestPool
from assay.serve.http.settings import ServerSettings
from assay.serve.http.tracing import AnswerTracer
from assay.serve.inline_pipelines import read_inline
from assay.serve.keys import KeyStore
from assay.serve.receipt_list import ReceiptList
from assay.serve.visible_documents import VisibleDocuments
from assay.util.thread_map import count_cores

T = TypeVar("T")


@dataclass(frozen=True)
class ServerContext:
    """One per server. The memory service shares the knowledge base."""

    kb: KnowledgeBase
    memory: MemoryService
    documents: VisibleDocuments
    pool: RequestPool
    settings: ServerSettings
    metrics: ServerMetrics
    receipts: ReceiptList
    search_slots: threading.Semaphore
    """Searches that compute at a time, see `count_search_slots`."""
    keys: KeyStore | None = None
    tracer: AnswerTracer | None = None

    @staticmethod
    def make(
        kb: KnowledgeBase, settings: ServerSettings, keys: KeyStore | None = None, tracer: AnswerTracer | None = None
    ) -> ServerContext:
        pool = RequestPool(settings.workers, settings.waiting)
        metrics = ServerMetrics(kb, pool)
        return ServerContext(
            kb=kb,
            memory=MemoryService(kb),
            documents=VisibleDocuments(kb),
            pool=pool,
            settings=settings,
            metrics=metrics,
            receipts=ReceiptList(settings.receipts),
            search_slots=threading.Semaphore(count_search_slots(str(kb.store.address), settings.workers)),
            keys=keys,
            tracer=tracer,
        )

    def observe(self, answer: Answer, pipeline: Pipeline) -> None:
        """Count an answer, and send its spans where tracing is on."""
        self.metrics.observe_answer(answer, pipeline.name)
        if self.tracer is not None:
            self.tracer.trace(answer, pipeline.name)

    async def run(self, work: Callable[[], Mapping[str, Any]], status: int = 200) -> Response:
        """Run work in the pool and answer with its result as JSON."""
        return json_response(await self.pool.run(lambda: encode_json(work())), status)

    def pipeline_files(self) -> dict[str, Path]:
        """The pipelines of the server's own folder, by name."""
        folder = self.settings.pipelines
        return {} if folder is None else {path.stem: path for path in sorted(folder.glob("*.toml"))}

    def pipeline(self, name: str | None, toml: str | None, caller: Caller) -> Pipeline:
        """A pipeline by name, or from the TOML of a request. A name is never a path."""
        if name is not None and toml is not None:
            raise ConfigError(
                "a request names a pipeline and brings one", "give pipeline or pipeline_toml, one of them"
            )
        if toml is not None:
            return read_inline(toml, caller)
        files = self.pipeline_files()
        name = name or "default"
        if name in files:
            return resolve(str(files[name]))
        if name not in _presets():
            raise ConfigError(
                f"there is no pipeline called {name[:60]!r}", nearest(name[:60], [*preset_names(), *files])
            )
        return resolve(name)


def count_search_slots(address: str, workers: int) -> int:
    """How many searches compute at a time: over a store on this machine as many as there are processors, because more
    threads in one interpreter take the lock from each other and answer fewer requests a second; over a store on a
    server, where a search mostly waits, as many as there are workers."""
    return workers if "://" in address else min(workers, count_cores())


@cache
def _presets() -> frozenset[str]:
    """The names of presets; they come with the package and do not change while it runs."""
    return frozenset(preset_names())


def encode_json(value: Any) -> bytes:
    """JSON without NaN, which JSON does not have."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def json_response(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


def context_of(request: Request) -> ServerContext:
    context: ServerContext = request.app.state.context
    return context


def caller_of(request: Request) -> Caller:
    caller: Caller = request.scope["state"]["caller"]
    return caller


def needs(right: Right) -> Any:
    """A dependency of routes: the caller has this right."""

    async def check(request: Request) -> None:
        caller_of(request).require(right)

    return Depends(check)
