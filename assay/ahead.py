"""Work begun ahead of its turn, in a thread beside the caller's: two legs take little longer than the slower one.

Most of a leg's time is spent inside an engine that lets go of Python's lock. What comes out is the same, and so is the
order in which results are used; only the clock sees a difference. Nobody queues: when every thread is busy, the work is
done by the caller when its turn comes, as if nothing had been begun.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Begun(Generic[T]):
    """Work under way, or still to be done. `result` gives what it gave, or raises what it raised."""

    def __init__(self, work: Callable[[], T], sent: bool) -> None:
        self._work = work
        self._gave: T | None = None
        self._error: BaseException | None = None
        self._done = threading.Lock() if sent else None
        if self._done is not None:
            self._done.acquire()  # let go by the thread: cheaper than an event

    def do(self) -> None:
        """What the thread does."""
        try:
            self._gave = self._work()
        except BaseException as error:  # raised where it is waited for
            self._error = error
        assert self._done is not None
        self._done.release()

    def result(self) -> T:
        if self._done is None:
            return self._work()
        self.wait()
        if self._error is not None:
            raise self._error
        return self._gave  # type: ignore[return-value]

    def wait(self) -> None:
        """Until nothing of it runs any more."""
        if self._done is not None:
            with self._done:
                pass


class Threads:
    """At most so many threads, started when first needed, ended with the process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: SimpleQueue[Begun[object]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = self._started = 0

    def begin(self, work: Callable[[], T]) -> Begun[T]:
        with self._lock:
            if not self._idle and self._started < self._most:
                threading.Thread(target=self._run, name="assay-ahead", daemon=True).start()
                self._started += 1
                self._idle += 1
            sent = self._idle > 0
            self._idle -= sent
        begun = Begun(work, sent)
        if sent:
            self._waiting.put(begun)  # type: ignore[arg-type]
        return begun

    def _run(self) -> None:
        while True:
            self._waiting.get().do()
            with self._lock:
                self._idle += 1


def _further_cores() -> int:
    known = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return len(known) - 1


_threads = Threads(_further_cores())


def begin(work: Callable[[], T]) -> Begun[T]:
    """Begin it now if a thread is free."""
    return _threads.begin(work)


def _after_fork() -> None:
    global _threads
    _threads = Threads(_further_cores())  # a child has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
