"""What a user reads whose store has an index in Qdrant, when something there is not as it should be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay.backend.qdrant.collection import PointCollection
from assay.testing.qdrant import QdrantNodes
from assay.testing.server_user import free_port
from tests.qdrant_nodes import require_qdrant

Run = Callable[..., Result]


def test_files_that_were_added_without_an_index_are_reported(run: Run, database: str, handbook: Path) -> None:
    """They are committed and found: the error must not hide that."""
    require_qdrant()
    at = ("--store", f"{database}&index=qdrant://127.0.0.1:{free_port()}")
    added = run("add", handbook, *at, "--embedder", "none")
    assert added.exit_code == 3
    assert "4 files: 4 added" in added.stdout
    assert "what was read is in the store, but its index is behind: the index at qdrant://" in added.stderr
    assert "start its nodes" in added.stderr
    found = json.loads(run("search", "rotate the signing key", *at, "--json").stdout)
    assert "Rotation" in json.dumps(found)


def test_a_node_that_is_silent_is_named(run: Run, database: str, qdrant: QdrantNodes, handbook: Path) -> None:
    alone = f"{database}&index={qdrant.address}"
    assert run("add", handbook, "--store", alone, "--embedder", "none").exit_code == 0
    assert "without an answer" not in run("doctor", "--store", alone).stdout
    gone = free_port()
    told = run("doctor", "--store", f"{database}&index={qdrant.address},127.0.0.1:{gone}")
    assert f"1 of 2 nodes without an answer: http://127.0.0.1:{gone}: " in " ".join(told.stdout.split())
    assert "start them" in told.stdout


def test_an_address_with_other_settings_is_told_which(
    run: Run, database: str, qdrant: QdrantNodes, handbook: Path
) -> None:
    made = f"{database}&index={qdrant.address}"
    assert run("add", handbook, "--store", made, "--embedder", "none").exit_code == 0
    other = f"{made}&index_vectors=hnsw&index_replicas=2"
    said = " ".join(run("doctor", "--store", other).stdout.split())
    assert "made with vectors exact, replicas 1, and the address means vectors hnsw, replicas 2" in said
    assert "write index_vectors=exact&index_replicas=1 in the address, or let assay optimize" in said


def test_a_mistyped_setting_lists_all_that_are_known(run: Run, database: str) -> None:
    told = run("search", "x", "--store", f"{database}&index=qdrant://localhost&index_replica=2")
    assert told.exit_code == 2
    known = "index, index_key, index_partial, index_replicas, index_shards, index_timeout, index_vectors"
    assert known in " ".join(told.stderr.split())


def test_a_graph_that_takes_long_is_said(
    run: Run, database: str, qdrant: QdrantNodes, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recall is measured once Qdrant has built its graph; an `optimize` that gives up waiting says so."""
    monkeypatch.setattr("assay.backend.qdrant.collection.GRAPH_FROM", 1)
    monkeypatch.setattr(PointCollection, "wait_for_graph", lambda *_: False)
    at = ("--store", f"{database}&index={qdrant.address}&index_vectors=hnsw")
    assert run("add", handbook, *at, "--embedder", "minilm", "--no-index").exit_code == 0
    told = run("optimize", *at).stdout
    assert "indexed 6 chunks; the recall of the vectors is not measured yet" in told
    monkeypatch.undo()
    monkeypatch.setattr("assay.backend.qdrant.collection.GRAPH_FROM", 1)
    assert "not measured" not in run("optimize", *at).stdout
