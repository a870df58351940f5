"""Rollups over a ring of bounded length."""

import pytest

from assay.serve.http.hybrid_telemetry import ServedRequest, Telemetry


def served(total: float, nprobe: int = 16, k0: int = 500) -> ServedRequest:
    return ServedRequest(
        k0, nprobe, max(nprobe, 32), {"faiss": total / 2, "lvm": total / 4, "tmd": total / 8, "total": total}
    )


def test_percentiles_by_hand():
    telemetry = Telemetry()
    for total in range(1, 101):
        telemetry.record(served(float(total)))
    stages = telemetry.latency()["stages"]
    assert stages["total"] == {"p50": 50.5, "p95": 95.05}
    assert stages["faiss"] == {"p50": 25.25, "p95": pytest.approx(47.525)}


def test_only_the_last_are_kept_and_all_are_counted():
    telemetry = Telemetry(history=3)
    for nprobe in (8, 8, 16, 32, 32):
        telemetry.record(served(1.0, nprobe))
    assert telemetry.routing() == {
        "requests": 5,
        "kept": 3,
        "nprobe": {"16": 1, "32": 2},
        "nprobe_used": {"32": 3},
        "k0": {"500": 3},
    }
