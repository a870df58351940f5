"""Structured logs: one line of JSON on standard error for each request, and for what goes wrong. No query is logged."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any

from assay.serve.redaction import redact

_requests = logging.getLogger("assay.serve.requests")


class JsonFormatter(logging.Formatter):
    """A record as a line of JSON: time, level, logger, message, the fields of a request; secrets are masked, in
    tracebacks too."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(redact(line), ensure_ascii=False, default=str)


def install_logs(requests: bool) -> None:
    """Send the logs of Assay and of the server to standard error; `requests` adds a line for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("assay", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    logging.getLogger("assay").setLevel(logging.INFO)
    _requests.setLevel(logging.INFO if requests else logging.WARNING)


def log_request(facts: Mapping[str, Any]) -> None:
    """One line for a finished request; 5xx are errors."""
    level = logging.ERROR if facts["status"] >= 500 and facts["status"] != 503 else logging.INFO
    if _requests.isEnabledFor(level):
        _requests.log(level, "%s %s", facts["method"], facts["path"], extra={"facts": dict(facts)})
