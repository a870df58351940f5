"""What is not as it should be around a store with a Qdrant index: refused with a cure, nothing overwritten."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from assay.backend.addresses import open_backend
from assay.backend.qdrant.backend import IndexedBackend
from assay.backend.qdrant.manifest import IndexManifest
from assay.errors import StoreError
from assay.testing.backends import compare
from assay.testing.postgres import FAST, PostgresServer, find_binaries
from assay.testing.qdrant import QdrantNodes
from assay.types import Chunk, Vector
from tests.backend.test_qdrant import asked, corpus, notes, opener


def _check(backend: IndexedBackend) -> Any:
    return next(check for check in backend.health() if check.name == "index")


def _build(address: str, items: list[tuple[Chunk, Vector | None]]) -> tuple[IndexedBackend, IndexManifest]:
    """A store of these chunks with its index, and what its manifest says."""
    backend = opener(address)()
    backend.put(items)
    backend.compact()
    manifest = backend._manifest()
    assert manifest is not None
    return backend, manifest


def test_a_wrong_key_is_refused_with_the_cure(database: str) -> None:
    with QdrantNodes.start(key="s3cret") as own:
        backend = opener(f"{database}&index={own.address}&index_key=wr0ng")()
        backend.put(corpus(20))
        with pytest.raises(StoreError, match="refuses the API key") as refused:
            backend.compact()
        assert refused.value.cure == "name it in the address: index_key=KEY"
        assert len(backend.snapshot().lexical(asked(), 5).rows) == 5  # PostgreSQL answers
        said = [refused.value.message, *notes(backend, asked()), _check(backend).text]
        assert not any("wr0ng" in text for text in said)
        backend.close()


class _OldQdrant(BaseHTTPRequestHandler):
    """Answers as a Qdrant of another version does, and notes what it is asked to change."""

    changes: list[str]

    def do_GET(self) -> None:
        body = json.dumps({"title": "qdrant - vector search engine", "version": "1.12.6"}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refuse(self) -> None:
        self.changes.append(f"{self.command} {self.path}")
        self.send_error(500)

    do_PUT = do_POST = do_DELETE = do_PATCH = _refuse  # noqa: N815  (the names are the base class's)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def old_qdrant() -> Iterator[ThreadingHTTPServer]:
    _OldQdrant.changes = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _OldQdrant)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_qdrant_of_another_version_is_refused(
    database: str, qdrant: QdrantNodes, old_qdrant: ThreadingHTTPServer
) -> None:
    backend = opener(f"{database}&index=qdrant://127.0.0.1:{old_qdrant.server_port}")()
    items = corpus(20)
    backend.put(items)
    with pytest.raises(StoreError, match=r"runs Qdrant 1\.12\.6; an index needs 1\.16 or newer") as refused:
        backend.compact()
    assert refused.value.cure == "upgrade Qdrant"
    check = _check(backend)
    assert check.state == "warn"
    assert "1.12.6" in check.text
    compare(backend.snapshot(), {c.id: (c, v) for c, v in items}, "old Qdrant", random.Random(1))
    assert _OldQdrant.changes == []
    backend.close()


def test_a_collection_of_another_dimension_does_not_serve(indexed: str, qdrant: QdrantNodes) -> None:
    """Somebody restored another collection under the name of ours."""
    from qdrant_client import QdrantClient, models

    items = corpus(40)
    backend, manifest = _build(indexed, items)
    client = QdrantClient(url=qdrant.nodes[0].url, check_compatibility=False)
    client.delete_collection(manifest.collection)
    client.create_collection(
        manifest.collection,
        vectors_config={"dense": models.VectorParams(size=3, distance=models.Distance.DOT)},
        metadata={"assay": backend._synchroniser.owner},
    )
    points = [models.PointStruct(id=i, vector={"dense": [1.0, 0.0, 0.0]}) for i in range(1, 41)]
    client.upsert(manifest.collection, points, wait=True)
    backend.close()
    again = open_backend(indexed)
    assert isinstance(again, IndexedBackend)
    assert "has vectors of 3 dimensions, the store of" in notes(again, asked())[0]
    assert _check(again).cure == "assay optimize builds another"
    compare(again.snapshot(), {c.id: (c, v) for c, v in items}, "another dimension", random.Random(1))
    assert again.compact()
    assert notes(again, asked())[0].startswith("info: Qdrant")
    again.close()
    client.close()


def test_somebody_elses_collection_is_never_read_or_changed(indexed: str, qdrant: QdrantNodes) -> None:
    """As after a copy of the database beside another cluster: the manifest names a collection of somebody else."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(url=qdrant.nodes[0].url, check_compatibility=False)
    items = corpus(30)
    backend, manifest = _build(indexed, items)
    name = f"theirs_{manifest.collection}"
    dense = models.VectorParams(size=int(backend.store.settings["dim"]), distance=models.Distance.DOT)
    client.create_collection(name, vectors_config={"dense": dense})
    with backend.store.derived_transaction() as db:
        replace(manifest, collection=name).write(db)
    backend.close()
    again = open_backend(indexed)
    assert isinstance(again, IndexedBackend)
    assert "is not of this store" in notes(again, asked())[0]
    compare(again.snapshot(), {c.id: (c, v) for c, v in items}, "somebody else's", random.Random(1))
    with pytest.raises(StoreError, match="is not of this store") as refused:
        again.compact()
    assert "drop that collection yourself" in refused.value.cure
    assert client.collection_exists(name)
    assert client.count(name).count == 0
    again.close()
    client.delete_collection(name)
    client.close()


@pytest.mark.skipif(find_binaries() is None, reason="no PostgreSQL binaries here")
def test_a_restored_copy_beside_the_same_qdrant_has_an_index_of_its_own(qdrant: QdrantNodes) -> None:
    with PostgresServer.start(FAST) as server:
        _compare_with_a_copy(server, qdrant)


def _compare_with_a_copy(server: PostgresServer, qdrant: QdrantNodes) -> None:
    import psycopg

    address = f"{server.address('notes')}&index={qdrant.address}&index_vectors=exact"
    copied = address.replace("/postgres?", "/copied?")
    items = corpus(40)
    original, manifest = _build(address, items)
    original.close()
    with psycopg.connect(address.partition("/postgres?")[0] + "/template1", autocommit=True) as db:
        db.execute(
            "CREATE DATABASE copied TEMPLATE postgres"
        )  # as a dump that is restored: the number of the store too
    restored, original = open_backend(copied), open_backend(address)
    assert isinstance(original, IndexedBackend)
    assert isinstance(restored, IndexedBackend)
    assert restored.store.settings["store"] == original.store.settings["store"]
    assert "there is no index yet" in notes(restored, asked())[0]  # that of the original is not its own
    more = corpus(60, seed=2)[40:]
    restored.put(more)
    original.put(corpus(50, seed=3)[40:])
    assert restored.compact()
    assert original.compact()
    theirs = restored._manifest()
    assert theirs is not None
    assert theirs.collection != manifest.collection
    original.compact(force=True)  # drops what it finds of its own
    for backend, own in ((restored, [*items, *more]), (original, [*items, *corpus(50, seed=3)[40:]])):
        assert notes(backend, asked())[0].startswith("info: Qdrant")
        compare(backend.snapshot(), {c.id: (c, v) for c, v in own}, "a copy", random.Random(1))
        backend.close()


@pytest.mark.slow
def test_a_standby_that_lags_answers_as_of_its_own_version(qdrant: QdrantNodes) -> None:
    """Rows, deaths and even another collection are in Qdrant already; the standby has not heard of them."""
    if find_binaries() is None:
        pytest.skip("the binaries of PostgreSQL are not installed")
    index = f"&index={qdrant.address}&index_vectors=exact"
    with PostgresServer.start(FAST) as primary, primary.start_standby() as standby:
        backend = opener(primary.address("lag") + index)()
        items = corpus(80)
        backend.put(items)
        backend.compact()
        _wait_until(lambda: _last_seq(standby) == 80)
        _run_sql(standby, "SELECT pg_wal_replay_pause()")
        _wait_until(lambda: _run_sql(standby, "SELECT pg_get_wal_replay_pause_state()") == "paused")
        before = {chunk.id: (chunk, vector) for chunk, vector in items}
        fresh = [(c, v) for c, v in corpus(120, seed=9) if c.id not in before]
        backend.put(fresh)
        backend.remove(sorted(before)[:25])
        backend.compact()
        lagging = open_backend(standby.address("lag") + index)
        compare(lagging.snapshot(), before, "the standby lags", random.Random(1))
        backend.compact(force=True)  # another collection; the standby's manifest still names the old one
        lagging.close()
        lagging = open_backend(standby.address("lag") + index)
        compare(lagging.snapshot(), before, "its collection is gone", random.Random(2))
        assert "is gone" in notes(lagging, asked())[0]
        _run_sql(standby, "SELECT pg_wal_replay_resume()")
        _wait_until(lambda: _last_seq(standby) == 80 + len(fresh))
        after = {name: both for name, both in before.items() if name not in sorted(before)[:25]}
        after |= {chunk.id: (chunk, vector) for chunk, vector in fresh}
        _wait_until(lambda: lagging.snapshot().size == len(after))
        compare(lagging.snapshot(), after, "caught up", random.Random(3))
        lagging.close()
        backend.close()


def _run_sql(server: PostgresServer, statement: str) -> Any:
    import psycopg

    with psycopg.connect(server.address(), autocommit=True) as db:
        row = db.execute(statement).fetchone()
    return None if row is None else row[0]


def _last_seq(server: PostgresServer) -> int:
    return int(_run_sql(server, "SELECT coalesce(max(seq), 0) FROM lag.chunk"))


def _wait_until(holds: Any) -> None:
    for _ in range(300):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("the standby did not get there")
