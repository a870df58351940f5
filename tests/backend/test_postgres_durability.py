"""What was acknowledged is there after a kill; a lost connection is said in words, and the next call connects anew."""

import subprocess
import sys
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from assay.backend.postgres.db_errors import Disconnected
from assay.errors import StoreError
from assay.legs.graph import Graph
from assay.testing.postgres import PostgresServer
from assay.types import Chunk, Query
from tests.backend.test_postgres import corpus, opened
from tests.servers import needed


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server of these tests' own, which waits for its disk, and is stopped and killed now and then."""
    needed()
    with PostgresServer.start() as server:
        yield server


def test_acknowledged_writes_survive_a_killed_server(own: PostgresServer) -> None:
    """Writers go on until the postmaster is killed; afterwards exactly what they were told is there, whole."""
    address = own.address("durable")
    opened(address).close()
    acknowledged: list[str] = []
    refusals: list[StoreError] = []

    def write(which: int) -> None:
        backend = opened(address)
        try:
            for number in range(10_000):
                names = [f"w{which}-{number}-{i}" for i in range(3)]
                backend.put([(Chunk(name, name, f"all of {name} or nothing", 5), None) for name in names])
                acknowledged.append(f"w{which}-{number}")
        except StoreError as error:
            refusals.append(error)
        finally:
            backend.close()

    threads = [Thread(target=write, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    while len(acknowledged) < 40:
        assert any(thread.is_alive() for thread in threads)
    own.kill()
    for thread in threads:
        thread.join()
    own.run()
    backend = opened(address)
    there = set(backend.snapshot().ids(backend.snapshot().live_rows(None)).tolist())
    for step in acknowledged:
        assert {f"{step}-{i}" for i in range(3)} <= there
    assert len(there) % 3 == 0  # a step is there whole or not at all
    assert len(there) - 3 * len(acknowledged) <= 3 * len(threads)  # at most the steps under way
    assert backend.store.find_damage(deep=True) == ""
    assert len(refusals) == 2
    assert all(error.cure for error in refusals)
    backend.close()


def test_synchronous_commit_is_ours_whatever_the_server_says(own: PostgresServer) -> None:
    own.stop()
    own.settings["synchronous_commit"] = "off"
    own.run()
    backend = opened(own.address("lazy"), dim=0)
    version = backend.put([(Chunk("c", "d", "text", 1), None)])
    own.kill()
    del own.settings["synchronous_commit"]
    own.run()
    assert backend.snapshot().version == version
    backend.close()


CUT = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "  # waits until it is gone
    "WHERE pid <> pg_backend_pid() AND usename IS NOT NULL"
)


def _cut(server: PostgresServer) -> None:
    import psycopg

    with psycopg.connect(server.address(), autocommit=True) as db:
        db.execute(CUT)


def test_a_cut_connection_is_replaced_for_readers(own: PostgresServer) -> None:
    backend = opened(own.address("cut"))
    backend.put(corpus(10))
    view = backend.snapshot()
    before = view.ids(view.lexical(Query("signing key"), 5).rows).tolist()
    _cut(own)
    view = backend.snapshot()
    assert view.ids(view.lexical(Query("signing key"), 5).rows).tolist() == before
    backend.close()


def test_a_cut_connection_in_a_write_undoes_it_and_says_so(own: PostgresServer) -> None:
    backend = opened(own.address("cut_write"), dim=0)

    def half() -> None:
        with backend.store.write("half") as writer:
            writer.put(Chunk("a", "d", "never", 1), None, "")
            writer.flush()
            _cut(own)
            writer.put(Chunk("b", "d", "never", 1), None, "")

    with pytest.raises(Disconnected, match="connection") as told:
        half()
    assert "nothing of this step was written" in told.value.cure
    assert backend.put([(Chunk("c", "d", "after", 1), None)]) == 1
    view = backend.snapshot()
    assert view.ids(view.live_rows(None)).tolist() == ["c"]
    backend.close()


def test_the_pool_does_not_talk_past_us(own: PostgresServer) -> None:
    """In a program that keeps no log, Python would print the pool's complaints between our own sentences."""
    code = f"""
import psycopg
from assay.backend.postgres.factory import FACTORY
backend = FACTORY.open({own.address("cut")!r})
backend.snapshot()
with psycopg.connect({own.address()!r}, autocommit=True) as db:
    db.execute("{CUT}")
backend.snapshot()
backend.close()
"""
    opened(own.address("cut")).close()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_server_that_went_away_and_came_back(own: PostgresServer) -> None:
    backend = opened(own.address("away"), dim=0)
    backend.put([(Chunk("c", "d", "text", 1), None)])
    own.stop()
    with pytest.raises(Disconnected, match=r"cannot be reached|connection was lost|shut the connection") as told:
        backend.snapshot()
    assert told.value.cure
    own.run()
    assert backend.snapshot().size == 1
    backend.close()


def _walked(backend: Any) -> dict[str, float]:
    found = Graph().find(Query("Anna Bell"), backend.snapshot(), 50)
    return dict(zip(found.ids.tolist(), found.score.tolist(), strict=True))


def test_a_server_killed_while_the_graph_is_written_keeps_the_old_one(
    own: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = own.address("graph")
    backend = opened(address, dim=0)
    backend.put([(Chunk(f"c{i}", f"d{i}", f"we saw Anna Bell in {i}", 5), None) for i in range(5)])
    backend.compact()
    assert _walked(backend).keys() == {f"c{i}" for i in range(5)}
    stored = backend._graphs.read_stored()
    assert stored.made
    backend.put([(Chunk("new", "new", "so did Anna Bell", 5), None)])

    def killed(_: object) -> None:
        own.kill()

    with monkeypatch.context() as patched:
        patched.setattr("assay.backend.postgres.graph_pages.lock", killed)  # pages sent, nothing committed
        patched.setattr("assay.backend.postgres.connections._TIMEOUT", 1.0)
        with pytest.raises(Disconnected):
            backend.compact()
    own.run()
    assert backend._graphs.read_stored() == stored
    want = {*(f"c{i}" for i in range(5)), "new"}  # acknowledged, so it is there
    other = opened(address, dim=0)
    assert _walked(backend) == _walked(other)
    assert _walked(other).keys() == want
    assert other.compact()
    assert other._graphs.read_stored().base == other.store.version()
    assert _walked(backend).keys() == want
    backend.close()
    other.close()


def test_a_cut_connection_is_replaced_for_walks(own: PostgresServer) -> None:
    backend = opened(own.address("cut_walk"), dim=0)
    backend.put([(Chunk(f"c{i}", f"d{i}", f"we saw Anna Bell in {i}", 5), None) for i in range(5)])
    backend.compact()
    view = backend.snapshot()
    _cut(own)
    assert len(Graph().find(Query("Anna Bell"), view, 50)) == 5
    _cut(own)
    assert len(_walked(backend)) == 5
    backend.close()
