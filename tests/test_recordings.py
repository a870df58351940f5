"""Serving a router: deadlines hold, skips are recorded, and a record replays to the answer that was served."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from assay import kb
from assay import replay as served
from assay.config.load import from_dict, to_config
from assay.embed import default_spec
from assay.engine.deadline_executor import MIN_SAMPLES, RETRY
from assay.engine.foreign_chunks import source_result
from assay.errors import StoreError
from assay.sources.open_cache import close_all
from assay.types import Chunk, Part, Range, Ranking

REPORT = {
    "results": [
        {
            "question": "signing key",
            "retrieved_session_ids": ["s1", "keys", "s2"],
            "retrieved_scores": [0.9, 0.5, 0.4],
            "latency_ms": 40,
        }
    ]
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[kb.KnowledgeBase]:
    with kb.open(tmp_path / "store", embedder="none") as made:
        made.add(
            [{"id": f"d{i}", "text": text} for i, text in enumerate(["the signing key", "a key", "lunch at noon"])]
        )
        yield made
    close_all()


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(REPORT))
    return path


def router(source, **second):
    return from_dict(
        {
            "k": 5,
            "legs": {
                "first": {"k": 5, "legs": {"bm25": {"k": 5}}},
                "second": {"source": source, "k": 5, "priority": 1, **second},
            },
            "fuse": {"use": "append_fill", "by": "doc_id"},
        }
    )


def test_a_record_replays_when_the_other_store_is_gone(base, report):
    pipeline = router({"use": "recorded", "path": str(report)}, when={"use": "fewer_than", "count": 4})
    answer = base.search("signing key", pipeline=pipeline)
    assert [hit.chunk.doc_id for hit in answer] == ["d0", "d1", "s1", "keys", "s2"]
    kept = served.loads(json.dumps(served.record(answer, pipeline)))
    report.unlink()
    close_all()
    assert base.search("signing key", pipeline=pipeline).status.word == "degraded"
    again = served.replay(kept, base)
    assert again.same
    assert again.answer.chosen.ids.tolist() == answer.chosen.ids.tolist()
    assert again.answer.digest == answer.digest
    assert [(s.name, s.outcome) for s in again.answer.trace] == [(s.name, s.outcome) for s in answer.trace]


def test_a_record_reads_the_version_that_served_it(base, report):
    pipeline = router({"use": "recorded", "path": str(report)})
    kept = served.record(base.search("signing key", pipeline=pipeline), pipeline)
    base.add([{"id": "new", "text": "signing key signing key"}], name="more")
    assert "more/new" in [hit.chunk.doc_id for hit in base.search("signing key", pipeline=pipeline)]
    assert served.replay(kept, base).same


def test_a_record_holds_no_text_unless_asked(base, tmp_path):
    with kb.open(tmp_path / "other", embedder="none") as other:
        other.add([{"id": "x", "text": "a secret about the key", "session_id": "t1"}])
    pipeline = router({"use": "store", "path": str(tmp_path / "other"), "pipeline": "rrf"})
    answer = base.search("key", pipeline=pipeline)
    assert "secret" not in json.dumps(served.record(answer, pipeline))
    assert "t1" in json.dumps(served.record(answer, pipeline)), "what grouping reads is there"
    whole = served.record(answer, pipeline, with_text=True)
    assert served.replay(whole, base).answer[2].text == "a secret about the key"
    assert served.replay(served.record(answer, pipeline), base).same


@pytest.mark.skipif(default_spec() == "none", reason="no embedding model is installed")
def test_the_model_is_loaded_before_the_budget_begins(tmp_path):
    with kb.open(tmp_path / "with a model") as base:
        base.executor(from_dict({"legs": {"bm25": {}}, "budget_ms": 1500}))
        assert base._embedder is None, "nobody wants it"
        base.executor(from_dict({"legs": {"dense": {}}, "budget_ms": 1500}))
        assert base._embedder is not None


def test_a_step_that_reads_texts_needs_them_to_replay(base, tmp_path):
    """The length of a text decides its place; without the text the replay differs, and says what to do."""
    with kb.open(tmp_path / "other", embedder="none") as other:
        other.add([{"id": "x", "text": "key " * 400}, {"id": "y", "text": "a key"}])
    plain = router({"use": "store", "path": str(tmp_path / "other"), "pipeline": "rrf"})
    pipeline = from_dict({**to_config(plain), "fuse": {"use": "rrf"}, "step": [{"use": "length"}]})
    answer = base.search("key", pipeline=pipeline)
    without = served.replay(served.record(answer, pipeline), base)
    assert not without.same
    assert "record with --with-text" in without.hint
    whole = served.replay(served.record(answer, pipeline, with_text=True), base)
    assert (whole.same, whole.hint) == (True, "")


@pytest.mark.parametrize(("share", "outcome"), [(0.5, "not_triggered"), (1.0, "ran")])
def test_a_trigger_that_read_texts_decides_as_it_did(base, report, tmp_path, share, outcome):
    """The first source brought texts that the record does not keep; what the trigger made of them is kept."""
    with kb.open(tmp_path / "other", embedder="none") as other:
        other.add([{"id": "x", "text": "all about the signing"}])
    plain = router({"use": "recorded", "path": str(report)}, when={"use": "term_coverage_below", "share": share})
    config = to_config(plain)
    config["legs"]["first"] = {"source": {"use": "store", "path": str(tmp_path / "other"), "pipeline": "bm25"}}
    pipeline = from_dict(config)
    answer = base.search("signing key", pipeline=pipeline)
    assert answer.trace[1].outcome == outcome
    assert 0.5 < answer.trace[1].trigger.observed < 1.0, "one of two words"
    again = served.replay(json.loads(json.dumps(served.record(answer, pipeline))), base)
    assert again.same
    assert again.answer.status == answer.status
    assert [(s.name, s.outcome, s.trigger, s.skipped, s.notes) for s in again.answer.trace] == [
        (s.name, s.outcome, s.trigger, s.skipped, s.notes) for s in answer.trace
    ]


def test_what_degraded_elsewhere_is_replayed(base, tmp_path):
    with kb.open(tmp_path / "other", embedder="none") as other:
        other.add([{"id": "x", "text": "a key elsewhere"}])
    pipeline = router({"use": "store", "path": str(tmp_path / "other"), "pipeline": "rrf"}, when={"use": "always"})
    answer = base.search("key", pipeline=pipeline)
    assert answer.status.degraded[0].startswith("second: dense skipped")
    again = served.replay(json.loads(json.dumps(served.record(answer, pipeline))), base)
    assert again.answer.status == answer.status
    assert [s.notes for s in again.answer.trace] == [s.notes for s in answer.trace]


def test_a_source_inside_a_leg_that_did_not_answer_is_not_asked_by_a_replay(base, report):
    inner = {"bm25": {}, "far": {"source": {"use": "recorded", "path": str(report)}}}
    deep = {"legs": {"deep": {"legs": inner, "fuse": {"use": "rrf"}}}}
    for legs in ({"first": {"legs": inner, "fuse": {"use": "rrf"}}}, {"first": deep}):
        pipeline = from_dict({"legs": legs})
        text = report.read_text()
        report.unlink()
        answer = base.search("signing key", pipeline=pipeline)
        assert "far skipped: the report" in answer.status.degraded[0]
        kept = served.record(answer, pipeline)
        report.write_text(text)  # it is there again, and would answer
        again = served.replay(kept, base)
        assert again.same
        assert again.answer.digest == answer.digest
        assert again.answer.status == answer.status


def test_a_token_budget_holds_for_what_others_bring(base, tmp_path):
    lancedb, index = pytest.importorskip("lancedb"), pytest.importorskip("lancedb.index")
    rows = [{"id": f"far{i}", "text": "a key of the house " * 20, "vector": [1.0, 0.0]} for i in range(5)]
    table = lancedb.connect(str(tmp_path / "t")).create_table("chunks", rows)
    table.create_index("text", config=index.FTS())
    pipeline = router({"use": "lance_table", "path": str(tmp_path / "t"), "mode": "text"})
    answer = base.search("key", pipeline=pipeline, budget=200)
    assert answer.context is not None
    assert answer.context.tokens <= 200
    theirs = {source.chunk_id for source in answer.context.sources if source.chunk_id.startswith("far")}
    assert theirs, "one of theirs is there, and counted"


@dataclass(frozen=True)
class Stuck:
    """A leg elsewhere that waits until it is let go."""

    needs: ClassVar[frozenset[str]] = frozenset()
    is_source: ClassVar[bool] = True
    go: threading.Event = field(default_factory=threading.Event, compare=False)

    def gives(self):
        return Range("unit", 0.0, 1.0)

    def find(self, query, snapshot, k, seeds=None):
        self.go.wait()
        return source_result(Ranking.of(["x"], [Part("x", "add", np.ones(1))], "unit"), [Chunk("x", "x", "x", 1)])


@dataclass(frozen=True)
class Called(Stuck):
    """The same, called off when its time is over."""

    def begin(self, query, snapshot, k):
        return Call(self)


class Call:
    def __init__(self, leg):
        self.leg, self.off = leg, threading.Event()

    def result(self):
        while not self.leg.go.is_set():
            if self.off.wait(0.001):
                raise StoreError("called off")
        return self.leg.find(None, None, 0)

    def cancel(self):
        self.off.set()


def test_a_stage_past_its_cap_costs_its_cap_and_is_recorded(base, report):
    slow = Stuck()
    made = router({"use": "recorded", "path": str(report)}, cap_ms=50)
    first, second = made.legs
    pipeline = replace(made, legs=(first, replace(second, leg=slow)))
    answer = base.search("signing key", pipeline=pipeline)
    span = {s.name: s for s in answer.trace}["second"]
    assert span.outcome == "out_of_time"
    assert span.ms >= 50.0
    assert "second skipped: cancelled after" in answer.status.degraded[0]
    assert [hit.chunk.doc_id for hit in answer] == ["d0", "d1"], "stage 1 alone"
    slow.go.set()
    kept = {**served.record(answer, made)}
    again = served.replay(kept, base)
    assert again.same
    assert again.answer.status.degraded == answer.status.degraded


def test_a_source_that_is_too_slow_is_skipped_beforehand_until_it_recovers(base, report):
    """One knowledge base, one record: three slow answers, then refusals without a call, and a try every tenth time."""
    made = router({"use": "recorded", "path": str(report)}, cap_ms=300)
    first, second = made.legs
    slow = Called()
    pipeline = replace(made, legs=(first, replace(second, leg=slow)))
    said = []
    for asked in range(MIN_SAMPLES + RETRY):
        if asked == MIN_SAMPLES:
            slow.go.set()  # it has recovered, and nobody knows yet
        said.append({span.name: span.outcome for span in base.search("signing key", pipeline=pipeline).trace}["second"])
    assert said == ["out_of_time"] * (MIN_SAMPLES + RETRY - 1) + ["ran"]


def test_a_failure_is_replayed_as_a_failure(base, tmp_path):
    pipeline = router({"use": "recorded", "path": str(tmp_path / "none.json")})
    answer = base.search("signing key", pipeline=pipeline)
    (tmp_path / "none.json").write_text(json.dumps(REPORT))
    again = served.replay(served.record(answer, pipeline), base)
    assert again.same
    assert again.answer.status.degraded == answer.status.degraded


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 1}, "schema 1"),
        ({"steps": []}, "goes on with None"),
        ({"query": {}}, "cannot be read"),
        ({"snapshot": None}, "cannot be read"),
        ({"steps": 3}, "cannot be read"),
    ],
)
def test_records_that_are_none(base, report, change, said):
    pipeline = router({"use": "recorded", "path": str(report)}, required=True)
    kept = served.record(base.search("signing key", pipeline=pipeline), pipeline)
    if change == {"steps": []}:
        kept["pipeline"]["legs"]["first"]["required"] = True
    with pytest.raises(StoreError, match=said):
        served.replay({**kept, **change}, base)
    for text in ("", "[]", "{"):
        with pytest.raises(StoreError, match="this record is no"):
            served.loads(text)


def test_another_store_is_told(base, tmp_path):
    pipeline = router({"use": "recorded", "path": str(tmp_path / "none.json")})
    kept = served.record(base.search("signing key", pipeline=pipeline), pipeline)
    with kb.open(tmp_path / "another", embedder="none") as another:
        another.add([{"id": "d9", "text": "another signing key"}])
        again = served.replay(kept, another)
    assert not again.same
    assert again.hint.startswith("this is another store than the one that served it")


def test_another_answer_is_told(base, report):
    pipeline = router({"use": "recorded", "path": str(report)})
    kept = served.record(base.search("signing key", pipeline=pipeline), pipeline)
    kept["steps"][1]["result"]["parts"][0][2][0] = 0.95
    assert not served.replay(kept, base).same
