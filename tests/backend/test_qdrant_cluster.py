"""Three Qdrant nodes with replicas: nodes are killed, paused and restarted under searches, and no answer is wrong."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from assay.backend.addresses import open_backend
from assay.backend.qdrant.backend import IndexedBackend
from assay.errors import StoreError
from assay.testing.backends import compare
from assay.testing.qdrant import QdrantNodes
from tests.backend.test_qdrant import asked, corpus, notes, opener
from tests.qdrant_nodes import require_qdrant


@pytest.fixture
def nodes() -> Iterator[QdrantNodes]:
    require_qdrant()
    with QdrantNodes.start(3) as running:
        yield running


def _open(database: str, nodes: QdrantNodes, more: str = "") -> tuple[str, IndexedBackend]:
    options = f"&index_vectors=exact&index_shards=3&index_timeout=3{more}"
    address = f"{database}&index={nodes.address}{options}"
    return address, opener(address)()


@pytest.mark.slow
def test_a_cluster_loses_nodes_and_no_answer(database: str, nodes: QdrantNodes) -> None:
    address, backend = _open(database, nodes, "&index_replicas=2")
    items = corpus(120)
    alive = {chunk.id: (chunk, vector) for chunk, vector in items}
    backend.put(items)
    backend.compact()
    assert notes(backend, asked())[0] == "info: Qdrant (3 shards) proposed words, Assay scored them"
    compare(backend.snapshot(), alive, "three nodes", random.Random(1))

    nodes.nodes[2].end()
    compare(backend.snapshot(), alive, "one node killed", random.Random(2))
    assert notes(backend, asked())[0].startswith("info: Qdrant (3 shards)")
    fresh = [(chunk, vector) for chunk, vector in corpus(160, seed=9) if chunk.id not in alive]
    backend.put(fresh)
    alive.update({chunk.id: (chunk, vector) for chunk, vector in fresh})
    assert backend.compact()  # the replicas that are left take the new rows
    compare(backend.snapshot(), alive, "written with one node killed", random.Random(3))

    nodes.nodes[1].end()
    compare(backend.snapshot(), alive, "two nodes killed", random.Random(4))  # from replicas, or from PostgreSQL
    removed = sorted(alive)[:30]
    backend.remove(removed)
    for name in removed:
        del alive[name]

    nodes.run(1)
    nodes.run(2)
    backend.close()
    again = open_backend(address)
    compare(again.snapshot(), alive, "all nodes back", random.Random(5))
    _until_served(again)
    compare(again.snapshot(), alive, "all nodes serve", random.Random(6))
    again.close()


@pytest.mark.slow
def test_a_partial_answer_is_allowed_and_on_the_record(database: str, nodes: QdrantNodes) -> None:
    """Without replicas a lost node loses shards: PostgreSQL answers, or where the address allows it, the others."""
    address, backend = _open(database, nodes)
    backend.put(corpus(120))
    backend.compact()
    whole = backend.snapshot().nearest(asked(), 20)
    nodes.nodes[2].end()
    complete = backend.snapshot().nearest(asked(), 20)
    assert backend.snapshot().ids(complete.rows).tolist() == backend.snapshot().ids(whole.rows).tolist()
    assert complete.notes[0].text.startswith("PostgreSQL answered without the index")
    backend.close()

    allowed = open_backend(f"{address}&index_partial=allow")
    partial = allowed.snapshot().nearest(asked(), 20)
    (note,) = partial.notes
    facts = note.data["index"]
    assert note.kind == "degraded"
    assert facts["shards_asked"] == 3
    assert 0 < facts["shards_answered"] < 3
    assert facts["shards_answered"] + len(facts["shards_failed"]) == 3
    assert 0 < facts["rows_covered"] < 1
    assert set(partial.rows.tolist()) < set(range(1, 121))
    allowed.close()


@pytest.mark.slow
def test_a_shard_that_is_late_is_told_from_one_that_is_lost(database: str, nodes: QdrantNodes) -> None:
    """A node that stands still holds its shards; a node that is down has lost them until it is started."""
    address, backend = _open(database, nodes)
    backend.put(corpus(120))
    backend.compact()
    backend.close()
    allowed = open_backend(f"{address.replace('index_timeout=3', 'index_timeout=1')}&index_partial=allow")
    assert allowed.snapshot().nearest(asked(), 20).notes[0].kind == "info"
    nodes.nodes[2].pause()
    try:
        (note,) = allowed.snapshot().nearest(asked(), 20).notes
    finally:
        nodes.nodes[2].resume()
    facts = note.data["index"]
    assert (note.kind, facts["shards_failed"]) == ("degraded", [])
    assert len(facts["shards_late"]) == 3 - facts["shards_answered"] > 0
    allowed.close()


def _until_served(backend: IndexedBackend) -> None:
    """Wait until the cluster's replicas have recovered; upkeep may fail until then."""
    trouble = ""
    for _ in range(100):
        try:
            backend.compact()
        except StoreError as error:
            trouble = error.message
        else:
            if notes(backend, asked())[0].startswith("info: Qdrant"):
                return
        time.sleep(0.5)
    raise AssertionError([trouble, *notes(backend, asked())])
