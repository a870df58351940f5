"""A pool of worker processes: results come back in the order of the tasks, and a crash costs one task.

A worker is a fresh interpreter that runs one module of Assay: forking is unsafe beside threads, and a library must not
import its caller's `__main__` again, as `multiprocessing` does. Messages are pickles behind a header (kind, length) on
the worker's standard input and output. A result has any number of parts, and at most `MAX_WAITING_PARTS` parts of each
worker wait here, so memory is bounded however large a result is. A worker that is silent for longer than
`max_silence` seconds, while this process waits for it, is ended.

Work gives the same result in a worker and in this process. The environment variable ASSAY_WORKERS sets the number of
workers: 0 for none, unset for one per core.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, Any

from assay.errors import AssayError, ConfigError
from assay.util.thread_map import count_cores

MAX_WAITING_PARTS = 24
"""Parts of one worker that may wait to be read; then the worker waits."""
MOST_WORKERS = 4
"""Workers at most, unless ASSAY_WORKERS says otherwise: each takes some 200 MB."""
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # the workers are the parallel part
_PIPE = 1 << 20  # bytes; with a smaller pipe a worker waits whenever the program is busy for some milliseconds
_HEADER = struct.Struct(">BQ")
_PART, _DONE, _FAILED, _CRASHED = range(4)


class WorkerCrashed(AssayError):
    """A worker process died while it worked on a task; `status` as `subprocess` gives it, −9 for signal 9."""

    def __init__(self, status: int, stalled: bool = False) -> None:
        super().__init__(f"a helper process ended in the middle of its work (exit {status})")
        self.status = status
        self.stalled = stalled
        """It was ended because it had been silent for too long."""


class WorkersUnavailable(AssayError):
    """A worker process could not be started; the caller can do the work itself."""


def count_workers() -> int:
    """Return how many worker processes make work faster; 0 when this process should do it."""
    if not can_start_workers():
        return 0
    if setting := os.environ.get("ASSAY_WORKERS", "").strip():
        return min(int(setting), 64)
    cores = count_cores()
    return min(cores, MOST_WORKERS) if cores > 1 else 0


def can_start_workers() -> bool:
    """May this process start workers at all?"""
    setting = os.environ.get("ASSAY_WORKERS", "").strip()
    if setting and not (setting.isascii() and setting.isdigit()):
        raise ConfigError(f"ASSAY_WORKERS = {setting!r} is not a number of processes", "give 0, 1, 2, … or unset it")
    if setting:
        return int(setting) > 0
    # A packed program is not an interpreter that could run a module.
    return not getattr(sys, "frozen", False) and bool(sys.executable)


# -- in the worker


def serve_tasks(handler: Callable[[Any], Callable[[Any], Iterable[Any]]]) -> None:
    """Answer tasks until the other side closes the pipe: `handler(setup)` returns the function from a task to parts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which ends its workers
    gc.set_threshold(100_000, 20, 20)  # results are sent away; searching them for cycles is waste
    tasks, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a parser prints must not mix with the results
    answer = handler(pickle.loads(_receive(tasks)[1]))
    _send(results, _DONE)
    while True:
        kind, raw = _receive(tasks)
        if kind == _CRASHED:
            return
        try:
            for part in answer(pickle.loads(raw)):
                _send(results, _PART, pickle.dumps(part, pickle.HIGHEST_PROTOCOL))
        except BrokenPipeError:
            return
        except Exception as error:
            _send(results, _FAILED, _pickle_error(error))
        else:
            _send(results, _DONE)


def _pickle_error(error: Exception) -> bytes:
    """Return an error as bytes; one that cannot be pickled becomes an AssayError with its text."""
    try:
        raw = pickle.dumps(error)
        pickle.loads(raw)
    except Exception:
        raw = pickle.dumps(AssayError(f"{type(error).__name__}: {error}"))
    return raw


def _send(pipe: IO[bytes], kind: int, raw: bytes = b"") -> None:
    pipe.write(_HEADER.pack(kind, len(raw)))
    pipe.write(raw)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> tuple[int, bytes]:
    """Read the next message; `_CRASHED` when the pipe has ended."""
    head = pipe.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return _CRASHED, b""
    kind, length = _HEADER.unpack(head)
    raw = pipe.read(length)
    return (kind, raw) if len(raw) == length else (_CRASHED, b"")


# -- in the program


def _wait_readable(pipe: int, seconds: float) -> bool:
    """Wait until a pipe has bytes or has ended; False when neither happens in time."""
    if not hasattr(select, "poll"):
        return True  # no pipe can be waited for on this system
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(seconds * 1000.0))


class _WorkerProcess:
    """One process, restarted when it has died, and the parts that wait to be read from it."""

    def __init__(self, module: str, setup: Any, max_silence: float | None = None) -> None:
        self._command = [sys.executable, "-P", "-m", module]
        self._setup = pickle.dumps(setup)
        self._max_silence = max_silence
        self._process: subprocess.Popen[bytes] | None = None
        self.waiting: queue.Queue[tuple[int, bytes]] = queue.Queue(MAX_WAITING_PARTS)

    def start(self) -> None:
        # It must find the modules of this process, and nothing else from the current folder.
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
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
            raise WorkersUnavailable(
                f"a helper process could not be started: {error}", "set ASSAY_WORKERS=0"
            ) from error
        self._write(self._setup)

    def wait_ready(self) -> None:
        """Wait until the process has started."""
        if self._process is None:
            self.start()
        if self._read_message()[0] != _DONE:
            self.stop()
            raise WorkersUnavailable("a helper process could not be started", "set ASSAY_WORKERS=0 to do without")

    def run(self, task: Any) -> Iterator[tuple[int, bytes]]:
        """Send a task and yield the messages of its result; the death of the process is the last of them."""
        if self._process is None:
            self.wait_ready()
        self._write(pickle.dumps(task))
        kind = _PART
        while kind == _PART:
            try:
                kind, raw = self._read_message(self._max_silence)
            except TimeoutError:
                kind, raw = _CRASHED, pickle.dumps((self.stop(), True))
            else:
                if kind == _CRASHED:
                    raw = pickle.dumps((self.stop(), False))
            yield kind, raw

    def _read_message(self, max_silence: float | None = None) -> tuple[int, bytes]:
        """Read the next message; `_CRASHED` when the pipe has ended, TimeoutError when nothing comes for so long."""
        head = self._read(_HEADER.size, max_silence)
        if len(head) < _HEADER.size:
            return _CRASHED, b""
        kind, length = _HEADER.unpack(head)
        raw = self._read(length, max_silence)
        return (kind, raw) if len(raw) == length else (_CRASHED, b"")

    def _read(self, size: int, max_silence: float | None) -> bytes:
        """Read so many bytes, past the pipe's own buffer, which could not be waited for; fewer when the pipe ends."""
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        blocks: list[bytes] = []
        while size:
            if max_silence is not None and not _wait_readable(pipe, max_silence):
                raise TimeoutError
            block = os.read(pipe, min(size, _PIPE))
            if not block:
                break
            blocks.append(block)
            size -= len(block)
        return b"".join(blocks)

    def _write(self, raw: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has died; reading its result reports that
            _send(self._process.stdin, _PART, raw)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        if (process := self._process) is not None:
            process.kill()

    def stop(self) -> int:
        """End the process and return its exit status."""
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


def _decode_part(kind: int, raw: bytes) -> Any:
    """The part in a message, or the error in it raised."""
    value = pickle.loads(raw)
    if kind == _FAILED:
        raise value
    if kind == _CRASHED:
        raise WorkerCrashed(*value)
    return value


class SingleWorker:
    """One worker that is started by its first task. Iterate over what `run` returns before the next call."""

    def __init__(self, module: str, setup: Any, max_silence: float | None = None) -> None:
        self._worker = _WorkerProcess(module, setup, max_silence)

    def __enter__(self) -> SingleWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.stop()

    @property
    def pid(self) -> int | None:
        """The number of the process, while it runs."""
        return self._worker.pid

    def run(self, task: Any) -> Iterator[Any]:
        """Yield the parts of a task's result; WorkerCrashed when the process dies, and the next task gets a new one."""
        whole = False
        try:
            for kind, raw in self._worker.run(task):
                whole = kind != _PART
                if kind != _DONE:
                    yield _decode_part(kind, raw)
        finally:
            if not whole:
                self._worker.stop()  # the rest of this result must not be taken for the next


class WorkerPool:
    """Workers that process a list of tasks. Iterate once: one iterator of parts per task, in order."""

    def __init__(
        self, module: str, setup: Any, tasks: Sequence[Any], size: int, max_silence: float | None = None
    ) -> None:
        self._tasks = tasks
        self._workers = [_WorkerProcess(module, setup, max_silence) for _ in range(min(size, len(tasks)))]
        self._order: queue.SimpleQueue[_WorkerProcess] = queue.SimpleQueue()  # the worker of each task
        self._lock = threading.Lock()
        self._taken = 0
        self._stopped = False
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> WorkerPool:
        try:
            for worker in self._workers:
                worker.start()
            for worker in self._workers:
                worker.wait_ready()
        except BaseException:
            for worker in self._workers:
                worker.stop()
            raise
        for worker in self._workers:
            thread = threading.Thread(target=self._drive, args=(worker,), name="assay-worker", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        for thread, worker in zip(self._threads, self._workers, strict=True):
            while thread.is_alive():
                worker.kill()
                while not worker.waiting.empty():
                    worker.waiting.get_nowait()
                thread.join(0.02)

    def __iter__(self) -> Iterator[Iterator[Any]]:
        for _ in self._tasks:
            parts = self._parts(self._order.get())
            yield parts
            for _ in parts:
                pass  # parts that the caller did not read

    def _parts(self, worker: _WorkerProcess) -> Iterator[Any]:
        while True:
            kind, raw = worker.waiting.get()
            if kind == _DONE:
                return
            yield _decode_part(kind, raw)

    def _drive(self, worker: _WorkerProcess) -> None:
        """Send tasks to one worker and queue its results; runs in a thread per worker."""
        try:
            while (number := self._next(worker)) < len(self._tasks):
                for message in worker.run(self._tasks[number]):
                    worker.waiting.put(message)
        except Exception as error:
            worker.waiting.put((_FAILED, _pickle_error(error)))
        finally:
            worker.stop()

    def _next(self, worker: _WorkerProcess) -> int:
        """Return the number of the task this worker takes; beyond the last when there is none."""
        with self._lock:
            number = len(self._tasks) if self._stopped else self._taken
            if number < len(self._tasks):
                self._taken += 1
                self._order.put(worker)
            return number
