"""Maps a function over items in a few threads; results keep the order of the items."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """Return the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_map(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> list[Result]:
    """Return `[work(item) for item in items]`, computed on up to `workers` threads, the caller's among them.

    Every item is one call of `work`, so the results do not depend on the number of threads.
    An error, or Ctrl-C, stops the other threads after their current item, and is raised here.
    """
    if min(workers, len(items)) <= 1:
        return [work(item) for item in items]

    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    places = iter(range(len(items)))
    lock = threading.Lock()

    def next_place() -> int | None:
        with lock:
            return None if failures else next(places, None)

    def run_items() -> None:
        while (place := next_place()) is not None:
            results[place] = work(items[place])

    def run_thread() -> None:
        try:
            run_items()
        except BaseException as error:  # raised below, in the caller's thread
            failures.append(error)

    # Threads live for one call: starting one takes 0.1 ms where a text takes 10, and no thread is left that a fork
    # would break or an exit would have to wait for.
    threads = [threading.Thread(target=run_thread, daemon=True) for _ in range(min(workers, len(items)) - 1)]
    try:
        for thread in threads:
            thread.start()
        run_items()
        for thread in threads:
            thread.join()
    except BaseException as error:
        failures.append(error)
        for thread in threads:
            if thread.is_alive():
                thread.join(timeout=1.0)  # a model call ends by itself; a stuck network call is left behind
        raise
    if failures:
        raise failures[0]
    return [results[place] for place in range(len(items))]
