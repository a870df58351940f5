"""Adding and removing documents: records as JSON, a file with progress events, removal by name."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from assay.errors import ConfigError, QueryError
from assay.ingest.add_report import AddReport, Event
from assay.ingest.discovery import normalise_name
from assay.kb import UPLOADS
from assay.memory.scopes import SOURCE
from assay.serve.document_list import add_records, remove_document
from assay.serve.errors import client_reason, hide_paths
from assay.serve.http.context import ServerContext, caller_of, context_of, needs
from assay.serve.http.problems import classify_error
from assay.serve.http.schemas import RequestModel
from assay.sync import RECORDS

router = APIRouter(prefix="/documents", tags=["documents"], dependencies=[needs("write")])
MAX_RECORDS = 1_000
EVENT_SCHEMA = {
    "type": "object",
    "description": "One event; data is JSON.",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["received", "progress", "done", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
_FILE_NAME = re.compile(r"[^/\\\x00-\x1f]{1,200}")
_FOLDER_NAME = re.compile(r"[\w][\w .-]{0,99}")


class AddRequest(RequestModel):
    """Records with `text`, and `id`, `title`, `created`, `importance` and any metadata; or plain strings."""

    model_config = ConfigDict(
        strict=False,
        json_schema_extra={"examples": [{"records": [{"id": "keys", "text": "Rotate the key.", "lang": "en"}]}]},
    )
    records: Annotated[list[dict[str, Any] | str], Field(min_length=1, max_length=MAX_RECORDS)]
    folder: Annotated[str, Field(min_length=1, max_length=100, description="The name they are filed under.")] = RECORDS


@router.post("", summary="Add documents", status_code=201)
async def add(request: Request, body: AddRequest) -> Response:
    """Add or replace records; one with a known id replaces the old one. A record that cannot be read is an error, and
    then none is added."""
    context = context_of(request)
    folder = _check_folder(body.folder)
    return await context.run(lambda: _report(add_records(context.kb, body.records, folder)), 201)


@router.post(
    "/upload",
    summary="Upload a file",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": EVENT_SCHEMA}}}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload(
    request: Request,
    name: Annotated[str, Query(min_length=1, max_length=200, description="The name of the file, with its ending.")],
    folder: Annotated[str, Query(min_length=1, max_length=100)] = UPLOADS,
) -> Response:
    """The body is the file. The answer is a stream of events: `received`, `progress`, and at the end `done` with the
    report or `error` with a problem. A later upload of the same name replaces the file."""
    context, folder = context_of(request), _check_folder(folder)
    if not _FILE_NAME.fullmatch(name) or name in (".", "..") or name.startswith("."):
        raise QueryError(f"{name[:60]!r} is no name of a file", "give a name without slashes, with its ending")
    place = tempfile.TemporaryDirectory(prefix="assay-upload-")
    try:
        path = Path(place.name) / name
        size = 0
        with path.open("wb") as file:
            async for block in request.stream():
                await asyncio.to_thread(file.write, block)
                size += len(block)
    except BaseException:
        place.cleanup()
        raise
    return StreamingResponse(_events(context, place, path, name, folder, size), media_type="text/event-stream")


@router.delete("/{name:path}", summary="Remove a document")
async def remove(request: Request, name: str) -> Response:
    """Remove a file, a record or a document by its name; it is in no snapshot from here on."""
    context, caller = context_of(request), caller_of(request)
    return await context.run(
        lambda: {"name": name, "chunks": remove_document(context.kb, context.documents, caller.scopes, name)}
    )


async def _events(
    context: ServerContext, place: tempfile.TemporaryDirectory[str], path: Path, name: str, folder: str, size: int
) -> AsyncIterator[bytes]:
    """Adds the file in the pool and reports what happens meanwhile."""
    events: asyncio.Queue[bytes] = asyncio.Queue()
    origin = _origin(folder, name)
    loop = asyncio.get_running_loop()

    def progress(event: Event) -> None:
        # while the only file is being read, the library names none
        facts = {"name": event.name or origin, "done": event.done, "total": 1, "chunks": event.chunks}
        loop.call_soon_threadsafe(events.put_nowait, _event("progress", facts))

    with place:
        yield _event("received", {"name": name, "bytes": size})
        task = asyncio.ensure_future(context.pool.run(lambda: _add_file(context, path, name, folder, progress)))
        try:
            while not task.done() or not events.empty():
                waiting = asyncio.ensure_future(events.get())
                await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
                if waiting.done():
                    yield waiting.result()
                else:
                    waiting.cancel()
            yield _event("done", task.result())
        except Exception as error:
            status, _ = classify_error(error)
            reason = client_reason(error)
            yield _event("error", {"status": status, "detail": reason.text, "cure": reason.cure or None})
        finally:
            if not task.done():  # the client went away: the file is added all the same, then removed from its place
                await asyncio.wait({task})


def _event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _check_folder(folder: str) -> str:
    if folder == SOURCE or not _FOLDER_NAME.fullmatch(folder):
        raise ConfigError(f"{folder[:60]!r} cannot be the name of documents", "give letters, digits, dots and dashes")
    return folder


def _add_file(
    context: ServerContext, path: Path, name: str, folder: str, on_event: Callable[[Event], None]
) -> dict[str, Any]:
    """Add the file. The report has the name under which it is found and removed, and never its place on the server."""
    report = _report(context.kb.upload(path, name, folder, on_event), {str(path): name})
    return {"name": _origin(folder, name), **report}


def _origin(folder: str, name: str) -> str:
    """The name of an uploaded file in the store."""
    return f"{folder}/{normalise_name(name)}"


def _report(report: AddReport, names: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    return {
        "added": report.added,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "chunks_added": report.chunks_added,
        "chunks_removed": report.chunks_removed,
        "problems": [
            {"name": name, "detail": _show(reason.text, names), "cure": _show(reason.cure, names) or None}
            for name, reason in report.problems
        ],
        "version": report.version,
    }


def _show(text: str, names: Mapping[str, str]) -> str:
    """A text without paths of the server; those of `names` are replaced by their names."""
    for path, name in names.items():
        text = text.replace(path, name)
    return hide_paths(text)
