"""Several threads at once, for tests of what they share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def at_once(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """What each job gave, in the order they ended; one that raised gave nothing."""
    found: list[T] = []
    threads = [threading.Thread(target=lambda job=job: found.append(job())) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
