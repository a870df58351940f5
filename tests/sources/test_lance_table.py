"""Somebody else's LanceDB table: read only, exact where it has no index, filtered by SQL, cancelled past its cap."""

import math
import random
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from assay.config.load import from_dict, to_config
from assay.engine.deadline_executor import Deadlines
from assay.errors import ConfigError, StoreError
from assay.sources.lance_sql import TableColumns
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


def test_an_empty_question_asks_nobody(folder):
    """Not even for a model, which would not cure it; a vector without words is a question."""
    assert len(ask(LanceTable(folder), Query(" "))) == 0
    assert len(ask(LanceTable("nowhere"), Query(""))) == 0
    assert len(ask(LanceTable(folder), Query("", vector=AT))) == 4


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

    class TableColumns:
        def compare(self, field, op, value):
            field = "id" if field == "doc_id" else field
            return np.array([row[field] is not None and compare_values(row[field], op, value) for row in ROWS])

        def missing(self, field):
            return np.array([row[field] is None for row in ROWS])

    wanted = {row["id"] for row, keep in zip(ROWS, parse(where).mask(TableColumns()), strict=True) if keep}
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


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A table as others write them: timestamps with and without a zone, dates, lists, and a row without an id."""
    import pyarrow as pa

    utc = datetime(2024, 1, 1, tzinfo=UTC)
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("text", pa.string()),
            ("vector", pa.list_(pa.float32(), 3)),
            ("naive", pa.timestamp("us")),
            ("zoned", pa.timestamp("ms", tz="UTC")),
            ("day", pa.date32()),
            ("tags", pa.list_(pa.string())),
        ]
    )
    rows = [
        {"id": name, "text": None, "vector": AT, "naive": at, "zoned": at, "day": at, "tags": tags}
        for name, at, tags in [
            ("old", utc.replace(tzinfo=None), ["a", "b"]),
            ("new", utc.replace(year=2025, tzinfo=None), ["b"]),
            ("undated", None, None),
            (None, utc.replace(tzinfo=None), ["a"]),
        ]
    ]
    path = tmp_path_factory.mktemp("typed")
    lancedb.connect(str(path)).create_table("chunks", pa.Table.from_pylist(rows, schema))
    return str(path)


@pytest.mark.parametrize("column", ["naive", "zoned", "day"])
def test_moments_may_be_timestamps(typed, column):
    source, middle = LanceTable(typed, created=column), datetime(2024, 6, 1, tzinfo=UTC).timestamp()
    found = ask(source, Query(vector=AT))
    assert found.ids.tolist() == ["new", "old", "undated"], "what has no id cannot be found"
    assert found.chunks[1].created == datetime(2024, 1, 1, tzinfo=UTC).timestamp()
    assert math.isnan(found.chunks[2].created)
    assert set(ask(source, Query(vector=AT, at=middle)).ids.tolist()) == {"old", "undated"}
    assert ask(source, Query(vector=AT, where=parse("created > 2024-06-01"))).ids.tolist() == ["new"]
    assert set(ask(source, Query(vector=AT, at=1e300)).ids.tolist()) == {"old", "new", "undated"}


def test_a_list_is_asked_for_its_members(typed):
    assert set(ask(LanceTable(typed), Query(vector=AT, where=parse('tags = "a"'))).ids.tolist()) == {"old"}
    assert set(ask(LanceTable(typed), Query(vector=AT, where=parse('not (tags = "a")'))).ids.tolist()) == {
        "new",
        "undated",
    }
    with pytest.raises(StoreError, match="'tags' holds lists"):
        ask(LanceTable(typed), Query(vector=AT, where=parse('tags > "a"')))


def test_a_value_of_another_kind_is_told(folder):
    with pytest.raises(StoreError, match="cannot be searched") as caught:
        ask(LanceTable(folder), Query(vector=AT, where=parse("lang > 5 and n = true")))
    assert caught.value.cure == "does the filter compare each column with a value of its kind?"


@pytest.mark.parametrize("seed", range(3))
def test_any_number_of_equal_scores_and_rows_without_ids(tmp_path, seed):
    """The first k by id, whichever way the rows lie in the table's files."""
    rows = [
        {"id": None if i % 3 == 0 else f"r{i:03d}", "text": "t", "vector": [0.6, 0.8, 0.0], "odd": i % 2 == 1}
        for i in range(150)
    ]
    named = sorted(row["id"] for row in rows if row["id"])
    random.Random(seed).shuffle(rows)
    table = lancedb.connect(str(tmp_path)).create_table("chunks", rows[:50])
    table.add(rows[50:])
    source = LanceTable(str(tmp_path))
    assert ask(source, Query(vector=AT), k=5).ids.tolist() == named[:5]
    assert ask(source, Query(vector=AT), k=99).ids.tolist() == named[:99]
    odd = [name for name in named if int(name[1:]) % 2]
    assert ask(source, Query(vector=AT, where=parse("odd = true")), k=7).ids.tolist() == odd[:7]


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
    sql = TableColumns({"t": "plain"}, "id", "", "id").sql(Query(where=parse('t = "a\' or 1=1 --"')))
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
    assert answer.status.degraded[0].startswith("second skipped: there is no LanceDB folder")
    assert len(answer)
    config["legs"]["second"]["required"] = True
    with pytest.raises(StoreError, match="no LanceDB folder"):
        from_dict(config).run(Query("signing key", vector=AT), sample_snapshot())


def test_it_is_never_written(folder):
    def files():
        return {path: path.stat().st_mtime_ns for path in Path(folder).rglob("*")}

    before = files()
    for query in (Query(vector=AT), Query(vector=AT, where=parse('lang = "en"')), Query("key")):
        ask(LanceTable(folder, mode="text" if query.text else "vector"), query)
    assert files() == before


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
    with Deadlines(time.monotonic) as deadlines:
        answer = pipeline.run(Query(vector=AT), sample_snapshot(), executor=deadlines.executor(pipeline.digest, None))
        assert answer.trace[0].outcome == "out_of_time"
        assert deadlines.late_jobs == 0


def test_config_round_trips(folder):
    config = {"legs": {"second": {"source": {"use": "lance_table", "path": folder, "doc": "session", "version": 3}}}}
    pipeline = from_dict(config)
    assert from_dict(to_config(pipeline)) == pipeline
    with pytest.raises(ConfigError, match=r"lance_table\.nprobes"):
        LanceTable(folder, nprobes=0)
    with pytest.raises(ConfigError, match=r"lance_table\.path"):
        LanceTable("")
