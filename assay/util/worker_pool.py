"""Helper processes: tasks go out, answers come back in the order of the tasks, and a crash costs one task.

A helper is a fresh interpreter that runs one module of ours: forking is unsafe beside threads, and a library must
not import its caller's `__main__` again, as `multiprocessing` does. Messages are pickles behind a header (kind,
length) on the helper's standard input and output. A task is answered in any number of parts, and at most `AHEAD`
parts of each helper wait here, so memory is bounded however large an answer is.

What runs in helpers and what runs here gives the same result; only the time differs. The environment variable
ASSAY_WORKERS says how many there are: 0 for none, unset for one per core.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, Any

from assay.errors import AssayError, ConfigError

AHEAD = 24
"""Parts of one helper that wait to be read before it has to wait itself."""
MOST_WORKERS = 4
"""Helpers at most, unless ASSAY_WORKERS says otherwise: each takes some 200 MB."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # the helpers are the parallel part
_PIPE = 1 << 20  # bytes on their way; with less a helper waits whenever the program is busy for some milliseconds
_HEADER = struct.Struct(">BQ")
_PART, _DONE, _FAILED, _CRASHED = range(4)


class Crashed(AssayError):
    """A helper process died while it worked on a task."""


class NoHelpers(AssayError):
    """A helper process could not be started; what it should have done can be done here."""


def workers() -> int:
    """How many helper processes to use; 0 when the work is better done here."""
    said = os.environ.get("ASSAY_WORKERS", "").strip()
    if said:
        if not (said.isascii() and said.isdigit()):
            raise ConfigError(f"ASSAY_WORKERS = {said!r} is not a number of processes", "give 0, 1, 2, … or unset it")
        return min(int(said), 64)
    if getattr(sys, "frozen", False) or not sys.executable:
        return 0  # a packed program is not an interpreter that could run our module
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS) if cores > 1 else 0


# -- in the helper


def serve(handler: Callable[[Any], Callable[[Any], Iterable[Any]]]) -> None:
    """The helper's life: `handler(setup)` gives what answers a task in parts; ends when the other side goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program; it will end us
    gc.set_threshold(100_000, 20, 20)  # what is made here is given away; looking through it for cycles is waste
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a parser prints must not mix with the answers
    answer = handler(pickle.loads(_receive(source)[1]))
    _send(sink, _DONE)
    while True:
        kind, raw = _receive(source)
        if kind == _CRASHED:
            return
        try:
            for part in answer(pickle.loads(raw)):
                _send(sink, _PART, pickle.dumps(part, pickle.HIGHEST_PROTOCOL))
        except BrokenPipeError:
            return
        except Exception as error:
            _send(sink, _FAILED, _packed(error))
        else:
            _send(sink, _DONE)


def _packed(error: Exception) -> bytes:
    """An error as bytes; one that does not survive the way is told in words."""
    try:
        raw = pickle.dumps(error)
        pickle.loads(raw)
    except Exception:
        raw = pickle.dumps(AssayError(f"{type(error).__name__}: {error}"))
    return raw


def _send(sink: IO[bytes], kind: int, raw: bytes = b"") -> None:
    sink.write(_HEADER.pack(kind, len(raw)))
    sink.write(raw)
    sink.flush()


def _receive(source: IO[bytes]) -> tuple[int, bytes]:
    """The next message; `_CRASHED` when there will be none."""
    head = source.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return _CRASHED, b""
    kind, length = _HEADER.unpack(head)
    raw = source.read(length)
    return (kind, raw) if len(raw) == length else (_CRASHED, b"")


# -- in the program


class _Helper:
    """One process, begun again when it is gone, and the parts that wait to be read from it."""

    def __init__(self, module: str, setup: Any) -> None:
        self._command = [sys.executable, "-P", "-m", module]
        self._setup = pickle.dumps(setup)
        self._process: subprocess.Popen[bytes] | None = None
        self.waiting: queue.Queue[tuple[int, bytes]] = queue.Queue(AHEAD)

    def start(self) -> None:
        # It must find the very modules this process has, and nothing that happens to lie in the current folder.
        path = os.pathsep.join(place or os.getcwd() for place in sys.path)
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pipesize=_PIPE,
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
            )
        except OSError as error:
            raise NoHelpers(f"a helper process could not be started: {error}", "set ASSAY_WORKERS=0") from error
        self._say(self._setup)

    def ready(self) -> None:
        """Wait until it has begun."""
        if self._process is None:
            self.start()
        assert self._process is not None
        assert self._process.stdout is not None
        if _receive(self._process.stdout)[0] != _DONE:
            self.stop()
            raise NoHelpers("a helper process could not be started", "set ASSAY_WORKERS=0 to do without")

    def answer(self, task: Any) -> None:
        """Give it a task and keep its answer, part by part; a process that dies is said to have."""
        if self._process is None:
            self.ready()
        assert self._process is not None
        assert self._process.stdout is not None
        self._say(pickle.dumps(task))
        kind = _PART
        while kind == _PART:
            kind, raw = _receive(self._process.stdout)
            if kind == _CRASHED:
                raw = str(self.stop()).encode()
            self.waiting.put((kind, raw))

    def _say(self, raw: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it is gone; reading its answer will tell
            _send(self._process.stdin, _PART, raw)

    def kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def stop(self) -> int:
        """End the process for good and say how it ended."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # bytes left for a dead process
                if pipe is not None:
                    pipe.close()
        return status


class Crew:
    """Helpers at work on a list of tasks. Iterate once: one iterator of parts per task, in order."""

    def __init__(self, module: str, setup: Any, tasks: Sequence[Any], size: int) -> None:
        self._tasks = tasks
        self._helpers = [_Helper(module, setup) for _ in range(min(size, len(tasks)))]
        self._order: queue.SimpleQueue[_Helper] = queue.SimpleQueue()  # who has which task
        self._lock = threading.Lock()
        self._taken = 0
        self._stopped = False
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Crew:
        try:
            for helper in self._helpers:
                helper.start()
            for helper in self._helpers:
                helper.ready()
        except BaseException:
            for helper in self._helpers:
                helper.stop()
            raise
        for helper in self._helpers:
            thread = threading.Thread(target=self._drive, args=(helper,), name="assay-helper", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        for thread, helper in zip(self._threads, self._helpers, strict=True):
            while thread.is_alive():
                helper.kill()
                while not helper.waiting.empty():
                    helper.waiting.get_nowait()
                thread.join(0.02)

    def __iter__(self) -> Iterator[Iterator[Any]]:
        for _ in self._tasks:
            parts = self._parts(self._order.get())
            yield parts
            for _ in parts:
                pass  # what the caller did not want to see

    def _parts(self, helper: _Helper) -> Iterator[Any]:
        while True:
            kind, raw = helper.waiting.get()
            if kind == _PART:
                yield pickle.loads(raw)
            elif kind == _DONE:
                return
            elif kind == _FAILED:
                raise pickle.loads(raw)
            else:
                raise Crashed(f"a helper process ended in the middle of its work (exit {raw.decode()})")

    def _drive(self, helper: _Helper) -> None:
        """One thread per helper: hand it the next task, keep what it says."""
        try:
            while (number := self._next(helper)) < len(self._tasks):
                helper.answer(self._tasks[number])
        except Exception as error:
            helper.waiting.put((_FAILED, _packed(error)))
        finally:
            helper.stop()

    def _next(self, helper: _Helper) -> int:
        """The number of the task this helper takes; beyond the last when there is none."""
        with self._lock:
            number = len(self._tasks) if self._stopped else self._taken
            if number < len(self._tasks):
                self._taken += 1
                self._order.put(helper)
            return number
