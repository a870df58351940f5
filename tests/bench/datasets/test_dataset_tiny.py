"""The shipped dataset is small, complete, and distinguishes systems."""

from collections import Counter
from pathlib import Path

import pytest

from assay import embed, kb
from assay.bench.datasets import load
from assay.bench.types import Dataset


@pytest.mark.parametrize("split", ["dev", "test"])
def test_every_kind_of_question_is_in_both_splits(split: str) -> None:
    found = load("tiny", split)
    assert found.document_count == 42
    assert {name: len(places) for name, places in found.strata().items()} == {
        "kind=identifier": 2,
        "kind=lexical": 2,
        "kind=multi-hop": 2,
        "kind=paraphrase": 2,
        "kind=temporal": 2,
    }
    assert len(found.abstain) == 2
    assert all(found.topics[name].meta["kind"] == "unanswerable" for name in found.abstain)
    assert (found.label, found.source, found.notes) == ("human", "tiny", ())


def test_every_scored_question_has_evidence_in_a_relevant_document() -> None:
    found = load("tiny", "all")
    texts = {record["id"]: record["text"] for record in found.documents}
    for name in found.scored:
        assert found.evidence[name]
        for passage in found.evidence[name]:
            assert texts[passage.doc_id][passage.start : passage.end] == passage.text
            assert found.judgements[name][passage.doc_id] > 0
    assert len({passage.group for passage in found.evidence["id-error"]}) == 1, "two documents say the same"
    grades = Counter(grade for judged in found.judgements.values() for grade in judged.values())
    assert set(grades) == {0, 1, 2}


def test_a_temporal_question_has_another_answer_at_another_moment() -> None:
    found = load("tiny")
    then, now = found.topics["time-holiday-then"], found.topics["time-holiday-now"]
    assert then.at is not None
    assert now.at is not None
    created = {record["id"]: record["created"] for record in found.documents}
    assert created["hb-holiday-2023"] < then.at < created["hb-holiday-2025"] < now.at


def test_words_and_meaning_find_different_things(tmp_path: Path) -> None:
    if embed.default_spec() == "none":
        pytest.skip("the embedding model is not installed: assay model install")
    found = load("tiny", "all")
    with kb.open(tmp_path / "kb") as base:
        base.add(found.documents)
        first = {name: _first_places(base, found, name) for name in ("bm25", "dense")}
    assert first["bm25"]["kind=paraphrase"] == 0
    assert first["dense"]["kind=paraphrase"] >= 3
    assert first["bm25"]["kind=identifier"] > first["dense"]["kind=identifier"]


def _first_places(base: kb.KnowledgeBase, found: Dataset, pipeline: str) -> Counter[str]:
    """stratum → questions whose first result is of the highest grade."""
    right: Counter[str] = Counter()
    for name in found.scored:
        topic = found.topics[name]
        hits = base.search(topic.text, 1, pipeline=pipeline, at=topic.at).hits
        if hits and found.judgements[name].get(hits[0].chunk.doc_id) == 2:
            right.update(topic.strata)
    return right
