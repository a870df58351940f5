"""Rollups over a ring of bounded length."""

import pytest

from assay.serve.http.hybrid_telemetry import Served, Telemetry


def served(total: float, nprobe: int = 16, k0: int = 500) -> Served:
    return Served(k0, nprobe, {"faiss": total / 2, "lvm": total / 4, "tmd": total / 8, "total": total})


def test_percentiles_by_hand():
    told = Telemetry()
    for total in range(1, 101):
        told.note(served(float(total)))
    stages = told.latency()["stages"]
    assert stages["total"] == {"p50": 50.5, "p95": 95.05}
    assert stages["faiss"] == {"p50": 25.25, "p95": pytest.approx(47.525)}


def test_only_the_last_are_kept_and_all_are_counted():
    told = Telemetry(kept=3)
    for nprobe in (8, 8, 16, 32, 32):
        told.note(served(1.0, nprobe))
    assert told.routing() == {"requests": 5, "kept": 3, "nprobe": {"16": 1, "32": 2}, "k0": {"500": 3}}
