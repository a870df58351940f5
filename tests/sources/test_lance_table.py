"""Somebody else's LanceDB table: read only, exact where it has no index, filtered by SQL, cancelled past its cap."""

import time

import numpy as np
import pytest

from assay.config import from_dict, to_config
from assay.deadlines import Deadlines
from assay.errors import ConfigError, StoreError
from assay.sources.lance_sql import condition
from assay.sources.lance_table import LanceTable
from assay.testing.contracts import check_source
from assay.testing.sample import sample_snapshot
from assay.types import Query
from assay.where import compare_values, parse

lancedb = pytest.importorskip("lancedb")
index = pytest.importorskip("lancedb.index")

ROWS = [
    {"id": "x0", "text": "Keys are kept in the vault.", "vector": [1.0, 0.0, 0.0], "lang": "en", "when": 100.0, "n": 1},
    {"id": "x1", "text": "Lunch is at noon.", "vector": [0.0, 0.0, 1.0], "lang": None, "when": 200.0, "n": 2},
    {"id": "x3", "text": "It's a key.", "vector": [0.6, 0.8, 0.0], "lang": "de", "when": None, "n": 3},
    {"id": "x2", "text": "A twin of it.", "vector": [0.6, 0.8, 0.0], "lang": "en", "when": 300.0, "n": 4},
]
AT = np.array([1.0, 0.0, 0.0], np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("lance")
    table = lancedb.connect(str(path)).create_table("chunks", ROWS)
    table.create_index("text", config=index.FTS())
    return str(path)


def ask(source, query, k=10):
    return source.find(query, sample_snapshot(), k)


def test_nearest_first_ties_by_id(folder):
    found = ask(LanceTable(folder), Query(vector=AT))
    assert found.ids.tolist() == ["x0", "x2", "x3", "x1"]
    assert found.score.tolist() == pytest.approx([1.0, 0.6, 0.6, 0.0], abs=1e-6)
    assert found.chunks[0].meta == {"lang": "en", "when": 100.0, "n": 1}
    assert found.scale == "unit"
    assert ask(LanceTable(folder), Query(vector=AT), k=2).ids.tolist() == ["x0", "x2"], "the edge of a tie is stable"


def test_by_its_text_index(folder):
    found = ask(LanceTable(folder, mode="text"), Query("key"))
    assert "x3" in found.ids
    assert found.scale == "raw"
    assert len(ask(LanceTable(folder, mode="text"), Query(" "))) == 0


def test_contracts(folder):
    check_source(LanceTable(folder, created="when"))
    check_source(LanceTable(folder, mode="text", created="when"))


@pytest.mark.parametrize(
    "where",
    [
        'lang = "en"',
        'lang != "en"',
        'not (lang = "en")',
        "lang is missing",
        "lang is missing or n > 2 and not (n = 3)",
        'text ~ "it\'s"',
        'id in ("x0", "x3")',
        "n >= 2.5",
        'doc_id = "x1"',
    ],
)
def test_filters_mean_what_they_mean_here(folder, where):
    """Row by row against `where.compare_values`, nulls included."""
    found = ask(LanceTable(folder), Query(vector=AT, where=parse(where)))

    class Columns:
        def compare(self, field, op, value):
            field = "id" if field == "doc_id" else field
            return np.array([row[field] is not None and compare_values(row[field], op, value) for row in ROWS])

        def missing(self, field):
            return np.array([row[field] is None for row in ROWS])

    wanted = {row["id"] for row, keep in zip(ROWS, parse(where).mask(Columns()), strict=True) if keep}
    assert set(found.ids.tolist()) == wanted


def test_a_filter_over_an_index_gives_every_row_that_matches(tmp_path):
    """With few probes and a rare filter the nearest lists hold next to nothing."""
    vectors = np.random.default_rng(0).normal(size=(1200, 8)).astype(np.float32)
    rows = [
        {"id": f"r{i:04d}", "text": "t", "vector": vector.tolist(), "rare": i % 100 == 0}
        for i, vector in enumerate(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    ]
    table = lancedb.connect(str(tmp_path)).create_table("chunks", rows)
    table.create_index("vector", config=index.IvfFlat(distance_type="cosine", num_partitions=24))
    few = LanceTable(str(tmp_path), nprobes=1)
    asked = np.array(rows[3]["vector"], np.float32)
    assert len(ask(few, Query(vector=asked, where=parse("rare = true")), k=20)) == 12
    assert len(ask(few, Query(vector=asked), k=20)) == 20


def test_moments_and_scopes(folder):
    dated = LanceTable(folder, created="when")
    assert set(ask(dated, Query(vector=AT, at=150.0)).ids.tolist()) == {"x0", "x3"}, "undated rows are never hidden"
    with pytest.raises(StoreError, match="no column of moments"):
        ask(LanceTable(folder), Query(vector=AT, at=150.0))
    with pytest.raises(StoreError, match="no column 'scope'"):
        ask(LanceTable(folder), Query(vector=AT, scope="me"))
    with pytest.raises(StoreError, match="no column 'langg'") as caught:
        ask(LanceTable(folder), Query(vector=AT, where=parse('langg = "en"')))
    assert "did you mean 'lang'" in caught.value.cure


def test_sql_is_quoted():
    sql = condition(Query(where=parse('t = "a\' or 1=1 --"')), {"t"}, "id", "", "id")
    assert sql == "(coalesce(`t` = 'a'' or 1=1 --', false))"


@pytest.mark.parametrize(
    ("source", "query", "said"),
    [
        ({"table": "chunk"}, Query(vector=AT), "cannot be opened at 'chunk'"),
        ({"id": "key"}, Query(vector=AT), "no column 'key'"),
        ({"vector": "embedding"}, Query(vector=AT), "cannot be searched"),
        ({}, Query(vector=np.array([1.0, 0.0], np.float32)), "cannot be searched"),
        ({}, Query("no vector"), "the query has none"),
        ({"version": 99}, Query(vector=AT), "cannot be opened"),
    ],
)
def test_what_cannot_be_read_says_why(folder, source, query, said):
    with pytest.raises(StoreError, match=said):
        ask(LanceTable(folder, **source), query)


def test_a_folder_that_is_not_there_is_a_skip_or_an_error(tmp_path):
    missing = {"use": "lance_table", "path": str(tmp_path / "none")}
    config = {"legs": {"bm25": {}, "second": {"source": missing, "priority": 1}}, "fuse": {"use": "append_fill"}}
    answer = from_dict(config).run(Query("signing key", vector=AT), sample_snapshot())
    assert answer.verdict.degraded[0].startswith("second skipped: there is no LanceDB folder")
    assert len(answer)
    config["legs"]["second"]["required"] = True
    with pytest.raises(StoreError, match="no LanceDB folder"):
        from_dict(config).run(Query("signing key", vector=AT), sample_snapshot())


def test_it_is_never_written(folder):
    table = lancedb.connect(folder).open_table("chunks")
    before = table.version
    ask(LanceTable(folder), Query(vector=AT))
    table.checkout_latest()
    assert table.version == before


def test_a_newer_row_is_seen_and_an_older_version_can_be_pinned(tmp_path):
    table = lancedb.connect(str(tmp_path)).create_table("chunks", ROWS[:1])
    old = table.version
    assert len(ask(LanceTable(str(tmp_path)), Query(vector=AT))) == 1
    table.add(ROWS[1:2])
    assert len(ask(LanceTable(str(tmp_path)), Query(vector=AT))) == 2
    assert len(ask(LanceTable(str(tmp_path), version=old), Query(vector=AT))) == 1


def test_past_its_cap_the_search_is_cancelled(folder, monkeypatch):
    """The real table behind an opening that takes too long, as one on a slow disk does."""
    import asyncio

    from assay.sources import lance_table

    opened = lance_table._open

    async def slowly(source):
        await asyncio.sleep(600)
        return await opened(source)

    monkeypatch.setattr(lance_table, "_open", slowly)
    config = {"legs": {"second": {"source": {"use": "lance_table", "path": folder}, "cap_ms": 300}}}
    pipeline = from_dict(config)
    with Deadlines(time.monotonic) as keeper:
        answer = pipeline.run(Query(vector=AT), sample_snapshot(), asker=keeper.query(pipeline.digest, None))
        assert answer.trace[0].fate == "out_of_time"
    assert keeper.under_way == 0


def test_config_round_trips(folder):
    config = {"legs": {"second": {"source": {"use": "lance_table", "path": folder, "doc": "session", "version": 3}}}}
    pipeline = from_dict(config)
    assert from_dict(to_config(pipeline)) == pipeline
    with pytest.raises(ConfigError, match=r"lance_table\.nprobes"):
        LanceTable(folder, nprobes=0)
    with pytest.raises(ConfigError, match=r"lance_table\.path"):
        LanceTable("")
