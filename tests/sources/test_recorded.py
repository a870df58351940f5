"""Recorded answers: found by id or text, in the recorded order, at the recorded cost."""

import json

import numpy as np
import pytest

from assay.config.load import from_dict
from assay.engine.foreign_chunks import attach
from assay.errors import ConfigError, StoreError
from assay.sources.recorded import Recorded
from assay.testing.contracts import check_source
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import NOW, sample_snapshot
from assay.types import DAY, Chunk, Query
from assay.where import parse

REPORT = {
    "results": [
        {
            "question_id": "q1",
            "retrieved_session_ids": ["s2", "s1", "s2"],
            "retrieved_scores": [0.9, 0.95, 0.2],
            "latency_ms": 40,
        },
        {
            "question_id": "q2",
            "question": "signing key",
            "retrieved_session_ids": ["keys-1", "s9"],
            "latency_ms": 700.5,
        },
        {"question_id": "q3", "retrieved_session_ids": []},
    ]
}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "report.json"
    file.write_text(json.dumps(REPORT))
    return str(file)


def ask(source, query, k=20):
    return source.find(query, sample_snapshot(), k)


def test_the_recorded_order_holds_whatever_the_scores_say(path):
    found = ask(Recorded(path), Query(id="q1"))
    assert found.ids.tolist() == ["s2", "s1"], "a repeated id keeps its first place"
    assert found.score.tolist() == [0.9, 0.9], "held down, on the record"
    assert [part.name for part in found.parts] == ["recorded", "order"]
    assert "1 scores are above the one before" in found.notes[0].text
    assert ask(Recorded(path), Query("signing key")).ids.tolist() == ["keys-1", "s9"], "by its text"
    assert ask(Recorded(path), Query(id="q2")).score.tolist() == [0.0, 0.0], "missing scores are 0"
    assert len(ask(Recorded(path), Query(id="q3"))) == 0
    assert ask(Recorded(path), Query(id="q1"), k=1).ids.tolist() == ["s2"]


def test_an_id_of_this_store_is_this_stores_chunk(path):
    wider, ranking = attach(sample_snapshot(), ask(Recorded(path), Query(id="q2")))
    first, second = wider.chunks(ranking.rows)
    assert first.text.startswith("Rotate the signing key")
    assert (second.id, second.doc_id, second.text) == ("s9", "s9", "")


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        (Query(id="q"), ["food-2", "keys-1", "s9"]),
        (Query(id="q", where=parse('lang = "en"')), ["keys-1", "s9"]),
        (Query(id="q", scope="team"), ["food-2", "s9"]),
        (Query(id="q", scope="nobody"), ["s9"]),
        (Query(id="q", at=NOW - 100 * DAY), ["food-2", "s9"]),
    ],
    ids=["all", "filter", "scope", "another scope", "moment"],
)
def test_no_chunk_of_this_store_comes_in_by_the_back(tmp_path, query, seen):
    """Its text is shown from here, so it is held to the question's filter here; of a stranger nobody knows more."""
    file = tmp_path / "report.json"
    file.write_text(
        json.dumps({"results": [{"question_id": "q", "retrieved_session_ids": ["food-2", "keys-1", "s9"]}]})
    )
    pipeline = from_dict({"legs": {"second": {"source": {"use": "recorded", "path": str(file)}}}})
    answer = pipeline.run(query, sample_snapshot())
    assert answer.chosen.ids.tolist() == seen
    hidden = [note.ids for note in answer.trace[0].notes if note.kind == "dropped"]
    assert sum(map(len, hidden)) == 3 - len(seen)


def test_a_recorded_session_is_one_candidate_with_its_chunks_elsewhere(tmp_path):
    file = tmp_path / "report.json"
    file.write_text(json.dumps({"results": [{"question_id": "q", "retrieved_session_ids": ["s2", "s1"]}]}))
    view = MemorySnapshot([Chunk(f"c{i}", "d", "signing key", 2, meta={"session_id": f"s{i}"}) for i in (1, 3)])
    legs = {"bm25": {}, "second": {"source": {"use": "recorded", "path": str(file)}, "priority": 1}}
    fused = from_dict({"legs": legs, "fuse": {"use": "append_fill", "by": "session_id"}})
    assert fused.run(Query("signing key", id="q"), view).chosen.ids.tolist() == ["c1", "c3", "s2"]


def test_a_report_that_changed_is_read_anew(tmp_path):
    file = tmp_path / "report.json"
    for names in (["s1"], ["s2", "s3"]):
        file.write_text(json.dumps({"results": [{"question_id": "q", "retrieved_session_ids": names}]}))
        assert ask(Recorded(str(file)), Query(id="q")).ids.tolist() == names


def test_nothing_costs_less_than_nothing(tmp_path):
    file = tmp_path / "report.json"
    row = {"question_id": "q", "retrieved_session_ids": ["s"], "latency_ms": -5}
    file.write_text(json.dumps({"results": [row]}))
    assert Recorded(str(file)).cost_ms(Query(id="q")) == 0.0
    assert Recorded(str(file)).cost_ms(Query(id="nobody")) is None


def test_contract(path):
    check_source(Recorded(path), [Query(id="q1"), Query(id="q2"), Query(id="q3"), Query("unknown")])
    check_source(Recorded(path, "unit"), [Query(id="q1"), Query(id="q2")])


def test_a_question_nobody_recorded_is_a_skip(path):
    pipeline = from_dict(
        {"legs": {"bm25": {}, "second": {"source": {"use": "recorded", "path": path}}}, "fuse": {"use": "rrf"}}
    )
    answer = pipeline.run(Query("kitchen", id="q7"), sample_snapshot())
    assert "holds no answer to 'q7'" in answer.status.degraded[0]
    assert len(answer)


def test_its_cost_decides_in_the_lab(path):
    config = {
        "legs": {"bm25": {}, "second": {"source": {"use": "recorded", "path": path}, "cap_ms": 600}},
        "fuse": {"use": "rrf"},
    }
    fates = {}
    for name in ("q1", "q2"):
        for _ in range(2):  # two runs agree
            answer = from_dict(config).run(Query("signing key", id=name), sample_snapshot())
            fates.setdefault(name, set()).add((answer.trace[1].outcome, answer.trace[1].skipped, answer.digest))
    assert {name: len(seen) for name, seen in fates.items()} == {"q1": 1, "q2": 1}
    assert next(iter(fates["q1"]))[0] == "ran"
    assert next(iter(fates["q2"]))[:2] == ("out_of_time", "it would cost 700.5 ms, and its cap is 600 ms")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON"),
        ("[]", "no list `results`"),
        ('{"results": 3}', "no list `results`"),
        ('{"results": [3]}', "result 1 is no table"),
        ('{"results": [{"question_id": "a", "retrieved_session_ids": "s"}]}', "no list of ids"),
        ('{"results": [{"question_id": "a", "retrieved_session_ids": [""]}]}', "no list of ids"),
        ('{"results": [{"question_id": "a", "retrieved_session_ids": ["s"], "retrieved_scores": ["x"]}]}', "no number"),
        ('{"results": [{"question_id": "a", "retrieved_session_ids": ["s"], "retrieved_scores": [NaN]}]}', "no number"),
        ('{"results": [{"question_id": "a", "retrieved_session_ids": ["s"], "latency_ms": true}]}', "no number"),
    ],
)
def test_a_report_that_is_none_says_where(tmp_path, text, said):
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(StoreError, match=said):
        ask(Recorded(str(file)), Query(id="a"))


def test_a_missing_or_unnamed_file(tmp_path):
    with pytest.raises(StoreError, match="cannot be read"):
        ask(Recorded(str(tmp_path / "none.json")), Query(id="a"))
    with pytest.raises(ConfigError, match=r"recorded\.path"):
        Recorded("")


def test_raw_scores_are_refused_where_a_weight_needs_unit_ones(path):
    legs = {"dense": {"norm": "clamp"}, "second": {"source": {"use": "recorded", "path": path}}}
    with pytest.raises(ConfigError, match="needs unit scores"):
        from_dict({"legs": legs, "fuse": {"use": "weighted_merge"}})
    legs["second"]["source"]["scale"] = "unit"
    fused = from_dict({"legs": legs, "fuse": {"use": "weighted_merge"}})
    query = Query("signing key", vector=np.array([1, 0, 0], np.float32), id="q1")
    assert fused.run(query, sample_snapshot()).status.word == "answered"
