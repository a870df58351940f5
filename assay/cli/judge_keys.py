"""Where keys come from: single keystrokes at a terminal, else lines of standard input, one key each."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

ESCAPE = "\x1b"
END = ("\x04", "\x03")


@contextlib.contextmanager
def keys() -> Iterator[Iterator[str]]:
    """Keys as they are pressed; the stream ends with Ctrl-D, Ctrl-C or the end of the input."""
    try:
        import termios
        import tty
    except ImportError:  # a system without terminals of this kind reads lines
        yield _lines()
        return
    if not sys.stdin.isatty():
        yield _lines()
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield _strokes(handle)
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)


def _strokes(handle: int) -> Iterator[str]:
    """Characters; what begins with an escape (arrows, function keys) is one key that nobody asked for."""
    with contextlib.suppress(KeyboardInterrupt):
        while read := os.read(handle, 64):
            text = read.decode("utf-8", "replace")
            for key in [text] if text.startswith(ESCAPE) else text:
                if key in END:
                    return
                yield key


def _lines() -> Iterator[str]:
    with contextlib.suppress(KeyboardInterrupt):
        for line in sys.stdin:
            if line.strip():
                yield line.strip()
