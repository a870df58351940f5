"""Scoped runs: a question is answered from its scope alone, and gets what the memory service would recall."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay import memory
from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.replay import replay
from assay.bench.runner import SCOPED_NOTE, Bench, RunPlan
from assay.bench.systems import load_system
from assay.bench.timing import measure_latency
from assay.bench.types import Dataset, Topic
from assay.bench.workspace import IndexSettings, Workspace, prepare
from assay.memory.entries import document_id
from tests.bench.hand_made import dataset

WORDS = IndexSettings("none")
PLAN = RunPlan(("nDCG@10",))
SCOPED = replace(PLAN, scoped=True)
OWN = {
    "a1": "Ada keeps the harbour key in the kitchen drawer.",
    "a2": "The harbour opens at nine, and Ada is there before.",
    "a3": "Tea is in the kitchen.",
    "a4": "The bakery has a key, and another key, and it is where the tea comes from.",
}
OTHERS = {f"b{number}": f"The harbour, the harbour and the harbour again, note {number}." for number in range(9)}
QUESTION = "where is the harbour key of Ada?"


def make_conversations(texts: dict[str, str]) -> Dataset:
    records = [{"id": name, "text": text, "metadata": {"conversation": name[0]}} for name, text in texts.items()]
    topics = {"q": Topic("q", QUESTION, where='conversation = "a"')}
    return dataset(
        documents=records, document_count=len(records), topics=topics, judgements={"q": {"a1": 1}}, evidence={}
    )


def scores_of(texts: dict[str, str], plan: RunPlan, cache: Path) -> dict[str, float]:
    data = make_conversations(texts)
    with prepare(data, WORDS, cache=cache) as workspace:
        (result,) = Bench(data, workspace, plan).run(load_system("bm25"))
    assert not result.failed
    return dict(zip(result.documents, result.scores, strict=True))


def test_other_conversations_change_no_score_of_a_scoped_run(tmp_path: Path) -> None:
    alone = scores_of(OWN, PLAN, tmp_path)
    together = OWN | OTHERS
    assert scores_of(together, SCOPED, tmp_path) == alone
    whole = scores_of(together, PLAN, tmp_path)
    assert sorted(whole) == sorted(alone)
    assert list(whole) != list(alone)  # "harbour" is common in the whole store


@pytest.mark.parametrize("preset", ["recall", "default", "learned", "bm25"])
def test_a_scoped_run_gets_what_the_service_recalls(tmp_path: Path, preset: str) -> None:
    now = 1_772_323_200.0
    with memory.open(tmp_path / "m", embedder="none", clock=lambda: now) as service:
        for scope, texts in (("user:a", OWN), ("user:b", OTHERS)):
            for text in texts.values():
                service.store(text, scope=scope, on_duplicate="force")
        served = service.recall(QUESTION, scope="user:a", k=10, pipeline=preset, adaptive=False)
        ids = [document_id(hit.memory.id) for hit in served.hits]
        topics = {"q": Topic("q", QUESTION, at=now, where='scope = "user:a"')}
        data = dataset(topics=topics, judgements={"q": {ids[0]: 1}}, evidence={}, abstain=frozenset())
        workspace = Workspace(service.kb, WORDS)
        (scoped,) = Bench(data, workspace, SCOPED).run(load_system(preset))
        (whole,) = Bench(data, workspace, PLAN).run(load_system(preset))
    assert (list(scoped.documents), list(scoped.scores)) == (ids, [hit.score for hit in served.hits])
    assert whole.scores != scoped.scores


def test_a_question_that_names_a_scope_is_answered_from_it(tmp_path: Path) -> None:
    records = [
        {"id": name, "text": text, "metadata": {"scope": name[0], "kind": "note"}}
        for name, text in (OWN | OTHERS).items()
    ]
    topics = {"q": Topic("q", QUESTION, scope="a"), "r": Topic("r", QUESTION, where='kind = "note"', scope="a")}
    judged = {"q": {"a1": 1}, "r": {"a1": 1}}
    data = dataset(documents=records, document_count=len(records), topics=topics, judgements=judged, evidence={})
    with prepare(data, WORDS, cache=tmp_path) as workspace:
        first, second = Bench(data, workspace, SCOPED).run(load_system("bm25"))
    scores = dict(zip(first.documents, first.scores, strict=True))
    assert scores == scores_of(OWN, PLAN, tmp_path) == dict(zip(second.documents, second.scores, strict=True))


def test_a_question_without_a_filter_asks_the_whole_store(words: Workspace) -> None:
    plain, scoped = (Bench(dataset(), words, plan).run(load_system("bm25")) for plan in (PLAN, SCOPED))
    assert plain == scoped


def test_each_part_is_searched_once_for_all_systems(tmp_path: Path) -> None:
    data = make_conversations(OWN | OTHERS)
    with prepare(data, WORDS, cache=tmp_path) as workspace:
        bench = Bench(data, workspace, SCOPED)
        bench.run(load_system("bm25"))
        bench.with_plan(replace(SCOPED, seed=1)).run(load_system("bm25"))
        part = bench.snapshot_for(bench.query("q"))
    assert (part.searches, part.cache_hits, part.size) == (1, 1, len(OWN))


def test_the_receipt_says_that_it_is_scoped_and_fits_no_other_run(tmp_path: Path) -> None:
    data = make_conversations(OWN | OTHERS)
    out, systems = tmp_path / "out", [load_system("bm25")]
    with prepare(data, WORDS, cache=tmp_path) as workspace:
        plain = lab.run(data, systems, workspace, PLAN, out=out)
        scoped = lab.run(data, systems, workspace, SCOPED, out=out)
        assert scoped.reused == ()
        assert lab.run(data, systems, workspace, SCOPED, out=out).reused == ("bm25",)
        assert lab.run(data, systems, workspace, PLAN, out=out).reused == ()
    first, second = plain.receipts["bm25"], scoped.receipts["bm25"]
    assert "scoped" not in first.canonical
    assert second.canonical["scoped"] is True
    assert first.canonical["rankings"] != second.canonical["rankings"]
    assert SCOPED_NOTE in second.measured["notes"]
    assert SCOPED_NOTE not in first.measured.get("notes", [])


def test_a_scoped_receipt_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "chats"
    (folder / "qrels").mkdir(parents=True)
    texts = OWN | OTHERS
    corpus = [{"_id": name, "text": text, "metadata": {"conversation": name[0]}} for name, text in texts.items()]
    query = {"_id": "q", "text": QUESTION, "metadata": {"conversation": "a"}}
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), "utf-8")
    (folder / "queries.jsonl").write_text(json.dumps(query), "utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta1\t1\n", "utf-8")
    data = load(str(folder), "all")
    with prepare(data, WORDS) as workspace:
        receipts = lab.run(data, [load_system("bm25")], workspace, SCOPED, timed=False).receipts
    again = replay(receipts["bm25"], str(folder))
    assert again.same, again.details
    assert again.again is not None
    assert again.again.canonical["scoped"] is True


def test_latency_is_measured_within_the_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def spy(systems, queries, progress):  # type: ignore[no-untyped-def]
        seen.extend(snapshot.size for _, snapshot in queries)
        return measure_latency(systems, queries, progress)

    monkeypatch.setattr(lab, "measure_latency", spy)
    data = make_conversations(OWN | OTHERS)
    with prepare(data, WORDS, cache=tmp_path) as workspace:
        for plan in (SCOPED, PLAN):
            lab.run(data, [load_system("bm25")], workspace, plan)
    assert seen == [len(OWN), len(OWN) + len(OTHERS)]
