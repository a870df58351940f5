"""What the last requests took and where they went: the rollups of specification 001, from a ring of bounded length."""

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
KEPT = 10_000
_log = logging.getLogger("assay.serve.http.hybrid")


@dataclass(frozen=True, slots=True)
class Served:
    """One answered request."""

    k0: int
    nprobe: int
    ms: Mapping[str, float]


class Telemetry:
    """Safe to share between threads."""

    def __init__(self, kept: int = KEPT) -> None:
        self._served: deque[Served] = deque(maxlen=kept)
        self._lock = threading.Lock()
        self._count = 0

    def note(self, served: Served) -> None:
        with self._lock:
            self._served.append(served)
            self._count += 1

    def latency(self) -> dict[str, Any]:
        """p50 and p95 by stage, in milliseconds, of the requests still kept."""
        served = self._kept()
        stages = {}
        for stage in STAGES:
            spent = [one.ms[stage] for one in served]
            p50, p95 = np.percentile(spent, [50, 95]).tolist() if spent else (None, None)
            stages[stage] = {"p50": p50 and round(p50, 3), "p95": p95 and round(p95, 3)}
        return {"requests": self._count, "kept": len(served), "stages": stages}

    def routing(self) -> dict[str, Any]:
        """How many requests looked into how many lists, and took how many candidates."""
        served = self._kept()
        counts = {"nprobe": Counter(one.nprobe for one in served), "k0": Counter(one.k0 for one in served)}
        return {
            "requests": self._count,
            "kept": len(served),
            **{name: {str(value): count[value] for value in sorted(count)} for name, count in counts.items()},
        }

    def _kept(self) -> list[Served]:
        with self._lock:
            return list(self._served)


def log(line: Mapping[str, Any]) -> None:
    """One line of JSON for each request."""
    _log.info(json.dumps(line, allow_nan=False))
