"""Another Assay store as a source; its chunks are read like this store's own."""

from pathlib import Path

import pytest

from assay import kb
from assay.config.load import from_dict, load, to_config
from assay.errors import ConfigError, StoreError
from assay.ingest.dates import parse_moment
from assay.sources.store import AnotherStore
from assay.testing.contracts import check_source
from assay.testing.sample import sample_snapshot
from assay.types import Query
from assay.where import parse


@pytest.fixture
def other(tmp_path: Path) -> str:
    folder = tmp_path / "other"
    with kb.open(folder, embedder="none") as base:
        base.add(
            [
                {"id": "vault", "text": "Keys are kept in the vault.", "lang": "en", "session_id": "t1"},
                {"id": "tresor", "text": "Der key liegt im Tresor.", "lang": "de", "session_id": "t2"},
            ]
        )
    return str(folder)


@pytest.mark.parametrize("name", ["one.sqlite", "tables.lance"])
def test_whichever_backend_keeps_it(tmp_path, name):
    if name.endswith(".lance"):
        pytest.importorskip("lancedb")
    path = str(tmp_path / name)
    with kb.open(path, embedder="none") as base:
        base.add([{"id": "vault", "text": "Keys are kept in the vault."}, {"id": "lunch", "text": "At noon."}])
    found = AnotherStore(path, "bm25").find(Query("where is the key"), sample_snapshot(), 10)
    assert [chunk.doc_id for chunk in found.chunks] == ["vault"]
    check_source(AnotherStore(path, "bm25"))


def test_a_password_stays_out_of_pipelines():
    with pytest.raises(ConfigError, match="holds a password") as caught:
        AnotherStore("postgres://me:secret@host/db")
    assert "secret" not in str(caught.value)
    AnotherStore("postgres://me@host/db")


def test_it_answers_with_its_own_pipeline(other):
    found = AnotherStore(other, "bm25").find(Query("where is the key"), sample_snapshot(), 10)
    assert sorted(chunk.doc_id for chunk in found.chunks) == ["tresor", "vault"]
    filtered = AnotherStore(other, "bm25").find(Query("key", where=parse('lang = "de"')), sample_snapshot(), 10)
    assert [chunk.doc_id for chunk in filtered.chunks] == ["tresor"], "filters go with the question"
    check_source(AnotherStore(other, "bm25"))


def test_scope_and_moment_go_with_the_question(tmp_path):
    path = str(tmp_path / "dated")
    with kb.open(path, embedder="none") as base:
        base.add(
            [
                {"id": "old", "text": "a key", "created": "2020-01-01", "scope": "me"},
                {"id": "new", "text": "a key", "created": "2025-01-01", "scope": "me"},
                {"id": "theirs", "text": "a key", "created": "2020-01-01", "scope": "you"},
            ]
        )

    def ids(**asked):
        found = AnotherStore(path, "bm25").find(Query("key", **asked), sample_snapshot(), 10)
        return sorted(chunk.doc_id for chunk in found.chunks)

    assert ids() == ["new", "old", "theirs"]
    assert ids(scope="me") == ["new", "old"]
    assert ids(at=parse_moment("2021-01-01")) == ["old", "theirs"]


def test_its_scale_is_its_pipelines(other):
    assert AnotherStore(other, "bm25").gives().scale == "raw"
    assert AnotherStore(other, "rrf").gives().scale == "unit"
    with pytest.raises(ConfigError, match="no pipeline called 'bm52'"):
        AnotherStore(other, "bm52").gives()


def test_one_deadline_one_keeper(other, tmp_path):
    """A clock inside the other store would decide in the lab, too."""
    with pytest.raises(ConfigError, match=r"store\.pipeline 'router' has a budget_ms") as caught:
        from_dict({"legs": {"second": {"source": {"use": "store", "path": other, "pipeline": "router"}}}})
    assert caught.value.cure == "give this leg itself a cap_ms"
    capped = tmp_path / "capped.toml"
    capped.write_text("[legs.bm25]\ncap_ms = 5\n")
    with pytest.raises(ConfigError, match="has a cap_ms of bm25"):
        AnotherStore(other, str(capped)).gives()


def test_a_pipeline_that_asks_itself(tmp_path):
    file = tmp_path / "self.toml"
    file.write_text(f"[legs.a]\nsource = {{ use = 'store', path = 'x', pipeline = '{file}' }}\n")
    with pytest.raises(ConfigError, match="asks itself"):
        load(str(file))


def test_in_a_pipeline_its_chunks_are_read_like_our_own(other):
    config = {
        "legs": {
            "bm25": {"k": 1},
            "second": {"source": {"use": "store", "path": other, "pipeline": "rrf"}, "priority": 1},
        },
        "fuse": {"use": "append_fill"},
        "step": [{"use": "where", "where": 'lang = "en"'}],
    }
    pipeline = from_dict(config)
    assert from_dict(to_config(pipeline)).digest == pipeline.digest
    answer = pipeline.run(Query("signing key"), sample_snapshot())
    assert [hit.text for hit in answer][-1] == "Keys are kept in the vault."
    assert any("dense skipped" in said for said in answer.status.degraded), "what degraded there is said here"
    assert "legs.second" in answer.digests
    assert answer.to_json()["hits"][-1]["meta"]["session_id"] == "t1"


def test_a_store_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        AnotherStore(str(tmp_path / "none")).find(Query("x"), sample_snapshot(), 3)
    with pytest.raises(ConfigError, match=r"store\.path"):
        AnotherStore("")
