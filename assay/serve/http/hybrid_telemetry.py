"""Latency and routing of the last requests, as the vector cascade's metrics report them; a ring of bounded length."""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

STAGES = ("faiss", "lvm", "tmd", "total")
HISTORY = 10_000
_log = logging.getLogger("assay.serve.http.hybrid")


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One answered request."""

    k0: int
    nprobe: int
    nprobe_used: int
    ms: Mapping[str, float]


class Telemetry:
    """Safe to share between threads."""

    def __init__(self, history: int = HISTORY) -> None:
        self._requests: deque[ServedRequest] = deque(maxlen=history)
        self._lock = threading.Lock()
        self._count = 0

    def record(self, request: ServedRequest) -> None:
        with self._lock:
            self._requests.append(request)
            self._count += 1

    def latency(self) -> dict[str, Any]:
        """p50 and p95 by stage, in milliseconds, of the recent requests."""
        requests = self._recent()
        stages = {}
        for stage in STAGES:
            spent = [request.ms[stage] for request in requests]
            p50, p95 = np.percentile(spent, [50, 95]).tolist() if spent else (None, None)
            stages[stage] = {"p50": p50 and round(p50, 3), "p95": p95 and round(p95, 3)}
        return {"requests": self._count, "kept": len(requests), "stages": stages}

    def routing(self) -> dict[str, Any]:
        """How many requests asked for how many lists, read how many, and took how many candidates."""
        requests = self._recent()
        counts = {
            "nprobe": Counter(request.nprobe for request in requests),
            "nprobe_used": Counter(request.nprobe_used for request in requests),
            "k0": Counter(request.k0 for request in requests),
        }
        return {
            "requests": self._count,
            "kept": len(requests),
            **{name: {str(value): count[value] for value in sorted(count)} for name, count in counts.items()},
        }

    def _recent(self) -> list[ServedRequest]:
        with self._lock:
            return list(self._requests)


def log_request(line: Mapping[str, Any]) -> None:
    """Log one line of JSON for a request."""
    _log.info(json.dumps(line, allow_nan=False))
