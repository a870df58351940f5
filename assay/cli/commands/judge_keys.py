"""Reads keys: single keystrokes at a terminal, else lines of standard input, one key each."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

ESCAPE = "\x1b"
END = ("\x04", "\x03")


@contextlib.contextmanager
def keys() -> Iterator[Iterator[str]]:
    """Keys as they are pressed; the stream ends with Ctrl-D or the end of the input.

    Ctrl-C ends the block wherever it is, also while an item is being shown, and the terminal is as it was.
    """
    with contextlib.suppress(KeyboardInterrupt), _single_keys() as single:
        yield _strokes(sys.stdin.fileno()) if single else _lines()


@contextlib.contextmanager
def _single_keys() -> Iterator[bool]:
    """A terminal that gives every key at once, without showing it; whether there is one."""
    try:
        import termios
        import tty
    except ImportError:  # a system without terminals of this kind reads lines
        yield False
        return
    if not sys.stdin.isatty():
        yield False
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield True
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _strokes(handle: int) -> Iterator[str]:
    """Characters; what begins with an escape (arrows, function keys) is one key that nobody asked for."""
    while read := os.read(handle, 64):
        text = read.decode("utf-8", "replace")
        for key in [text] if text.startswith(ESCAPE) else text:
            if key in END:
                return
            yield key


def _lines() -> Iterator[str]:
    for line in sys.stdin:
        if line.strip():
            yield line.strip()
