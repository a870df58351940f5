"""Receipts of routers are replayed with the table and the store that they search."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

from assay.bench.datasets import load
from assay.bench.gates.rules import load_rules
from assay.bench.receipt import compute_digest
from assay.bench.router_report import build_arms, measure_router
from assay.bench.workspace import prepare
from assay.config.load import from_dict
from assay.embed import default_spec
from assay.sources.open_cache import close_all
from benchmarks.router import config
from benchmarks.router_sources import SMALL, build_sources, is_in_small_store
from tools.migrate_receipts import report_digest
from tools.replay_receipts import check_all, reads_sources

pytest.importorskip("lancedb")
pytestmark = pytest.mark.skipif(default_spec() == "none", reason="no embedding model is installed")


def test_a_router_is_replayed_with_its_sources(tmp_path: Path) -> None:
    """The small store first, the table always second: neither is there any more when the receipts are replayed."""
    dataset, out, work = load("tiny"), tmp_path / "out", tmp_path / "work"
    out.mkdir()
    work.mkdir()
    with chdir(work), prepare(dataset, cache=tmp_path / "cache") as workspace:
        build_sources(dataset, workspace)
        assert Path(SMALL).is_dir()
        pipeline = from_dict(config("small store", None, "rrf"))
        found = measure_router(dataset, build_arms(pipeline, "small"), workspace, load_rules("router"), out=out)
    close_all()
    names = [str(record["id"]) for record in dataset.documents]
    assert 0 < sum(map(is_in_small_store, names)) < len(names)
    assert all(reads_sources(receipt) for receipt in found.receipts.values())
    checks = {check.path.name: check for check in check_all(sorted(out.glob("*.json")))}
    assert {check.outcome for check in checks.values()} == {"same"}, [check.details for check in checks.values()]
    assert len(checks) == 4
    assert report_digest(found.report) == found.report["digest"]
    assert compute_digest({}) != found.report["digest"]


def test_a_source_that_cannot_be_built_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.errors import StoreError
    from tools import replay_receipts

    def broken(*_: object) -> None:
        raise StoreError("no table can be made here")

    receipt = next(
        receipt
        for path in sorted((Path(__file__).parents[2] / "receipts" / "router").glob("*.json"))
        if reads_sources(receipt := replay_receipts.read(path))
    )
    monkeypatch.setattr(replay_receipts, "build_sources", broken)
    monkeypatch.setattr(replay_receipts, "load", lambda *_: load("tiny"))
    ((_, result),) = replay_receipts.replay_with_sources({tmp_path / "r.json": receipt})
    assert (result.outcome, result.details) == ("not replayable", ("no table can be made here",))
