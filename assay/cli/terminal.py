"""Text that is safe to print: text from documents and queries never moves the cursor or sets a colour."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 110
"""Columns of the widest view; longer lines are hard to read."""

# C0 and C1 controls, DEL, marks that turn the reading direction around, and halves of surrogate pairs.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_NOT_ASCII = re.compile("[^\x00-\x7e]")
_JSON_CONTROLS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def replace_unencodable() -> None:
    """Let stdout and stderr replace characters they cannot encode instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError):
                stream.reconfigure(errors="replace")


def sanitize(text: str, *, keep_lines: bool = False) -> str:
    """Replace control characters (ESC becomes ␛) and drop direction marks; one line unless `keep_lines`."""
    return _CONTROLS.sub(_picture, text) if keep_lines else sanitize_piece(text).strip()


def sanitize_piece(text: str) -> str:
    """The same for a part of a line: white space at its ends becomes one blank."""
    return _BLANKS.sub(" ", _CONTROLS.sub(_picture, text))


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return " " if chr(code) in "\r\f\v" else chr(0x2400 + code)
    return "␡" if code == 0x7F else "" if 0x2000 <= code < 0x3000 else "\ufffd"


def format_json(value: Any, indent: int | None = None) -> str:
    """JSON for a terminal, a file or a pipe."""
    return escape_json(json.dumps(value, ensure_ascii=False, indent=indent))


def escape_json(line: str) -> str:
    """JSON in which everything a terminal would act on, or stdout cannot encode, is written as a \\u escape.

    Such characters stand only inside strings, so it is the same JSON.
    """
    return (_JSON_CONTROLS if supports_unicode() else _NOT_ASCII).sub(_units, line)


def _units(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def make_console(*, plain: bool = False, stderr: bool = False) -> Console:
    """A console without markup and emoji codes; coloured only in a terminal, and never if `plain`."""
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1; see failures.py

    terminal = False if plain else None
    screen = _Console(stderr=stderr, markup=False, emoji=False, highlight=False, force_terminal=terminal)
    screen.width = min(screen.width, WIDEST)
    return screen


def supports_unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()


def format_count(number: int, noun: str, plural: str = "") -> str:
    """`1 chunk`, `1,204 chunks`; `plural` for nouns without a regular one."""
    regular = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural or regular}"


def format_size(number: float) -> str:
    """Bytes with a unit: 812 B, 3.4 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def format_date(moment: float) -> str:
    """A moment as a date, with its time when it is not midnight; "" for an undated one."""
    from datetime import UTC, datetime

    try:
        when = datetime.fromtimestamp(moment, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return when.strftime("%Y-%m-%d" if moment % 86_400 == 0 else "%Y-%m-%d %H:%M")


def format_seconds(spent: float) -> str:
    return f"{spent * 1000:.0f} ms" if spent < 1 else f"{spent:.1f} s" if spent < 100 else f"{spent / 60:.0f} min"
