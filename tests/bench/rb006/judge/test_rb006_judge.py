"""The language-model judge against a loopback server: honest, lying, babbling, failing and dying ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.bench.rb006.judge.answerability_judge import VERSION, JudgeControls, measure_judge, write_context
from assay.bench.rb006.judge.chat_votes import ChatVotes, JudgeFailed, Vote, count_samples, read_vote
from assay.bench.rb006.measure.suite_bench import SuiteBench
from assay.bench.rb006.subject import Subject, SuiteQuery
from assay.bench.rb006.systems import find_systems
from assay.bench.types import Dataset, Evidence, Piece, Topic
from assay.bench.workspace import IndexSettings, prepare
from tests.bench.rb006.loopback_chat import LoopbackChat

FACTS = {
    f"q{n}": (f"Who signs for {place}?", f"The signature of {person} is needed in {place}.", person)
    for n, (place, person) in enumerate(
        [("Berlin", "Anna Reis"), ("Madrid", "Tom Okoye"), ("Lima", "Ida Sund"), ("Oslo", "Raj Patel")]
    )
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SuiteBench]:
    """Four facts in four documents, and noise, words only."""
    records = [{"id": f"d-{name}", "title": "", "text": fact} for name, (_, fact, _) in FACTS.items()]
    records += [
        {"id": f"n{n}", "title": "", "text": f"The canteen serves soup number {n} at noon."} for n in range(1500)
    ]
    evidence = {name: (Evidence(f"d-{name}", 0, len(fact), fact, 0),) for name, (_, fact, _) in FACTS.items()}
    topics = {name: Topic(name, asked, meta={"answers": [who]}) for name, (asked, _, who) in FACTS.items()}
    judged = {name: {f"d-{name}": 1} for name in FACTS}
    dataset = Dataset("facts", "all", "d", "synthetic", records, len(records), topics, judged, evidence)
    queries = tuple(SuiteQuery(name, asked) for name, (asked, _, _) in FACTS.items())
    with prepare(dataset, IndexSettings("none"), cache=tmp_path_factory.mktemp("judge")) as workspace:
        yield SuiteBench(Subject("facts", dataset, queries, {}), workspace)


def honest(prompt: str) -> str:
    """Yes if the fact of the question stands in the notes; answers with the person."""
    notes, _, rest = prompt.partition("\n\nQuestion: ")
    question, _, answer = rest.partition("\n\nAnswer: ")
    fact, who = next((fact, who) for asked, fact, who in FACTS.values() if asked == question)
    if prompt.startswith("Answer the question"):
        return f"It is {who}." if fact in notes else "The notes do not say."
    if answer:
        return "Yes." if who in answer and fact in notes else "No."
    return "Yes, they say it." if fact in notes else "No."


def measure(bench: SuiteBench, server: LoopbackChat, cache: Path, **settings: Any) -> dict[str, Any]:
    votes = ChatVotes(server.chat, VERSION, path=cache / "votes.sqlite")
    try:
        return measure_judge(bench, find_systems(["bm25", "random"]), votes, **settings)
    finally:
        votes.close()


def test_an_honest_judge_agrees_and_is_trusted(bench: SuiteBench, serve: Any, tmp_path: Path) -> None:
    server = serve(honest)
    found = measure(bench, server, tmp_path)
    assert found["controls"] == {"asked": 4, "refused_evidence": 0, "accepted_nothing": 0, "trusted": True}
    assert found["systems"]["bm25"]["judge"] == found["systems"]["bm25"]["mechanical"] == 1.0
    assert found["systems"]["random"]["judge"] == found["systems"]["random"]["mechanical"] == 0.0
    assert found["systems"]["bm25"]["unanimous"] == 4
    assert found["systems"]["bm25"]["samples"] == {"yes": 12, "no": 0, "void": 0, "failed": 0}
    asked = len(server.prompts)
    assert measure(bench, server, tmp_path) == found
    assert len(server.prompts) == asked, "every answer is cached"


@pytest.mark.parametrize(("liar", "refused", "accepted"), [("yes", 0, 4), ("no", 4, 0), ("It depends.", 4, 4)])
def test_a_lying_judge_is_found_by_its_controls(
    bench: SuiteBench, serve: Any, tmp_path: Path, liar: str, refused: int, accepted: int
) -> None:
    found = measure(bench, serve(lambda _: liar), tmp_path)
    assert found["controls"]["refused_evidence"] == refused
    assert found["controls"]["accepted_nothing"] == accepted
    assert not found["controls"]["trusted"]
    if liar == "It depends.":
        assert found["systems"]["bm25"]["judged"] == 0
        assert found["systems"]["bm25"]["judge"] is None


def test_a_failing_server_ends_it_and_loses_nothing(bench: SuiteBench, serve: Any, tmp_path: Path) -> None:
    server = serve(honest)
    calls = 0

    def die_later(prompt: str) -> str | int:
        nonlocal calls
        calls += 1
        return honest(prompt) if calls <= 12 else 503

    server.answer = die_later
    with pytest.raises(JudgeFailed, match="none of 3 questions in a row") as error:
        measure(bench, server, tmp_path)
    assert "cached" in str(error.value.cure)
    server.answer, server.prompts = honest, []
    found = measure(bench, server, tmp_path)
    assert found["controls"]["trusted"]
    whole = 3 * (4 + 4 + 4 + 4)
    assert len(server.prompts) < whole, "the answers before the failure are not asked for again"


def test_the_majority_of_samples_counts(serve: Any, tmp_path: Path) -> None:
    said = iter(["Yes", "no.", "YES!", "no", "maybe", "no", "yes", "no", "hm"])
    votes = ChatVotes(serve(lambda _: next(said)).chat, "v", path=tmp_path / "votes.sqlite")
    assert votes.vote("a").yes is True
    assert votes.vote("b").yes is False
    assert votes.vote("c").yes is None
    assert votes.vote("a").samples == ("yes", "no", "yes"), "from the cache"
    votes.close()


def test_one_failed_sample_of_three_is_no_failure(serve: Any, tmp_path: Path) -> None:
    said = iter(["yes", 500, "yes"] * 4)
    votes = ChatVotes(serve(lambda _: next(said)).chat, "v", path=tmp_path / "votes.sqlite")
    for prompt in "abcd":
        assert votes.vote(prompt) == Vote(("yes", "failed", "yes"))
    assert "500" in votes.reason
    assert count_samples([Vote(("yes", "failed", "yes"))]) == {"yes": 2, "no": 0, "void": 0, "failed": 1}
    votes.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes", "yes"),
        ("**No**, because", "no"),
        ("", "void"),
        ("42", "void"),
        ("Nothing says so", "void"),
        ("yesterday", "void"),
    ],
)
def test_the_first_word_decides(text: str, said: str) -> None:
    assert read_vote(text) == said


def test_generation_is_scored_by_answer_strings_and_faithfulness(bench: SuiteBench, serve: Any, tmp_path: Path) -> None:
    found = measure(bench, serve(honest), tmp_path, generate=True)
    right, wrong = (found["systems"][name]["generation"] for name in ("bm25", "random"))
    assert (right["correct"], right["faithful"], right["answers"], right["failed"]) == (1.0, 1.0, 4, 0)
    assert (wrong["correct"], wrong["faithful"]) == (0.0, 0.0)


def test_headers_are_written_once() -> None:
    pieces = [
        Piece("a", "one", 1, "Head"),
        Piece("a", "two", 1, "Head"),
        Piece("b", "three", 1, ""),
        Piece("a", "x", 1, "Head"),
    ]
    assert write_context(pieces) == "Head\none\ntwo\nthree\nHead\nx"


def test_controls_without_a_query_trust_nobody() -> None:
    assert not JudgeControls(0, 0, 0).trusted
    assert JudgeControls(10, 2, 2).trusted
    assert not JudgeControls(10, 3, 0).trusted
