"""The team's graph: walks as in the embedded store, from pages in the database, whoever builds or dies meanwhile."""

import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from assay.backend.addresses import create_backend, open_backend
from assay.backend.postgres import graph_pages
from assay.errors import StoreBusy, StoreError
from assay.legs.graph import Graph
from assay.protocols import WalkSettings
from assay.testing.postgres import PostgresServer
from assay.types import DAY, Chunk, Query
from assay.where import parse
from tests.places import PLAIN
from tests.threads import at_once

SAID = (
    *("Anna Bell", "Bob", "ACME_KEY", "v1.2.3", "World Health Organization", "[[Keys]]", "see [it](k1.md)", "Zoe"),
    *("signing key", "the signing keys of", "the First day", "first of all", "[[d3]] and", "Acme Corp", "東京 Tokyo"),
)
META: tuple[dict[str, Any], ...] = (
    {},
    {"entities": ["Ada Lovelace", "Bob"]},
    {"aliases": ["Keys", "The Keeper"]},
    {"triples": ["Ada Lovelace | wrote | Note G", "Bob | knows | Zoe"], "triples_by": "test:reader"},
    {"supersedes": ["d1", "docs/k1.md"]},
    {"title": "Keys of Acme"},
)
QUERIES = (
    "",
    "did Anna Bell meet bob over acme-key?",
    "signing keys of the First",
    "Ada Lovelace",
    "the keeper v1.2.3",
)
FILTERS = (None, 'team = "a"', "n >= 3", 'not (team = "b")', "n >= 3 and n < 5")


def chunk(rng: random.Random, number: int) -> Chunk:
    """A chunk with names, identifiers, pairs, links, aliases and triples, of a team and a scope."""
    text = "we saw " + " with ".join(rng.choice(SAID) for _ in range(rng.randrange(5)))
    meta = {"team": rng.choice("ab"), "n": rng.randrange(8), "scope": rng.choice("xy"), **rng.choice(META)}
    created = rng.choice((float("nan"), rng.randrange(100) * DAY))
    return Chunk(f"c{number:03d}", rng.choice((f"d{number % 9}", "docs/k1.md")), text, 5, created, meta=meta)


def walked(backend: Any, version: int | None, asked: tuple[str, str | None, Any, Any, int]) -> tuple[Any, ...]:
    """Everything that a walk says: who, with which score to the last bit, over what."""
    text, expression, at, scope, seed = asked
    view, rng = backend.snapshot(version), random.Random(seed)
    ids = view.ids(view.live_rows(None)).tolist()
    seeds = view.rows(np.array(rng.sample(ids, min(len(ids), rng.randrange(5))), np.str_))
    query = Query(text, where=parse(expression) if expression else None, at=at, scope=scope)
    plan = WalkSettings(
        seeds, rng.choice((0.3, 0.5)), 0.5, rng.choice(("all", "reached", "new")), rng.choice((0.0, 1e-5))
    )
    found = view.related(query, rng.choice((3, 1000)), plan)
    return view.ids(found.rows).tolist(), [(part.name, part.op, part.column.tobytes()) for part in found.parts]


@pytest.mark.parametrize("seed", range(4))
def test_walks_are_those_of_the_embedded_store(database: str, tmp_path: Path, seed: int) -> None:
    """Bit for bit, through births, deaths, upkeep and reopening, in every version that can still be read."""
    rng = random.Random(seed)
    addresses = (str(tmp_path / "kb"), database)
    both = [create_backend(address, PLAIN) for address in addresses]
    versions: list[tuple[int, ...]] = []
    reached = 0
    for _ in range(6):
        fresh = [chunk(rng, number) for number in rng.sample(range(150), rng.randrange(1, 60))]
        gone = [f"c{number:03d}" for number in rng.sample(range(150), rng.randrange(20))]
        upkeep, again = rng.random() < 0.4, rng.random() < 0.3
        for place, backend in enumerate(both):
            backend.put([(one, None) for one in fresh])
            backend.remove(gone)
            if upkeep:
                backend.compact()
            if again:
                backend.close()
                both[place] = open_backend(addresses[place])
        versions.append(tuple(backend.store.version() for backend in both))
        for text in QUERIES:
            at, scope = rng.choice((None, 50.0 * DAY)), rng.choice((None, "x"))
            asked = (text, rng.choice(FILTERS), at, scope, rng.randrange(1000))
            here, there = (walked(backend, None, asked) for backend in both)
            assert there == here, asked
            reached += len(here[0])
    for backend in both:
        backend.compact(force=True)
    for pair in (*rng.sample(versions, 3), (None, None)):
        asked = (rng.choice(QUERIES), rng.choice(FILTERS), None, rng.choice((None, "x")), rng.randrange(1000))
        here, there = (walked(backend, version, asked) for backend, version in zip(both, pair, strict=True))
        assert there == here
    assert reached > 100
    for backend in both:
        backend.close()


def filled(address: str, size: int = 30, upkeep: bool = True) -> Any:
    backend = create_backend(address, PLAIN)
    rng = random.Random(5)
    backend.put([(chunk(rng, number), None) for number in range(size)])
    if upkeep:
        backend.compact()
    return backend


def scores(backend: Any, text: str = "Anna Bell and Bob", version: int | None = None) -> dict[str, float]:
    found = Graph().find(Query(text), backend.snapshot(version), 100)
    return dict(zip(found.ids.tolist(), found.score.tolist(), strict=True))


def rows(server: PostgresServer, schema: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server.address(), autocommit=True) as db:
        db.execute(f"SET search_path TO {schema}")
        done = db.execute(statement)
        return done.fetchall() if done.description else []


def schema_of(database: str) -> str:
    return database.partition("?schema=")[2]


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch):
    """From when it is called, nobody may build."""

    def forbid() -> None:
        def built(*_: object) -> None:
            raise AssertionError("a graph was built")

        monkeypatch.setattr("assay.backend.postgres.graph_cache.build_graph_files", built)

    return forbid


def test_one_builds_and_every_other_process_loads(database: str, unbuilt) -> None:
    one = filled(database)
    want = scores(one)
    unbuilt()
    other = open_backend(database)
    assert scores(other) == want
    assert other.index()["waiting"] == "graph as of v1, 0 changes since"
    one.put([(Chunk("new", "new", "then Anna Bell met Bob", 5), None)])
    assert other.index()["waiting"] == "graph as of v1, 1 change since"
    assert "new" in scores(other)  # the tail
    assert scores(one) == scores(other)
    one.close()
    other.close()


def test_whoever_walks_no_graph_pays_nothing_and_later_indexes_come_with_one(
    database: str, postgres: PostgresServer
) -> None:
    backend = filled(database)
    pages = "SELECT count(*) FROM graph_page"
    assert rows(postgres, schema_of(database), pages) == [(0,)]
    assert not backend.graph_due
    assert backend.build_graph() == 30
    assert rows(postgres, schema_of(database), pages)[0][0] > 5
    before = backend.snapshot().digest
    backend.put([(Chunk("new", "new", "then Anna Bell met Bob", 5), None)])
    assert backend.pending == 1
    assert not backend.due
    assert backend.compact()
    assert backend.pending == 0
    assert not backend.compact()
    assert rows(
        postgres, schema_of(database), "SELECT base, count(DISTINCT p.made) FROM graph, graph_page p GROUP BY 1"
    )[0] == (2, 1)
    assert backend.snapshot().digest != before
    backend.close()


def test_builders_wait_for_each_other(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.backend.postgres import graph_cache as graphs

    filled(database).close()
    built: list[int] = []

    def counted(*given: Any) -> None:
        built.append(1)
        make(*given)

    make = graphs.build_graph_files
    monkeypatch.setattr(graphs, "build_graph_files", counted)
    backends = [open_backend(database) for _ in range(4)]
    found = at_once([partial(scores, backend) for backend in backends for _ in range(2)])
    assert len(found) == 8
    assert all(one == found[0] for one in found)
    assert built == [1]
    backends[0].put([(Chunk("new", "new", "then Anna Bell met Bob", 5), None)])
    with backends[0]._graphs._build_lock(0) as mine:
        assert mine
        assert not backends[1].compact()  # another is at it: pass
    assert backends[1].compact()
    for backend in backends:
        backend.close()


def test_a_build_that_fails_half_way_leaves_the_old_graph(
    database: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, unbuilt
) -> None:
    backend = filled(database)
    scores(backend)
    before = rows(postgres, schema_of(database), "SELECT made, base FROM graph")
    backend.put([(Chunk("new", "new", "then Anna Bell met Bob", 5), None)])

    def cut(db: psycopg.Connection[Any]) -> None:
        with psycopg.connect(postgres.address(), autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (db.info.backend_pid,))
        db.execute("SELECT 1")

    with monkeypatch.context() as patched:
        patched.setattr(graph_pages, "lock", cut)  # the pages are sent, nothing is committed
        with pytest.raises(StoreError):
            backend.compact()
    assert rows(postgres, schema_of(database), "SELECT made, base FROM graph") == before
    assert rows(postgres, schema_of(database), "SELECT DISTINCT made FROM graph_page") == [before[0][:1]]
    unbuilt()
    other = open_backend(database)
    assert "new" in scores(other)
    other.close()
    backend.close()


def test_a_builder_that_is_killed_gives_its_turn_back(database: str, postgres: PostgresServer, tmp_path: Path) -> None:
    backend = filled(database)
    scores(backend)
    stored = backend._graphs.read_stored()
    backend.put([(Chunk("new", "new", "then Anna Bell met Bob", 5), None)])
    code = f"""
import time
from assay.backend.addresses import open_backend
from assay.backend.postgres import graph_pages

def stay(db):
    print("sent", flush=True)
    time.sleep(600)

graph_pages.lock = stay
open_backend({database!r}).compact()
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # where it leaves what it was building
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment) as builder:
        assert builder.stdout is not None
        assert builder.stdout.readline() == "sent\n"  # its pages are there, and not committed
        assert not backend.compact()  # it has the turn
        builder.kill()
    assert backend._graphs.read_stored() == stored
    while not backend.compact():  # until the server notices that it is gone
        pass
    assert backend._graphs.read_stored().base == backend.store.version()
    assert rows(postgres, schema_of(database), "SELECT count(DISTINCT made) FROM graph_page") == [(1,)]
    assert "new" in scores(backend)
    backend.close()


def test_the_erased_leave_no_name_in_any_process(database: str, postgres: PostgresServer) -> None:
    backend = filled(database)
    backend.put([(Chunk(f"s{i}", "secret", "we saw Xaver Quux with Anna Bell", 5), None) for i in range(3)])
    backend.compact()
    other = open_backend(database)
    named = "SELECT count(*) FROM graph_page WHERE position('xaver'::bytea in held) > 0"
    old = backend.store.version()
    assert {"s0", "s1"} <= scores(other, "Xaver Quux").keys()
    assert rows(postgres, schema_of(database), named) == [(1,)]
    backend.erase(["secret"], "purge")
    assert rows(postgres, schema_of(database), named) == [(0,)]
    assert rows(postgres, schema_of(database), "SELECT count(*) > 0 FROM graph_page") == [(True,)]  # built without it
    for one in (backend, other):
        assert scores(one, "Xaver Quux") == {}
        assert scores(one, "Xaver Quux", old) == {}
        assert not {"s0", "s1", "s2"} & scores(one, "Anna Bell").keys()
        assert one.snapshot()._graph_walk.graph.tail.find("cxaver quux") < 0
    backend.close()
    other.close()


def test_what_was_forgotten_does_not_come_back(database: str, tmp_path: Path) -> None:
    """A process that held the graph from before must not take the rows for alive that nobody can say died."""
    backend, local = filled(database), filled(str(tmp_path / "kb"))
    other = open_backend(database)
    scores(other)
    for one in (backend, local):
        one.remove([f"c{number:03d}" for number in range(0, 30, 2)])
        one.forget(one.store.version())
    assert not {f"c{number:03d}" for number in range(0, 30, 2)} & scores(other).keys()
    assert scores(other) == scores(backend) == scores(local)
    for one in (backend, local, other):
        one.close()


def test_an_erasure_between_two_looks(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the graph was taken and before its dead are asked for, nobody can say any more that they died."""
    backend, local = filled(database), filled(str(tmp_path / "kb"))
    eraser = open_backend(database)
    scores(backend)
    for one in (eraser, local):
        one.remove([f"c{number:03d}" for number in range(0, 30, 2)])
    view, get, asked = backend.snapshot(), backend._graphs.get, []

    def then(base: int | None) -> Any:
        held = get(base)
        if not asked:
            eraser.forget(eraser.store.version())
        asked.append(base)
        return held

    monkeypatch.setattr(backend._graphs, "get", then)
    found = Graph().find(Query("Anna Bell and Bob"), view, 100)
    assert len(asked) == 2
    monkeypatch.undo()
    assert not {f"c{number:03d}" for number in range(0, 30, 2)} & set(found.ids.tolist())
    local.forget(local.store.version())
    assert scores(backend) == scores(local)
    for one in (backend, local, eraser):
        one.close()


def test_an_erasure_during_a_build_is_told(
    database: str, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer
) -> None:
    from assay.backend.postgres import graph_cache as graphs

    backend, eraser = filled(database), open_backend(database)

    def then(*given: Any) -> None:
        make(*given)
        eraser.erase(["d1"], "purge")

    make = graphs.build_graph_files
    with monkeypatch.context() as patched:
        patched.setattr(graphs, "build_graph_files", then)
        with pytest.raises(StoreBusy, match="erased"):
            scores(backend)
    assert rows(postgres, schema_of(database), "SELECT count(*) FROM graph_page") == [(0,)]
    assert scores(backend) == scores(eraser)
    backend.close()
    eraser.close()


def test_damaged_pages_are_built_anew(database: str, postgres: PostgresServer) -> None:
    backend = filled(database)
    want = scores(backend)
    backend.close()
    for harm in ("UPDATE graph_page SET held = ''", "DELETE FROM graph_page", "UPDATE graph SET kind = '1 older'"):
        rows(postgres, schema_of(database), harm)
        again = open_backend(database)
        assert scores(again) == want
        again.close()


def test_too_many_births_are_built_in(database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("assay.backend.postgres.graph_walk.MOST_TAIL", 10)
    backend, local = filled(database, upkeep=False), filled(str(tmp_path / "kb"))
    assert scores(backend) == scores(local)
    assert backend._graphs.read_stored().base == backend.store.version()  # and kept, for the others
    backend.close()
    local.close()


def test_helpers_make_the_same_graph(database: str, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer) -> None:
    backend = filled(database, 120)
    backend.build_graph()
    pages = "SELECT name, part, md5(held) FROM graph_page ORDER BY 1, 2"
    want = rows(postgres, schema_of(database), pages)
    monkeypatch.setattr("assay.index.row_blocks.PARALLEL_FROM", 1)
    monkeypatch.setenv("ASSAY_WORKERS", "2")
    monkeypatch.setattr("assay.index.graph_builder.BLOCK", 40)
    monkeypatch.setattr("assay.index.graph_builder.gather_mentions", None)  # nothing is read here
    seen: list[tuple[str, int, int]] = []
    assert backend.compact(lambda *step: seen.append(step), force=True)
    assert seen[-1] == ("graph", 120, 120)
    assert rows(postgres, schema_of(database), pages) == want
    backend.close()


def test_pages_of_large_files(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_pages, "_PAGE", 100)
    backend = filled(database)
    want = scores(backend)
    other = open_backend(database)
    assert scores(other) == want
    backend.close()
    other.close()


def as_reader(server: PostgresServer, schema: str, *more: str) -> str:
    user = f"reader_{schema}"
    grants = (f"CREATE ROLE {user} LOGIN", f"GRANT USAGE ON SCHEMA {schema} TO {user}", *more)
    for grant in grants:
        rows(server, schema, grant.format(user=user))
    return server.address(schema, user=user)


def test_who_may_only_read_walks_too(database: str, postgres: PostgresServer, unbuilt) -> None:
    schema = schema_of(database)
    backend = filled(database)
    reader = as_reader(postgres, schema, f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {{user}}")
    reading = open_backend(reader)
    assert reading.store.readonly
    own = scores(reading)
    assert rows(postgres, schema, "SELECT made FROM graph") == [("",)]  # built for itself
    assert scores(backend) == own
    reading.close()
    unbuilt()
    again = open_backend(reader)
    assert scores(again) == own  # and here is what the writer put there
    again.close()
    backend.close()


def older(server: PostgresServer, schema: str) -> None:
    """The tables as the format before made them."""
    rows(server, schema, "DROP TABLE graph, graph_page")
    rows(server, schema, "UPDATE setting SET value = '2' WHERE key = 'format'")


def test_tables_of_an_older_format(database: str, postgres: PostgresServer) -> None:
    schema = schema_of(database)
    backend = filled(database)
    want = scores(backend)
    backend.close()
    reader = as_reader(postgres, schema, f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {{user}}")
    older(postgres, schema)
    reading = open_backend(reader)
    assert reading.snapshot().capabilities == {"lexical", "exact"}
    assert str(reading.snapshot().lacks("graph")).endswith("cure: open it once as a user who may write")
    with pytest.raises(StoreError, match="older Assay"):
        scores(reading)
    with pytest.raises(StoreError, match="older Assay"):
        reading.build_graph()
    reading.close()
    backend = open_backend(database)  # brings them into step, and lets in whoever may read the chunks
    backend.compact()
    assert scores(backend) == want
    reading = open_backend(reader)
    assert scores(reading) == want
    reading.close()
    rows(postgres, schema, f"REVOKE SELECT ON graph FROM reader_{schema}")
    reading = open_backend(reader)
    assert "GRANT SELECT ON graph" in str(reading.snapshot().lacks("graph"))
    assert len(reading.snapshot().lexical(Query("saw"), 5).rows)
    reading.close()
    backend.close()


def test_words_of_another_analyser_make_no_graph(database: str, postgres: PostgresServer) -> None:
    filled(database).close()
    rows(postgres, schema_of(database), "UPDATE setting SET value = '\"another\"' WHERE key = 'analyser'")
    backend = open_backend(database)
    assert "assay optimize" in str(backend.snapshot().lacks("graph"))
    backend.compact()
    assert backend.snapshot().lacks("graph") is None
    assert scores(backend)
    backend.close()
