"""Turns errors into messages for clients: what is wrong and the cure, without tracebacks or paths of the server."""

from __future__ import annotations

import logging
import re
import sqlite3

from assay.errors import AssayError, Reason

_PATH = re.compile(r"""(?:\b[A-Za-z]:|(?<![\w:/.]))[\\/](?:[^\s\\/'",;]+[\\/])+[^\s\\/'",;]*""")
_log = logging.getLogger("assay.serve")


def hide_paths(text: str) -> str:
    """Replace every absolute path in a text."""
    return _PATH.sub("(a path on the server)", text)


def client_reason(error: Exception) -> Reason:
    """What a client is told of an error, and its cure. An unexpected error is logged with its traceback."""
    if isinstance(error, AssayError):
        return Reason(hide_paths(error.message), hide_paths(error.cure))
    if isinstance(error, sqlite3.Error):
        return Reason(f"the store's database: {hide_paths(str(error))}", "on the server, run: assay doctor")
    if isinstance(error, OSError):
        return Reason(
            f"the server's disk or network: {error.strerror or 'failed'}", "check the store's folder and disk"
        )
    _log.error("a call failed in a way nobody foresaw", exc_info=error)
    return Reason("Assay has a bug: the call failed", "report what the server's log says; other calls go on")


def describe_error(error: Exception) -> str:
    """The message for a client in one text."""
    reason = client_reason(error)
    return f"{reason.text}\ncure: {reason.cure}" if reason.cure else reason.text
