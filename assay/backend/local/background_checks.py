"""Reads the files of the generation in use in a thread and compares them with their checksums.

A search verifies what it reads, unless another process verified it since the machine started. The thread finds what
happens to files afterwards: it reads each of them once, slowly, and then looks every few seconds whether one was
written. A generation with damage is replaced by the next look-up (see `recovery`).
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref

from assay.index.checksums import DamagedIndex, FolderChecks
from assay.index.generation import Generation

_START = 1.0
"""Seconds after which the thread is started, by a search: a process that ends sooner needs none."""
_PAUSE = 0.02
"""Seconds between two megabytes: some three per cent of a processor."""
_INTERVAL = 5.0
"""Seconds between two looks at the files."""
_MOST_AT_CLOSE = 64_000_000
"""Bytes that are verified when the store is closed, so that the next process need not: some twenty milliseconds."""


class BackgroundChecks:
    """Watches one generation at a time."""

    def __init__(self) -> None:
        self._watched: weakref.ref[Generation] | None = None
        self._stop = threading.Event()
        self._since = 0.0
        self._thread: threading.Thread | None = None

    def watch(self, generation: Generation | None) -> None:
        """Watch this generation from now on. Called by every search, so it must be cheap."""
        watched = None if self._watched is None else self._watched()
        if watched is not generation:
            self._stop.set()
            self._stop, self._thread = threading.Event(), None
            self._watched = None if generation is None else weakref.ref(generation)
            self._since = time.monotonic()
        elif self._thread is None and generation is not None and time.monotonic() > self._since + _START:
            # The thread holds the checks, not the generation, whose files may be removed when nobody uses it.
            arguments = (generation.checks, self._watched, self._stop)
            self._thread = threading.Thread(target=_watch, args=arguments, name="assay-checks", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop, and record what is verified. A small rest is verified now; its damage is the next process's concern."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        generation = None if self._watched is None else self._watched()
        if generation is not None and generation.checks.known and generation.checks.damage is None:
            with contextlib.suppress(OSError, DamagedIndex):
                generation.checks.complete(_MOST_AT_CLOSE)
        self._watched = None


def _watch(checks: FolderChecks, generation: weakref.ref[Generation], stop: threading.Event) -> None:
    """Read every file once, then those that change, until the generation is not used any more."""

    def pause() -> None:
        if stop.wait(_PAUSE):
            raise _Stopped

    try:
        for name in checks.names:
            checks.read(name, pause)
        checks.save()
        while not stop.wait(_INTERVAL) and generation() is not None:
            checks.read_changed(pause)
    except _Stopped:
        return
    except (OSError, DamagedIndex) as error:
        if generation() is not None and not stop.is_set():  # else its files may have been removed
            cause = error if isinstance(error, DamagedIndex) else DamagedIndex(f"the index cannot be read: {error}")
            checks.damage = cause


class _Stopped(Exception):
    """The generation is not watched any more."""
