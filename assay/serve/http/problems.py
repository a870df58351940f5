"""Errors over HTTP: `application/problem+json` (RFC 9457) with the cure, and the table from errors to statuses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from assay.bench.receipt import ReceiptError
from assay.errors import (
    AssayError,
    BadFile,
    BadRecord,
    ConfigError,
    MissingExtra,
    ModelError,
    OutOfTime,
    QueryError,
    Reason,
    StoreBusy,
    StoreError,
)
from assay.serve.access import Forbidden, Unauthorized
from assay.serve.document_list import NotFound
from assay.serve.errors import client_reason
from assay.serve.http.invalid_requests import describe_invalid
from assay.serve.http.request_pool import Overloaded
from assay.serve.rate_limit import RateExceeded
from assay.util.permissions import NotAllowed

MEDIA_TYPE = "application/problem+json"
MOST_PROBLEMS = 10
"""Wrong fields that one answer lists."""


STATUSES: Sequence[tuple[type[Exception], int, str]] = (
    (NotFound, 404, "not-found"),
    (Unauthorized, 401, "unauthorized"),
    (Forbidden, 403, "forbidden"),
    (NotAllowed, 403, "not-allowed"),
    (RateExceeded, 429, "rate-exceeded"),
    (Overloaded, 503, "overloaded"),
    (StoreBusy, 503, "store-busy"),
    (QueryError, 422, "invalid-query"),
    (ConfigError, 422, "invalid-pipeline"),
    (BadRecord, 422, "invalid-record"),
    (BadFile, 422, "invalid-file"),
    (StoreError, 409, "store"),
    (ReceiptError, 409, "receipt"),
    (ModelError, 409, "model"),
    (MissingExtra, 409, "missing-package"),
    (OutOfTime, 504, "out-of-time"),
)
"""The first row that fits decides; everything else is 500."""
_TITLES = {
    400: "Bad request",
    401: "A key is needed",
    403: "Not permitted",
    404: "Not found",
    405: "Method not allowed",
    409: "Not possible with what is here",
    413: "Too large",
    415: "Unsupported media type",
    421: "Wrong host",
    422: "Cannot be understood",
    429: "Too many requests",
    500: "Internal error",
    503: "Busy",
    504: "Out of time",
}
_HTTP_CURES = {
    404: "/openapi.json lists the routes",
    405: "/openapi.json lists the routes",
    413: "send less in one request; a long file goes to /documents/upload",
}


def problem_response(
    status: int,
    name: str,
    reason: Reason,
    request_id: str = "",
    errors: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem as a response; `name` completes its type."""
    body: dict[str, Any] = {
        "type": f"urn:assay:problem:{name}",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": reason.text,
        "cure": reason.cure or None,
        "request_id": request_id or None,
    }
    if errors:
        body["errors"] = list(errors)
    return Response(json.dumps(body, ensure_ascii=False), status, dict(headers or {}), MEDIA_TYPE)


def classify_error(error: Exception) -> tuple[int, str]:
    """The status of an error and the last part of its problem type."""
    return next(((status, name) for kind, status, name in STATUSES if isinstance(error, kind)), (500, "internal"))


def error_response(error: Exception, request_id: str = "") -> Response:
    """The response to an error that a route raised."""
    status, name = classify_error(error)
    headers: dict[str, str] = {}
    if isinstance(error, Overloaded | RateExceeded):
        headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, StoreBusy):
        headers["Retry-After"] = "1"
    elif isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    return problem_response(status, name, client_reason(error), request_id, headers=headers)


def request_id_of(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


def install_handlers(app: FastAPI) -> None:
    """Answer every error of the app's routes with a problem."""

    async def on_error(request: Request, error: Exception) -> Response:
        return error_response(error, request_id_of(request))

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = list(error.errors())
        errors = [
            {"where": [str(step) for step in one["loc"]], "message": one["msg"], "type": one["type"]}
            for one in found[:MOST_PROBLEMS]
        ]
        reason = describe_invalid(request, found)
        return problem_response(422, "invalid-request", reason, request_id_of(request), errors)

    async def on_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        reason = Reason(str(error.detail), _HTTP_CURES.get(error.status_code, ""))
        return problem_response(error.status_code, "http", reason, request_id_of(request), headers=error.headers)

    app.add_exception_handler(AssayError, on_error)  # the request guard answers what is no AssayError
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http_error)
