"""Runs tasks in background threads, so that two legs take little longer than the slower one.

Most of a leg's time is spent inside an engine that releases Python's lock. Results and the order in which they are used
do not depend on the threads; only the time does. If no thread has started a task, `result()` runs it inline.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

from assay.util.thread_map import count_cores

T = TypeVar("T")


class Task(Generic[T]):
    """A call that a thread may have started. `result()` returns its value or raises its error."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._value: T | None = None
        self._error: BaseException | None = None
        # Two plain locks are cheaper than an event: whoever acquires the first runs the call and releases the second.
        self._started, self._running = threading.Lock(), threading.Lock()
        self._running.acquire()

    def try_run(self) -> None:
        """Run the call, unless another thread has started it."""
        if not self._started.acquire(blocking=False):
            return
        try:
            self._value = self._work()
        except BaseException as error:  # raised by result()
            self._error = error
        finally:
            self._running.release()

    def result(self) -> T:
        """Run the call or wait for it, then return its value or raise its error."""
        self.try_run()
        with self._running:
            if self._error is not None:
                raise self._error
            return self._value  # type: ignore[return-value]

    def cancel(self) -> None:
        """Prevent the call from starting; if it has started, wait until it ends."""
        if not self._started.acquire(blocking=False):
            with self._running:
                pass


class ThreadPool:
    """At most `size` daemon threads, started when first needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tasks: SimpleQueue[Task[object]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0

    def submit(self, work: Callable[[], T]) -> Task[T]:
        task = Task(work)
        if self._size:
            self._tasks.put(task)  # type: ignore[arg-type]
        if self._threads < self._size:
            with self._lock:
                if self._threads < self._size:
                    self._threads += 1
                    threading.Thread(target=self._run, name="assay-leg", daemon=True).start()
        return task

    def _run(self) -> None:
        while True:
            self._tasks.get().try_run()


_pool = ThreadPool(count_cores() - 1)


def submit(work: Callable[[], T]) -> Task[T]:
    """Queue a call for a free thread."""
    return _pool.submit(work)


def run_all(works: Sequence[Callable[[], T]]) -> list[T]:
    """Run all calls, on the caller's thread and on free ones, and return their values in order."""
    tasks = [submit(work) for work in works[1:]]
    try:
        first = works[0]()
        for task in reversed(tasks):  # threads take them from the front
            task.try_run()
        return [first, *(task.result() for task in tasks)]
    finally:
        for task in tasks:
            task.cancel()


def _after_fork() -> None:
    global _pool
    _pool = ThreadPool(count_cores() - 1)  # a child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
