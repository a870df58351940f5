"""pg_textsearch as a proposer. The extension itself is not to be had as a wheel: a stand-in of the same names, written
in SQL, answers in its place; what is tested is everything around it."""

import random

import pytest

from assay.backend.postgres import bm25 as lexical
from assay.backend.postgres import textsearch
from assay.backend.postgres.backend import PostgresBackend
from assay.types import Chunk, Query
from assay.where import parse
from tests.backend.test_postgres import opened

STAND_IN = """
CREATE FUNCTION to_bm25query(query text, index text) RETURNS text LANGUAGE sql IMMUTABLE RETURN query;
CREATE FUNCTION minus_hits(words text, query text) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN
  -(SELECT count(*) FROM string_to_table(words, ' ') AS w JOIN string_to_table(query, ' ') AS q ON w = q AND w <> '');
CREATE OPERATOR <@> (LEFTARG = text, RIGHTARG = text, FUNCTION = minus_hits);
"""


@pytest.fixture
def backend(database: str, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(textsearch, "SWITCHED_ON", "SELECT 1")
    monkeypatch.setattr(textsearch, "CREATE", f"CREATE INDEX {textsearch.INDEX} ON chunk (md5(said(terms, counts)))")
    monkeypatch.setattr(textsearch, "PRESENT", f"to_regclass('{textsearch.INDEX}') IS NOT NULL")
    monkeypatch.setattr(lexical, "_TEXTSEARCH_FROM", 50)
    made = opened(database, dim=0)
    with made.store.autocommit() as db:
        db.execute(STAND_IN)
    rng = random.Random(5)
    words = [
        " ".join(rng.choice(("key", "vault", "cat", "tea")) for _ in range(rng.randrange(1, 9))) for _ in range(200)
    ]
    made.put((Chunk(f"c{i:03d}", f"d{i}", text, 1, meta={"n": i}), None) for i, text in enumerate(words))
    yield made
    made.close()


def test_it_proposes_once_its_index_is_there(backend: PostgresBackend) -> None:
    query = Query("key vault cat unheard")
    before = backend.snapshot()
    ours = before.lexical(query, 10)
    assert "pg_textsearch" not in ours.notes[-1].text
    assert backend.compact()
    assert not backend.compact()
    view = backend.snapshot()
    found = view.lexical(query, 10)
    assert found.notes[-1].text.startswith(
        "pg_textsearch proposed from Assay's terms, Assay's BM25 scored; 40 candidates"
    )
    known = dict(zip(*(column.tolist() for column in (ours.rows, sum(p.column for p in ours.parts))), strict=True))
    for row, score in zip(found.rows.tolist(), sum(p.column for p in found.parts).tolist(), strict=True):
        assert known.get(row, score) == score
    assert "pg_textsearch" in backend.server().words


def test_what_it_cannot_serve_our_own_index_serves(backend: PostgresBackend) -> None:
    backend.compact()
    view = backend.snapshot()
    narrow = view.lexical(Query("key vault unheard", where=parse("n < 12")), 20)
    assert "pg_textsearch" not in narrow.notes[-1].text
    rare = backend.snapshot().lexical(Query("unheard words"), 5)
    assert not len(rare.rows)


def test_the_numbers_of_terms_are_its_words(backend: PostgresBackend) -> None:
    backend.compact()
    said = backend.store.read(lambda db: db.execute("SELECT said(ARRAY[3, 12], ARRAY[1, 2])").fetchone())
    assert said == ("t3 t12 t12 ",)
    assert textsearch.order_clause([(3, 1), (12, 2)], 7)[1] == ("t3 t12 t12", 7)
