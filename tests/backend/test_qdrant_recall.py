"""The recall of an approximate index is measured when it is built, and everybody who reads about the index reads it."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from assay.backend.addresses import open_backend
from assay.backend.qdrant.backend import IndexedBackend
from assay.bench.workspace import IndexSettings, Workspace
from assay.cli.main import cli
from assay.kb import open as open_kb
from assay.testing.qdrant import QdrantNodes
from assay.types import Chunk, Query
from tests.backend.test_qdrant import opener

DIM = 32
ROWS = 2_400
_WORDS = ("harbour", "ledger", "signing", "crane", "tide")


@pytest.fixture
def poor_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph from few rows on, with so few edges that it must miss some."""
    monkeypatch.setattr("assay.backend.qdrant.collection.GRAPH_FROM", 500)
    monkeypatch.setattr("assay.backend.qdrant.collection._EDGES", 3)
    monkeypatch.setattr("assay.backend.qdrant.collection._WIDTH", 4)
    monkeypatch.setattr("assay.backend.qdrant.recall_measurement.WIDTHS", (40, 64))


def _fill(backend: IndexedBackend, first: int, rows: int) -> np.ndarray:
    rng = np.random.default_rng(first + 1)
    drawn = random.Random(first)
    raw = rng.standard_normal((rows, DIM))
    vectors = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    backend.put(
        (Chunk(f"c{first + i:05d}", f"d{first + i}", f"{drawn.choice(_WORDS)} {first + i}", 2), vectors[i])
        for i in range(rows)
    )
    return vectors


def _observe(backend: IndexedBackend, matrix: np.ndarray, k: int) -> float:
    """Recall of whole searches against brute force, on queries of our own."""
    rng = np.random.default_rng(99)
    snapshot = backend.snapshot()
    shares = []
    for _ in range(60):
        raw = rng.standard_normal(DIM)
        query = (raw / np.linalg.norm(raw)).astype(np.float32)
        best = {f"c{row:05d}" for row in np.argsort(-(matrix @ query))[:k]}
        found = snapshot.ids(snapshot.nearest(Query("x", vector=query), k).rows).tolist()
        assert len(found) == k
        shares.append(len(best & set(found)) / k)
    return float(np.mean(shares))


@pytest.mark.parametrize("kind", ["hnsw", "int8"])
@pytest.mark.usefixtures("poor_graph")
def test_the_measured_recall_is_that_of_searches(database: str, qdrant: QdrantNodes, kind: str) -> None:
    address = f"{database}&index={qdrant.address}&index_vectors={kind}&index_timeout=120"
    backend = opener(address, dim=DIM)()
    matrix = _fill(backend, 0, ROWS)
    backend.compact()
    manifest = backend._manifest()
    assert manifest is not None
    facts = manifest.vectors
    assert facts["kind"] == kind
    assert facts["vectors"] == ROWS
    assert facts["recall_depth"] == 100
    assert facts["ef"] == 64  # the narrower one finds too little
    assert facts["recall_at_10"] < 1.0  # or the graph was not poor, and this test could not fail
    # Two samples of queries in a graph that is never built the same way twice: they differ by a few hundredths.
    assert facts["recall_at_10"] == pytest.approx(_observe(backend, matrix, 10), abs=0.15)
    assert facts["recall"] == pytest.approx(_observe(backend, matrix, 100), abs=0.15)

    (note,) = backend.snapshot().nearest(Query("x", vector=matrix[0]), 5).notes
    assert f"vectors by {kind}, measured recall@10 {facts['recall_at_10']:.4f}" in note.text
    assert note.data["index"]["vectors"] == facts
    check = next(check for check in backend.health() if check.name == "index")
    assert check.state == "ok"
    assert f"recall@10 {facts['recall_at_10']:.4f}" in check.text
    backend.close()

    told = CliRunner().invoke(cli, ["stats", "--store", address], catch_exceptions=False).output
    assert f"recall@100 {facts['recall']:.4f}" in " ".join(told.split())
    told = CliRunner().invoke(cli, ["stats", "--json", "--store", address], catch_exceptions=False).output
    assert json.loads(told)["index"]["vectors"] == facts
    with Workspace(open_kb(address), IndexSettings("none")) as workspace:
        assert workspace.approximation == {key: value for key, value in facts.items() if key != "vectors"}


@pytest.mark.usefixtures("poor_graph")
def test_recall_is_measured_anew_when_the_index_has_grown(database: str, qdrant: QdrantNodes) -> None:
    address = f"{database}&index={qdrant.address}&index_vectors=hnsw&index_timeout=120"
    backend = opener(address, dim=DIM)()
    _fill(backend, 0, 300)
    backend.compact()
    first = backend._manifest()
    assert first is not None
    assert first.vectors == {}  # few rows are compared one by one
    assert (backend.index() or {})["vectors"] is None
    _fill(backend, 300, 300)
    backend.compact()
    second = backend._manifest()
    assert second is not None
    assert second.vectors["vectors"] == 600
    _fill(backend, 600, 50)
    backend.compact()
    third = backend._manifest()
    assert third is not None
    assert third.vectors == second.vectors
    _fill(backend, 650, 200)
    backend.compact()
    fourth = backend._manifest()
    assert fourth is not None
    assert fourth.vectors["vectors"] == 850
    backend.close()


@pytest.mark.usefixtures("poor_graph")
def test_a_recall_that_is_not_measured_is_said(database: str, qdrant: QdrantNodes) -> None:
    """As in an index that was built before recall was measured."""
    address = f"{database}&index={qdrant.address}&index_vectors=hnsw&index_timeout=120"
    backend = opener(address, dim=DIM)()
    matrix = _fill(backend, 0, 600)
    backend.compact()
    manifest = backend._manifest()
    assert manifest is not None
    with backend.store.derived_transaction() as db:
        replace(manifest, vectors={}).write(db)
    backend.close()
    again = open_backend(address)
    assert isinstance(again, IndexedBackend)
    check = next(check for check in again.health() if check.name == "index")
    assert (check.state, check.cure) == ("warn", "assay optimize measures it")
    (note,) = again.snapshot().nearest(Query("x", vector=matrix[0]), 5).notes
    assert "recall not measured yet" in note.text
    assert again.compact()
    assert not again.compact()
    measured = again._manifest()
    assert measured is not None
    assert measured.vectors == manifest.vectors
    again.close()


def test_exact_vectors_build_no_graph(indexed: str) -> None:
    backend = opener(indexed, dim=DIM)()
    _fill(backend, 0, 100)
    backend.compact()
    manifest = backend._manifest()
    assert manifest is not None
    info = backend._cluster.ask(lambda client: client.get_collection(manifest.collection))
    assert info.config.params.vectors["dense"].hnsw_config.m == 0
    assert manifest.vectors == {}
    backend.close()
