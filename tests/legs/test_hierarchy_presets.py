"""The presets of hierarchical retrieval on a small store: they run whole, say who won, and print their way."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from assay.backend.local.backend import LocalBackend
from assay.cli.views.routing import routing_lines
from assay.config.load import load, loads, read_toml
from assay.engine.answer import Answer
from assay.legs.beam import Beam
from assay.legs.collapsed import Collapsed
from assay.protocols import Leg
from assay.types import Query, Ranking
from assay.util import leg_threads
from assay.util.leg_threads import ThreadPool
from tests.legs.tree_store import make_backend, make_chunk, make_query, make_vectors

PRESETS = ("hcr", "hcr-margin", "flat-strong", "flat-strong-xlink")


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBackend]:
    chunks = [make_chunk(number) for number in range(90)]
    made = make_backend(tmp_path_factory.mktemp("presets") / "kb", chunks, make_vectors(chunks))
    yield made
    made.close()


def without_rerank(name: str) -> str:
    """A preset without the steps that need a model."""
    return read_toml(name).split('[[step]]\nuse = "late_interaction"')[0].replace('rerank = "late_interaction"\n', "")


def run(name: str, backend: LocalBackend, query: Query) -> Answer:
    return loads(without_rerank(name), name).run(query, backend.snapshot())


@pytest.mark.parametrize("name", PRESETS)
def test_presets_find_the_chunk(name: str, backend: LocalBackend) -> None:
    assert load(name).digest
    for number in (4, 31, 77):
        answer = run(name, backend, make_query(number))
        assert answer.chosen.ids[0] == f"c{number:04d}"
        assert not answer.status.problems


def test_the_race_is_on_the_trace(backend: LocalBackend) -> None:
    answer = run("hcr-margin", backend, make_query(4))
    (note,) = [note for span in answer.trace for note in span.notes if "winner" in note.data]
    assert note.data["winner"] in ("beam", "collapsed")
    assert set(note.data["confidence"]) == {"beam", "collapsed"}
    assert any(line["notes"][-1]["data"].get("winner") for line in answer.to_json()["trace"] if line["kind"] == "fuse")
    json.dumps(answer.to_json())


@pytest.mark.parametrize("name", ["hcr", "hcr-margin"])
def test_the_legs_of_a_race_run_side_by_side(name: str, backend: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [make_query(number) for number in (4, 31, 77)] + [replace(make_query(9), vector=None), Query("")]
    answers = {}
    for size in (0, 1, 4):
        monkeypatch.setattr(leg_threads, "_pool", ThreadPool(size))
        answers[size] = [run(name, backend, query) for query in queries]
    for size in (1, 4):
        for one, other in zip(answers[0], answers[size], strict=True):
            assert one.digest == other.digest
            assert one.to_json()["trace"] == other.to_json()["trace"]

    both, threads = threading.Barrier(2), set()
    for leg in (Beam, Collapsed):

        def find(self: Leg, *arguments: object, plain: Callable[..., Ranking] = leg.find) -> Ranking:
            both.wait(30.0)  # passed only if the other leg runs at the same time
            threads.add(threading.get_ident())
            return plain(self, *arguments)

        monkeypatch.setattr(leg, "find", find)
    assert run(name, backend, queries[0]).digest == answers[0][0].digest
    assert len(threads) == 2


def test_several_facets_go_to_the_collapsed_leg(backend: LocalBackend) -> None:
    query = replace(make_query(0), text="Compare the reports of Anna Harbour and Anna Turbine")
    answer = run("hcr-margin", backend, query)
    titles = {hit.title for hit in answer.hits[:6]}
    assert {"About harbour", "About turbine"} <= titles
    (note,) = [note for span in answer.trace for note in span.notes if "winner" in note.data]
    assert note.data["winner"] == "collapsed"


def test_the_way_is_printed(backend: LocalBackend) -> None:
    lines = list(routing_lines(run("hcr-margin", backend, make_query(4))))
    assert lines[0].startswith("beam · router nodes · ")
    assert lines[0].endswith(" of 90 chunks scored")
    levels = [line for line in lines if line.startswith("  level 1, node 0: ✓")]
    assert len(levels) == 1
    assert "words 0." in levels[0]
    assert "cosine 0." in levels[0]
    assert lines[-1].startswith("fuse · ")
    assert "confidence" in lines[-1]


def test_a_flat_pipeline_has_no_way(backend: LocalBackend) -> None:
    assert list(routing_lines(run("flat-strong", backend, make_query(4)))) == []
