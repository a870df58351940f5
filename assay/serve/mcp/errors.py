"""Turns errors into messages for agents: what is wrong and the cure, without tracebacks or paths of the server."""

from __future__ import annotations

import logging
import re
import sqlite3

from assay.errors import AssayError

_PATH = re.compile(r"""(?:\b[A-Za-z]:|(?<![\w:/.]))[\\/](?:[^\s\\/'",;]+[\\/])+[^\s\\/'",;]*""")
_log = logging.getLogger("assay.serve")


def hide_paths(text: str) -> str:
    """Replace every absolute path in a text."""
    return _PATH.sub("(a path on the server)", text)


def describe_error(error: Exception) -> str:
    """The message for a client. An unexpected error is logged with its traceback."""
    if isinstance(error, AssayError):
        return hide_paths(f"{error.message}\ncure: {error.cure}" if error.cure else error.message)
    if isinstance(error, sqlite3.Error):
        return f"the store's database: {hide_paths(str(error))}\ncure: on the server, run: assay doctor"
    if isinstance(error, OSError):
        return f"the server's disk or network: {error.strerror or 'failed'}\ncure: check the store's folder and disk"
    _log.error("a tool failed in a way nobody foresaw", exc_info=error)
    return "Assay has a bug: the call failed\ncure: report what the server's log says; other calls go on"
