"""Work begun ahead of its turn, in a thread beside the caller's: two legs take little longer than the slower one.

Most of a leg's time is spent inside an engine that lets go of Python's lock. What comes out is the same, and so is the
order in which results are used; only the clock sees a difference. Nobody waits for a thread: work that none has taken
up when its result is wanted is done by the caller, as if nothing had been begun.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Task(Generic[T]):
    """Work that a thread may have taken up. `result` gives what it gave, or raises what it raised."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._gave: T | None = None
        self._error: BaseException | None = None
        # Two plain locks, cheaper than an event: who takes the first does the work, and lets go of the second.
        self._taken, self._running = threading.Lock(), threading.Lock()
        self._running.acquire()

    def help(self) -> None:
        """Do it, unless somebody has taken it up."""
        if not self._taken.acquire(blocking=False):
            return
        try:
            self._gave = self._work()
        except BaseException as error:  # raised where it is waited for
            self._error = error
        finally:
            self._running.release()

    def result(self) -> T:
        self.help()
        with self._running:
            if self._error is not None:
                raise self._error
            return self._gave  # type: ignore[return-value]

    def drop(self) -> None:
        """Nobody wants it any more: it is not begun, or waited for if it was."""
        if not self._taken.acquire(blocking=False):
            with self._running:
                pass


class ThreadPool:
    """At most so many threads, started when first needed, ended with the process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: SimpleQueue[Task[object]] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0

    def submit(self, work: Callable[[], T]) -> Task[T]:
        begun = Task(work)
        if self._most:
            self._waiting.put(begun)  # type: ignore[arg-type]
        if self._started < self._most:
            with self._lock:
                if self._started < self._most:
                    self._started += 1
                    threading.Thread(target=self._run, name="assay-ahead", daemon=True).start()
        return begun

    def _run(self) -> None:
        while True:
            self._waiting.get().help()


def _further_cores() -> int:
    known = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return len(known) - 1


_threads = ThreadPool(_further_cores())


def submit(work: Callable[[], T]) -> Task[T]:
    """Put it where a thread that is free takes it up."""
    return _threads.submit(work)


def run_all(works: Sequence[Callable[[], T]]) -> list[T]:
    """What all of these give, in their order, done by the caller and whoever is free."""
    begun = [submit(work) for work in works[1:]]
    try:
        first = works[0]()
        for one in reversed(begun):  # threads take them from the front
            one.help()
        return [first, *(one.result() for one in begun)]
    finally:
        for one in begun:
            one.drop()


def _after_fork() -> None:
    global _threads
    _threads = ThreadPool(_further_cores())  # a child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
