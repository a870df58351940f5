"""Every way in which a server can refuse us has its sentence and its cure, and loses nothing."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.backend.postgres import schema
from assay.backend.postgres.connections import Address, connect_once
from assay.backend.postgres.store import PostgresStore
from assay.errors import ConfigError, QueryError, StoreError
from assay.testing import postgres as postgres_server
from assay.testing.backends import DIM
from assay.testing.postgres import FAST, PostgresServer, find_binaries
from assay.types import DAY, Chunk, Query
from tests.backend.test_postgres import SETTINGS, corpus, opened
from tests.servers import needed


def execute(address: str, *statements: str) -> None:
    with connect_once(Address.parse(address)) as db:
        for statement in statements:
            db.execute(statement)


# -- getting in


@pytest.fixture(scope="module")
def guarded() -> Iterator[PostgresServer]:
    needed()
    with PostgresServer.start(FAST, password="s3 cret/@:") as server:
        yield server


def test_a_password_is_asked_and_never_shown(guarded: PostgresServer) -> None:
    backend = opened(guarded.address("locked"), dim=0)
    assert "s3" not in backend.store.address
    assert backend.store.address.startswith("postgres://postgres@127.0.0.1:")
    backend.close()
    with pytest.raises(StoreError, match="password was refused") as told:
        opened(guarded.address("locked", password="wrong"))
    assert "PGPASSWORD" in told.value.cure
    assert "wrong" not in str(told.value)
    with pytest.raises(StoreError, match="password was refused"):
        opened(guarded.address("locked", password=""))


def test_no_such_user_database_or_server(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match=r"the user was refused.*nobody_here") as told:
        opened(postgres.address("x", user="nobody_here"))
    assert "check the user" in told.value.cure
    with pytest.raises(StoreError, match="no such database") as told:
        opened(postgres.address().removesuffix("postgres") + "nowhere")
    assert "createdb" in told.value.cure
    with pytest.raises(StoreError, match="cannot be reached") as told:
        opened("postgres://postgres@127.0.0.1:1/postgres")
    assert "pg_isready" in told.value.cure


def test_addresses() -> None:
    address = Address.parse("postgresql://ann:pass%40word@host:5433/db?schema=team&sslmode=require")
    assert (address.schema, str(address)) == ("team", "postgres://ann@host:5433/db?schema=team&sslmode=require")
    assert address.url == "postgresql://ann:pass%40word@host:5433/db?sslmode=require"
    for bad in ("a;drop", "Ä", "pg_catalog", "", 'x"y', "a" * 64):
        with pytest.raises(ConfigError, match="cannot be a schema's name"):
            Address.parse(f"postgres://h/d?schema={bad}")
    with pytest.raises(ConfigError, match="no address"):
        Address.parse("mysql://h/d")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgres://u:a@b:c%zz%@h/d", {"user": "u", "password": "a@b:c%zz%", "host": "h", "dbname": "d"}),
        ("postgres://u@h1:1,h2:2/d", {"user": "u", "host": "h1,h2", "port": "1,2", "dbname": "d"}),
        ("postgres://[::1]:5/d", {"host": "::1", "port": "5", "dbname": "d"}),
        ("postgres:///d?host=/run/pg&schema=s", {"host": "/run/pg", "dbname": "d"}),
        ("postgres://?service=team", {"service": "team"}),
        ("postgres://h/d?options=-c%20work_mem%3D1MB", {"host": "h", "dbname": "d", "options": "-c work_mem=1MB"}),
    ],
)
def test_libpq_reads_an_address_as_it_was_meant(address: str, expected: dict[str, str]) -> None:
    conninfo = pytest.importorskip("psycopg.conninfo", reason="the extra `postgres` is not installed")
    assert conninfo.conninfo_to_dict(Address.parse(address).url) == expected


@pytest.mark.parametrize(
    "address",
    [
        "postgres://u:sec%zzret@127.0.0.1:1/d",
        "postgres://u:sec@ret@127.0.0.1:1/d",
        "postgres://u:sec#ret@127.0.0.1:1/d",
        "postgres://u:sec/ret@127.0.0.1:1/d",
        "postgres://u:sec?ret@127.0.0.1:1/d",
        "postgres://u@127.0.0.1:1/d?password=secret",
        "postgres://u:secret@127.0.0.1:port/d",
        "postgres://u:secret@127.0.0.1:99999/d",
        "postgres://u:secret@127.0.0.1:1/d?shema=x",
        "postgres://u:secret@[::1/d",
        "postgres:secret",
    ],
)
def test_an_odd_address_is_told_in_words_and_shows_no_password(address: str) -> None:
    needed()
    with pytest.raises((ConfigError, StoreError)) as told:
        assay.open(address, create=False)
    said = f"{told.value.message} {told.value.cure}"
    assert "sec" not in said
    assert "ret@" not in said
    assert told.value.cure


def test_a_store_is_reached_by_its_socket(postgres: PostgresServer) -> None:
    address = f"postgres:///postgres?host={postgres.folder}&port={postgres.port}&user=postgres&schema=by_socket"
    backend = opened(address, dim=0)
    assert backend.store.address.startswith("postgres:///postgres?host=/")
    backend.close()
    opened(backend.store.address, dim=0).close()  # what messages name can be typed


def test_a_database_that_cannot_hold_a_store(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"latin_{os.getpid()}"
    latin = postgres.address("kb").replace("/postgres?", f"/{name}?")
    with psycopg_connection(postgres) as db:
        db.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
        with pytest.raises(StoreError, match="this database is in LATIN1") as told:
            opened(latin, dim=0)
        assert "createdb -E UTF8" in told.value.cure
        assert not PostgresStore.exists(Address.parse(latin))  # nothing half-made
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")
    monkeypatch.setattr(schema, "LEAST_SERVER", 99)
    with pytest.raises(StoreError, match="Assay needs 99 or newer"):
        opened(postgres.address("never_made"), dim=0)


def test_the_encoding_of_a_terminal_is_not_that_of_a_store(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    backend = opened(database, dim=0)
    backend.put([(Chunk("東", "d", "Straße 東京", 2), None)])
    view = backend.snapshot()
    assert view.chunks(view.live_rows(None))[0].text == "Straße 東京"
    backend.close()


def test_a_reader_without_rights_reads(database: str, postgres: PostgresServer) -> None:
    backend = opened(database)
    backend.put(corpus(5))
    backend.close()
    name = Address.parse(database).schema
    execute(
        database,
        f"CREATE ROLE r_{name} LOGIN",
        f"GRANT USAGE ON SCHEMA {name} TO r_{name}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO r_{name}",
    )
    reader = opened(postgres.address(name, user=f"r_{name}"))
    assert reader.store.readonly
    assert reader.snapshot().size == 5
    with pytest.raises(StoreError, match="read-only"):
        reader.put(corpus(1))
    reader.close()
    with pytest.raises(StoreError, match="lacks a right") as told:
        opened(postgres.address(f"{name}_2", user=f"r_{name}"), dim=0)
    assert "GRANT" in told.value.cure


# -- the extension


def binaries(folder: Path) -> Path:
    """A copy of the server's binaries without pgvector."""
    wheel = find_binaries()
    assert wheel is not None
    place = folder / wheel.parent.name / wheel.name
    shutil.copytree(wheel, place, symlinks=True, ignore=shutil.ignore_patterns("vector*.sql", "vector.control"))
    shared = wheel.parent.with_name(f"{wheel.parent.name}.libs")
    if shared.is_dir():
        shutil.copytree(shared, folder / shared.name, symlinks=True)
    return place


def test_a_server_without_pgvector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed()
    place = binaries(tmp_path)
    monkeypatch.setattr(postgres_server, "find_binaries", lambda: place)
    with PostgresServer.start(FAST) as server:
        address = server.address("bare")
        with pytest.raises(StoreError, match="has no pgvector") as told:
            opened(address)
        assert "postgresql-NN-pgvector" in told.value.cure
        assert not PostgresStore.exists(Address.parse(address))  # nothing half-made
        backend = opened(address, dim=0)  # words need no extension
        backend.put([(chunk, None) for chunk, _ in corpus(5)])
        assert "dense" not in backend.snapshot().capabilities
        assert str(backend.snapshot().lacks("dense")) == "made without a model"
        with pytest.raises(StoreError, match="has no pgvector"):
            backend.store.stage("later", "m", DIM)
        assert backend.snapshot().size == 5
        backend.close()


def test_a_pgvector_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same extension under an older number: what is switched on decides, not what could be."""
    needed()
    place = binaries(tmp_path)
    ours = find_binaries()
    assert ours is not None
    extensions = ours / "share" / "extension"
    (script,) = [path for path in extensions.glob("vector--*.sql") if path.name.count("--") == 1]
    shutil.copy(script, place / "share" / "extension" / "vector--0.7.4.sql")
    control = re.sub(
        r"default_version = '.*'", "default_version = '0.7.4'", (extensions / "vector.control").read_text()
    )
    (place / "share" / "extension" / "vector.control").write_text(control)
    monkeypatch.setattr(postgres_server, "find_binaries", lambda: place)
    with PostgresServer.start(FAST) as server:
        with pytest.raises(StoreError, match=r"has pgvector 0\.7\.4; Assay needs 0\.8 or newer") as told:
            opened(server.address("old"))
        assert "ALTER EXTENSION vector UPDATE" in told.value.cure
        assert not PostgresStore.exists(Address.parse(server.address("old")))


def test_an_extension_dropped_under_a_store(own_database: str) -> None:
    """Its vectors go with it, which is the owner's doing; chunks, words and versions stay, and the cure works."""
    backend = opened(own_database)
    backend.put(corpus(5))
    backend.close()
    execute(own_database, "DROP EXTENSION vector CASCADE")
    with pytest.raises(StoreError, match="no longer switched on") as told:
        opened(own_database)
    assert "CREATE EXTENSION vector" in told.value.cure
    assert "assay reembed" in told.value.cure
    execute(own_database, "CREATE EXTENSION vector SCHEMA public")
    backend = opened(own_database)
    view = backend.snapshot()
    assert view.size == 5
    assert len(view.lexical(Query("signing key"), 5).rows)
    (note,) = view.nearest(Query(vector=np.eye(DIM, dtype=np.float32)[0]), 5).notes
    assert (note.kind, note.cure == "assay reembed") == ("degraded", True)
    assert len(backend.store.rows_without_vector()) == 5
    with backend.store.write("embed") as writer:
        writer.put_vectors((seq, np.eye(DIM, dtype=np.float32)[0]) for seq in backend.store.rows_without_vector())
    assert len(backend.snapshot().nearest(Query(vector=np.eye(DIM, dtype=np.float32)[0]), 5).rows) == 5
    backend.close()


@pytest.fixture
def own_database(postgres: PostgresServer) -> Iterator[str]:
    """A database of its own: extensions belong to a database, not to a schema."""
    name = f"own_{os.getpid()}"
    with psycopg_connection(postgres) as db:
        db.execute(f"CREATE DATABASE {name}")
    yield postgres.address("kb").replace("/postgres?", f"/{name}?")
    with psycopg_connection(postgres) as db:
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")


def psycopg_connection(server: PostgresServer):  # type: ignore[no-untyped-def]
    import psycopg

    return psycopg.connect(server.address(), autocommit=True)


# -- vectors and models


def test_a_vector_of_another_length(database: str) -> None:
    backend = opened(database)
    with pytest.raises(StoreError, match=f"no unit vector of length {DIM}"):
        backend.put([(Chunk("c", "d", "t", 1), np.ones(3, np.float32) / np.sqrt(3, dtype=np.float32))])
    with pytest.raises(StoreError, match="reembed") as told, backend.store.write("add") as writer:
        writer.put(Chunk("c", "d", "t", 1), np.ones(3, np.float32), "")
    assert f"vectors of length {DIM}" in told.value.message
    with pytest.raises(QueryError, match=f"length {DIM}"):
        backend.snapshot().nearest(Query(vector=np.ones(3, np.float32)), 1)
    assert backend.snapshot().size == 0
    backend.close()


def test_a_model_that_changed_meanwhile(database: str) -> None:
    backend = opened(database)
    backend.put(corpus(5))
    execute(database, "UPDATE setting SET value = '\"another\"' WHERE key = 'model'")
    for call in (backend.snapshot, lambda: backend.put(corpus(1))):
        with pytest.raises(StoreError, match="embedded with another model") as told:
            call()
        assert told.value.cure == "open it again"
    backend.close()
    assert opened(database).snapshot().size == 5


# -- formats


def test_tables_of_a_newer_assay(database: str) -> None:
    opened(database).close()
    execute(database, "UPDATE setting SET value = '99' WHERE key = 'format'")
    with pytest.raises(StoreError, match="format 99; this Assay reads up to") as told:
        opened(database)
    assert "upgrade: in a checkout: pip install -e ." in told.value.cure


def test_tables_of_every_older_format_become_ours(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made by the very scripts that an older Assay had; what was in them answers as before, and its index is there."""
    ours = schema.MIGRATIONS
    for format_then in range(1, len(ours)):
        address = f"{database}_{format_then}"
        for module in ("schema", "store"):
            monkeypatch.setattr(f"assay.backend.postgres.{module}.MIGRATIONS", ours[:format_then])
        backend = opened(address)
        backend.put(corpus(30))
        backend.remove(["c003"])
        view = backend.snapshot()
        before = view.ids(view.lexical(Query("signing key", at=20 * DAY), 10).rows).tolist()
        assert backend.store.setting("format") == format_then
        backend.close()
        for module in ("schema", "store"):
            monkeypatch.setattr(f"assay.backend.postgres.{module}.MIGRATIONS", ours)
        backend = opened(address)
        view = backend.snapshot()
        assert backend.store.setting("format") == len(ours)
        assert view.ids(view.lexical(Query("signing key", at=20 * DAY), 10).rows).tolist() == before
        assert backend.store.read(lambda db: db.execute("SELECT to_regclass('dated') IS NOT NULL").fetchone()) == (
            True,
        )
        assert backend.store.find_damage(deep=True) == ""
        backend.close()


def test_tables_of_an_older_assay_become_ours(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = opened(database)
    backend.put(corpus(5))
    backend.close()
    later = (*schema.MIGRATIONS, "ALTER TABLE chunk ADD COLUMN fresh integer NOT NULL DEFAULT 7")
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    monkeypatch.setattr("assay.backend.postgres.store.MIGRATIONS", later)
    backend = opened(database)
    assert backend.store.settings["format"] == len(later)
    assert backend.store.setting("format") == len(later)
    assert backend.store.read(lambda db: db.execute("SELECT sum(fresh) FROM chunk").fetchone()) == (35,)
    assert backend.snapshot().size == 5
    backend.close()


def test_a_migration_that_fails_changes_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = opened(database)
    backend.put(corpus(5))
    backend.close()
    now = schema.MIGRATIONS
    broken = (*now, "ALTER TABLE chunk ADD COLUMN fresh integer", "SELECT 1 / 0")
    for module in ("schema", "store"):
        monkeypatch.setattr(f"assay.backend.postgres.{module}.MIGRATIONS", broken)
    with pytest.raises(StoreError, match="division by zero"):
        opened(database)
    for module in ("schema", "store"):
        monkeypatch.setattr(f"assay.backend.postgres.{module}.MIGRATIONS", now)
    assert opened(database).snapshot().size == 5


def test_somebody_elses_tables_are_left_alone(database: str) -> None:
    name = Address.parse(database).schema
    execute(
        database,
        f"CREATE SCHEMA {name}",
        f"CREATE TABLE {name}.setting (key text, value text)",
        f"CREATE TABLE {name}.version (number int)",
    )
    with pytest.raises(StoreError, match="not Assay's"):
        assay.open(database)


def test_words_of_an_older_analyser_are_analysed_anew(database: str) -> None:
    backend = opened(database, dim=0)
    backend.put([(Chunk("a", "d", "signing keys", 2), None), (Chunk("b", "d", "other", 1), None)])
    backend.remove(["b"])
    before = backend.snapshot()
    expected = before.term_weights("signing keys")
    execute(
        database,
        "UPDATE chunk SET terms = '{}', counts = '{}', length = 9",
        "UPDATE version SET length = 99",
        "UPDATE setting SET value = '\"older\"' WHERE key = 'analyser'",
    )
    backend.close()
    backend = opened(database, dim=0)
    assert backend.pending == 1
    note = backend.snapshot().lexical(Query("keys"), 1).notes[0]
    assert (note.kind, note.cure == "assay optimize") == ("degraded", True)
    with pytest.raises(StoreError, match="analysed by another version") as told:
        backend.put([(Chunk("c", "d", "words of two analysers", 4), None)])
    assert "assay optimize" in told.value.cure
    backend.remove(["nothing"])
    assert backend.compact()
    backend.put([(Chunk("c", "d", "third", 1), None)])
    backend.remove(["c"])
    view = backend.snapshot()
    assert view.ids(view.lexical(Query("keys"), 5).rows).tolist() == ["a"]
    assert view.term_weights("signing keys") == expected
    assert backend.snapshot(1)._view.totals == (2, 3)  # an older version counts anew
    assert view._view.totals == (1, 2)
    assert backend.snapshot(1).ids(backend.snapshot(1).lexical(Query("other"), 5).rows).tolist() == ["b"]
    assert backend.store.find_damage(deep=True) == ""
    backend.close()


def test_words_analysed_anew_by_another_release_meanwhile(database: str) -> None:
    backend = opened(database, dim=0)
    backend.put([(Chunk("a", "d", "signing keys", 2), None)])
    assert not [note for note in backend.snapshot().lexical(Query("keys"), 1).notes if note.kind == "degraded"]
    execute(
        database,
        "UPDATE setting SET value = '\"newer\"' WHERE key = 'analyser'",
        "INSERT INTO version VALUES (2, 'analysed anew', 1, 2)",
    )
    assert backend.snapshot().lexical(Query("keys"), 1).notes[0].kind == "degraded"  # it was open all the time
    with pytest.raises(StoreError, match="analysed by another version"):
        backend.put([(Chunk("c", "d", "words of two analysers", 4), None)])
    assert backend.snapshot().size == 1
    backend.close()


# -- texts


@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (Chunk("c", "d", "a\0b", 1), "holds a NUL"),
        (Chunk("c", "d", "t", 1, meta={"title": "a\0b"}), "holds a NUL"),
        (Chunk("c", "d", "a\ud800b", 1), "lone surrogates"),
        (Chunk("a\0b", "d", "t", 1), "cannot be a chunk's id"),
    ],
)
def test_texts_that_no_server_holds(database: str, chunk: Chunk, said: str) -> None:
    backend = opened(database, dim=0)
    with pytest.raises(StoreError, match=said):
        backend.put([(Chunk("fine", "d", "t", 1), None), (chunk, None)])
    assert backend.snapshot().size == 0  # all or none
    backend.close()


def long_name(size: int, first: int = ord("a"), letters: int = 26) -> str:
    """A name that does not get shorter by compressing it."""
    return "".join(chr(first + number) for number in np.random.default_rng(7).integers(0, letters, size))


@pytest.mark.parametrize(
    "record",
    [{"id": long_name(1_000, 0x4E00, 20_000), "text": "a"}, {"id": "x", "text": "a", long_name(3_000): "v"}],
    ids=["id", "field"],
)
def test_a_name_too_long_for_an_index_costs_its_own_record_only(database: str, record: dict[str, str]) -> None:
    with assay.open(database, embedder="none") as base:
        ((_, why),) = base.add([{"id": "before", "text": "b"}, record, {"id": "after", "text": "c"}]).problems
        assert "PostgreSQL can index 2,600; cure: give it a shorter name" in str(why)
        assert {chunk.doc_id for chunk in base.chunks()} == {"before", "after"}
        with pytest.raises(StoreError, match="can index"):
            base.tag(long_name(3_000))
        base.add([{"id": long_name(1_000), "text": "a", long_name(2_500): "v" * 100_000}])
        base.tag(long_name(2_600))
        assert base.snapshot().size == 3


def test_a_statement_that_takes_too_long_is_told_so(database: str) -> None:
    backend = opened(database, dim=0)
    slow = "SET LOCAL statement_timeout = '50ms'; SELECT pg_sleep(60)"
    with pytest.raises(StoreError, match="cut a statement short") as told:
        backend.store.read(lambda db: db.execute(slow))
    assert "statement_timeout" in told.value.cure
    assert backend.snapshot().size == 0
    backend.close()


def test_a_spelt_out_nul_is_no_nul(database: str) -> None:
    text = json.dumps("a\0b")
    chunk = Chunk("c", "d", text, 1, meta={"title": text, "huge": 10**400, "small": -(10**400), "nested": {"a": [1]}})
    backend = opened(database, dim=0)
    backend.put([(chunk, None)])
    view = backend.snapshot()
    assert (
        view.chunks(view.rows(np.array(["c"]))) == [chunk]
        or view.chunks(view.rows(np.array(["c"])))[0].meta == chunk.meta
    )
    assert view.numbers("huge", view.rows(np.array(["c"]))).tolist() == [float("inf")]
    backend.close()


def test_the_settings_are_those_of_every_store(database: str) -> None:
    backend = opened(database)
    assert {key: backend.store.settings[key] for key in SETTINGS} == SETTINGS
    backend.close()
