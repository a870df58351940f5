"""Errors to words an agent can act on: what is wrong and what cures it, never a traceback and never a path of ours."""

from __future__ import annotations

import logging
import re
import sqlite3

from assay.errors import AssayError

_PATH = re.compile(r"""(?:\b[A-Za-z]:|(?<![\w:/.]))[\\/](?:[^\s\\/'",;]+[\\/])+[^\s\\/'",;]*""")
_log = logging.getLogger("assay.serve")


def without_paths(text: str) -> str:
    """The same sentence, with every absolute path in it called what it is."""
    return _PATH.sub("(a path on the server)", text)


def words(error: Exception) -> str:
    """What a client is told. What nobody foresaw goes to the server's own log, with all there is to say."""
    if isinstance(error, AssayError):
        return without_paths(f"{error.message}\ncure: {error.cure}" if error.cure else error.message)
    if isinstance(error, sqlite3.Error):
        return f"the store's database: {without_paths(str(error))}\ncure: on the server, run: assay doctor"
    if isinstance(error, OSError):
        return f"the server's disk or network: {error.strerror or 'failed'}\ncure: check the store's folder and disk"
    _log.error("a tool failed in a way nobody foresaw", exc_info=error)
    return "Assay has a bug: the call failed\ncure: report what the server's log says; other calls go on"
