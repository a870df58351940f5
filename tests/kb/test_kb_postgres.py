"""The whole way over a server: add, search, explain, remove, look, export, remember; by hand and by command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from corpus import mark_of, write

import assay
from assay import memory
from assay.cli.main import cli
from assay.errors import StoreError
from assay.upkeep.doctor import examine
from assay.upkeep.inventory import collect_stats, list_origins


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", range(5))


def run(*args: object) -> Result:
    done = CliRunner(env={"COLUMNS": "100"}).invoke(cli, [str(arg) for arg in args])
    assert done.exit_code == 0, done.output
    return done


def test_answers_are_those_of_a_folder(database: str, tmp_path: Path, docs: Path) -> None:
    """The same documents, the same questions: the same chunks with the same scores, kept where you like."""
    with assay.open(database, embedder="none") as team, assay.open(tmp_path / "kb", embedder="none") as mine:
        for base in (team, mine):
            base.add(docs)
            write(docs, [2], revision=1)
            base.add(docs)
            write(docs, [2])
            base.add(docs)
            base.remove("docs/00004.md")
        for question in ("gateway invoice", mark_of(1), "queue rollback deploy", "nothing of the kind"):
            here, there = (base.search(question, k=5) for base in (team, mine))
            assert [(hit.id, hit.score) for hit in here.hits] == [(hit.id, hit.score) for hit in there.hits]
            assert [hit.why() for hit in here.hits] == [hit.why() for hit in there.hits]
        assert [c.id for c in team.chunks()] == [c.id for c in mine.chunks()]
        assert list(team.export()) == list(mine.export())
        assert list_origins(team.store) == list_origins(mine.store)


def test_what_was_done_can_be_looked_at(database: str, docs: Path) -> None:
    with assay.open(database, embedder="none") as base:
        first = base.add(docs)
        base.tag("before")
        assert base.add(docs).unchanged == 5
        base.remove("docs/00003.md")
        assert not base.search(mark_of(3), pipeline="bm25", k=3).hits
        assert base.search(mark_of(3), pipeline="bm25", snapshot="before").hits
        answer = base.search(mark_of(1), pipeline="bm25")
        served = [note.text for span in answer.trace for note in span.notes if "PostgreSQL" in note.text]
        assert served
        told = base.explain(mark_of(1), answer.hits[0].id[:12], pipeline="bm25")
        assert told.rank == 1
        found = collect_stats(base.backend)
        assert (found.chunks, found.documents, found.newest) == (12, 4, first.version + 1)
        assert "GIN" in found.index["name"]  # type: ignore[index]
        assert found.sizes["database"] > 0
    states = {check.name: check.state for check in examine(database, deep=True)}
    assert states["store"] == states["database"] == states["folders"] == "ok"
    (server,) = [check for check in examine(database) if check.name == "server"]
    assert "PostgreSQL 1" in server.text
    assert (server.state, "fsync = off" in server.text) == ("warn", True)  # the server of the tests is a lazy one


def test_by_command(database: str, docs: Path, tmp_path: Path) -> None:
    asked = database.replace("postgres@", "postgres:s3cret@")  # the server does not ask for it
    added = run("add", docs, "--store", asked, "--embedder", "none")
    found = run("search", mark_of(2), "--store", asked, "-k", 1, "--json")
    assert json.loads(found.stdout)["hits"][0]["doc_id"] == "docs/00002.md"
    shown = [
        run("search", "gateway", "--store", asked),
        run("stats", "--store", asked),
        run("ls", "--store", asked),
        run("doctor", "--store", asked),
        run("optimize", "--store", asked),
        run("optimize", "--graph", "--store", asked),
        run("stats", "--store", asked),
        run("doctor", "--store", asked),
        run("tag", "one", "--store", asked),
        run("rm", "docs/00001.md", "--yes", "--store", asked),
        run("optimize", "--forget-before", "v2", "--store", asked),
    ]
    assert "00002.md" in shown[2].output
    assert "no graph yet" in shown[1].output
    assert "no graph yet" in shown[3].output
    assert shown[5].output == "built the graph of 15 chunks\n"
    assert "15 chunks as of v1; graph as of v1, 0 changes since" in shown[6].output
    assert "graph as of v1, 0 changes since" in shown[7].output
    assert "forgot 3 dead chunks" in shown[-1].output
    assert len(run("export", "--store", asked).stdout.splitlines()) == 12
    refused = CliRunner().invoke(cli, ["backup", str(tmp_path / "b"), "--store", asked])
    assert (refused.exit_code, "pg_dump" in refused.output) == (3, True)
    absent = CliRunner().invoke(cli, ["search", "x", "--store", asked + "_absent"])
    assert absent.exit_code == 3
    for said in (added, *shown, refused, absent):
        assert "s3cret" not in said.output


def test_a_memory_on_a_server(database: str) -> None:
    with memory.open(database, embedder="none") as mind:
        done = mind.store("Ada lives in Lisbon.", tags=["home"])
        mind.store("Bob prefers tea.", scope="team")
        assert [hit.text for hit in mind.recall("where does Ada live?", scope="global", adaptive=False).hits] == [
            "Ada lives in Lisbon."
        ]
        mind.update(done.id, text="Ada lives in Porto.", scope="global")
        assert [change.memory.text for change in mind.history(done.id, scope="global")] == [
            "Ada lives in Lisbon.",
            "Ada lives in Porto.",
        ]
        mind.forget(done.id, scope="global", confirm=lambda _: True, purge=True)
    with memory.open(database, create=False) as mind:
        assert not mind.recall("where does Ada live?", scope="global", adaptive=False).hits
        assert all("Ada" not in state.row.chunk.text for state in mind.kb.store.states(""))


def test_a_store_that_is_not_there(database: str) -> None:
    with pytest.raises(StoreError, match="there is no store at postgres://") as told:
        assay.open(database, create=False)
    assert "assay add" in told.value.cure
