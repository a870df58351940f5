"""Errors of walks by judged questions: which chunks are evidence, and at which node it is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.bench.judge.ledger import LedgerEntry
from assay.config.load import loads
from assay.serve.http.settings import ServerSettings
from assay.serve.tree_errors import find_evidence, measure_judged_walks
from tests.legs.tree_store import SMALL, make_chunk
from tests.serve.server_fixtures import make_store, problem, serving

WALK = loads("k = 5\n[legs.beam]\nrouter = 'nodes'\nexpand = 'top'\nmost = 1\n")


def entry(query: str, document: str, grade: int | None, judge: str = "ada", chunk: str = "") -> LedgerEntry:
    return LedgerEntry(query, query, document, chunk or f"chunk of {document}", judge, grade)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory):
    with assay.open(tmp_path_factory.mktemp("tree") / "kb", embedder="none") as base:
        base.add([{"id": f"d{n}", "text": make_chunk(n).text} for n in range(120)])
        base.backend.build_tree(SMALL)
        yield base


def test_evidence_is_what_most_raters_call_relevant() -> None:
    found = find_evidence(
        [
            entry("q", "good", 2),
            entry("q", "split", 3),
            entry("q", "split", 0, "ben"),  # the low median of 3 and 0 is 0
            entry("q", "skipped", None),
            entry("other", "bad", 0),
        ]
    )
    assert found == {"q": ["chunk of good"]}


def test_a_walk_that_goes_elsewhere_is_an_error_of_its_node(kb) -> None:
    chunks = {chunk.doc_id: chunk.id for chunk in kb.chunks()}
    question = "Which room has harbour-0 of Anna Harbour?"
    right = measure_judged_walks(kb, [entry(question, "d0", 2, chunk=chunks["d0"])], WALK)
    assert (right["questions"], right["judged"]) == (1, 1)
    root = next(line for line in right["nodes"] if line["path"] == "root")
    assert (root["walks"], root["missed"], root["level"]) == (1, 0, 1)
    assert right["levels"][0]["eps_any"] == 0.0
    wrong = measure_judged_walks(kb, [entry(question, "d1", 2, chunk=chunks["d1"])], WALK)  # a chunk about orchards
    lost = wrong["nodes"][0]  # the worst first; words about rooms and offices are shared, so it is not lost at the root
    assert (lost["path"], lost["level"], lost["walks"], lost["missed"]) == ("2", 2, 1, 1)
    assert [line["misses"] for line in wrong["levels"]][:2] == [0, 1]


def test_a_pipeline_that_does_not_walk_and_a_chunk_that_is_gone(kb) -> None:
    flat = measure_judged_walks(kb, [entry("harbour", "d0", 2)], loads("k = 5\n[legs.bm25]\nk = 5"))
    assert (flat["questions"], flat["without_walk"], flat["nodes"], flat["levels"]) == (0, 1, [], [])
    gone = measure_judged_walks(kb, [entry("harbour", "d0", 2, chunk="nowhere")], WALK)
    assert (gone["questions"], gone["judged"]) == (0, 1)


def test_the_route_names_what_is_missing(tmp_path: Path) -> None:
    with make_store(tmp_path / "kb") as base:
        with serving(base) as (client, _):
            assert "--judgements" in problem(client.get("/tree/errors"), 404)["cure"]
        with serving(base, ServerSettings(workers=2, waiting=8, judgements=tmp_path / "judged")) as (client, _):
            assert "Judge" in problem(client.get("/tree/errors"), 404)["cure"]
            chunk = client.post("/search", json={"text": "key", "pipeline": "bm25"}).json()["hits"][0]["id"]
            grade = {"query": "key", "chunk_id": chunk, "rater": "ada", "grade": 2}
            client.post("/judgements", json=grade).raise_for_status()
            found = client.get("/tree/errors").raise_for_status().json()
            assert found["judged"] == 1
            problem(client.get("/tree/errors", params={"pipeline": "nothing"}), 422)
