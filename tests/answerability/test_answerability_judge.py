"""What the judge says about small stores without a model: nonsense, codes, lists, changes, scopes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import kb
from assay.answerability import judge
from assay.embed.installed_models import find_model
from assay.engine.answerability import Answerability
from assay.errors import StoreError
from assay.text.token_count import count_tokens
from assay.types import Query

TICKET = "Ticket TKT-{:06} concerns larch-engine."


def judged(base: kb.KnowledgeBase, text: str, **options: Any) -> Answerability:
    answerability = base.search(text, **options).answerability
    assert answerability is not None
    return answerability


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kb.KnowledgeBase]:
    """Sixty tickets of one service, four of another, and a policy in two versions."""
    with kb.open(tmp_path_factory.mktemp("tickets") / "kb", embedder="none") as base:
        shared = "Meals are paid up to thirty euros."
        base.add(
            [
                *({"id": f"t{n}", "text": TICKET.format(n)} for n in range(60)),
                *({"id": f"s{n}", "text": f"Ticket TKT-9{n:05} concerns slate-ledger."} for n in range(4)),
                {"id": "v1", "title": "Travel policy version 1.0", "text": f"{shared} Taxis need a receipt."},
                {"id": "v2", "title": "Travel policy version 2.0", "text": f"{shared} Taxis need no receipt at all."},
            ]
        )
        yield base


def test_nonsense_is_out_of_scope(tickets: kb.KnowledgeBase) -> None:
    found = judged(tickets, "zorbflax quimble")
    assert (found.word, found.kind) == ("impossible", "out_of_scope")
    assert found.why == "the store does not know 'zorbflax', 'quimble'"
    assert found.evidence_tokens is None


def test_an_unknown_code_is_out_of_scope_and_a_known_one_is_not(tickets: kb.KnowledgeBase) -> None:
    assert judged(tickets, "TKT-777777").why == "the store does not know 'TKT-777777'"
    assert judged(tickets, "What does ticket TKT-777777 concern?").kind == "out_of_scope"
    assert judged(tickets, "What does ticket TKT-000007 concern?").answerable
    assert judged(tickets, "TKT-000007").answerable


def test_a_long_list_is_impossible_with_its_tokens(tickets: kb.KnowledgeBase) -> None:
    found = judged(tickets, "List all tickets of larch-engine.")
    each = count_tokens(TICKET.format(0))
    assert found.kind == "listing"
    assert found.evidence_tokens == 60 * each
    assert found.budget == 400
    assert found.why == f"about 60 chunks match; listing them takes about {60 * each:,} tokens, the budget is 400"
    assert {feature.name for feature in found.features if feature.head == "demand"} >= {"cues", "size"}


def test_a_short_list_is_answerable(tickets: kb.KnowledgeBase) -> None:
    found = judged(tickets, "List all tickets of slate-ledger.")
    assert found.answerable
    assert found.evidence_tokens == 4 * count_tokens("Ticket TKT-900000 concerns slate-ledger.")


def test_the_budget_of_the_query_decides(tickets: kb.KnowledgeBase) -> None:
    assert judged(tickets, "List all tickets of larch-engine.", budget=5_000).answerable
    small = judged(tickets, "List all tickets of slate-ledger.", budget=20)
    assert (small.kind, small.budget) == ("listing", 20)


def test_a_change_takes_the_sentences_that_differ(tickets: kb.KnowledgeBase) -> None:
    tokens = count_tokens("Taxis need a receipt.") + count_tokens("Taxis need no receipt at all.")
    question = "What changed in the travel policy between version 1.0 and 2.0?"
    assert judged(tickets, question).answerable
    found = judged(tickets, question, budget=5)
    assert (found.kind, found.evidence_tokens) == ("diff", tokens)
    assert found.why.startswith("2 sentences differ between the versions")


def test_a_plain_question_asks_for_one_passage(tickets: kb.KnowledgeBase) -> None:
    found = judged(tickets, "Do taxis need a receipt?")
    assert found.answerable
    assert (found.evidence_tokens, found.why) == (None, "it asks for one passage")


@pytest.mark.parametrize("text", ["", "   ", "?!", "\x00"])
def test_a_query_without_words_is_not_judged(tickets: kb.KnowledgeBase, text: str) -> None:
    assert judged(tickets, text).why == "there are no words to judge"


@pytest.mark.parametrize("text", ["Wie hoch ist die Pauschale?", "年休假政策是什么", "Сколько стоит такси?", "🦄"])
def test_other_languages_and_scripts(tickets: kb.KnowledgeBase, text: str) -> None:
    found = judged(tickets, text)
    assert found.kind in ("out_of_scope", None)
    assert text == "🦄" or found.kind == "out_of_scope"


def test_hostile_text_is_judged(tickets: kb.KnowledgeBase) -> None:
    for text in ("list all " * 2_000, "from 5 May to 3 May", '"' * 999, "a-" * 5_000, "\ud800 list", "所有" * 500):
        judged(tickets, text)


def test_chinese_that_the_store_holds_is_answerable(tmp_path: Path) -> None:
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(["年休假为三十天。", "停车场在后面。"])
        assert judged(base, "年休假").answerable
        assert judged(base, "退休金").kind == "out_of_scope"


def test_an_empty_store_and_one_chunk(tmp_path: Path) -> None:
    with kb.open(tmp_path / "kb", embedder="none") as base:
        assert judged(base, "anything").why == "the store is empty"
        base.add(["The kitchen closes at six."])
        assert judged(base, "When does the kitchen close?").answerable
        assert judged(base, "list all kitchens").answerable
        assert judged(base, "zorbflax").kind == "out_of_scope"


def test_every_backend_judges_alike(any_store: str) -> None:
    with kb.open(any_store, embedder="none") as base:
        base.add([TICKET.format(n) for n in range(60)])
        found = judged(base, "List all tickets of larch-engine.")
        assert (found.kind, found.evidence_tokens) == ("listing", 60 * count_tokens(TICKET.format(0)))
        assert judged(base, "zorbflax quimble").kind == "out_of_scope"
        assert judged(base, "What does TKT-000007 concern?").answerable


def test_nothing_is_learnt_about_other_scopes(tmp_path: Path) -> None:
    records = [
        {"id": "a", "text": "The vault code is kept by Ada.", "scope": "team"},
        {"id": "b", "text": "The zorbflax project starts in May.", "scope": "secret"},
    ]
    with kb.open(tmp_path / "with", embedder="none") as base, kb.open(tmp_path / "without", embedder="none") as other:
        base.add(records)
        other.add([records[0], {**records[1], "text": "The harvest project starts in May."}])
        seen = judged(base, "zorbflax", scope="team")
        assert seen.kind == "out_of_scope"
        assert seen.why == "nothing that the query may see holds 'zorbflax'"
        # the judgement is the same, digit for digit, whether another scope holds the word or not
        assert seen.to_json() == judged(other, "zorbflax", scope="team").to_json()
        assert judged(base, "zorbflax", scope="secret").answerable
        assert judged(base, "zorbflax", where='scope = "team"').kind == "out_of_scope"


def test_the_judgement_does_not_depend_on_k(tickets: kb.KnowledgeBase) -> None:
    one = judged(tickets, "What does TKT-000007 concern?", k=1)
    assert one == judged(tickets, "What does TKT-000007 concern?", k=50)


@pytest.mark.parametrize("preset", ["bm25", "default", "rrf", "weighted", "memory"])
def test_every_pipeline_is_judged(tickets: kb.KnowledgeBase, preset: str) -> None:
    assert judged(tickets, "zorbflax quimble", pipeline=preset).kind == "out_of_scope"
    assert judged(tickets, "What does TKT-000007 concern?", pipeline=preset).answerable


def test_abstention_withholds_results_on_the_record(tickets: kb.KnowledgeBase) -> None:
    question = "What does ticket TKT-777777 concern?"
    shown, withheld = tickets.search(question), tickets.search(question, abstain=True)
    assert shown.status.word == "degraded"  # no model here; it abstains only when it is asked to
    assert len(shown) > 0
    assert (withheld.status.word, len(withheld)) == ("abstained", 0)
    (span,) = [span for span in withheld.trace if span.name == "abstain"]
    assert [note.ids for note in span.notes] == [tuple(shown.chosen.ids.tolist())]
    assert withheld.to_json()["answerability"]["kind"] == "out_of_scope"
    assert len(tickets.search("What does TKT-000007 concern?", abstain=True)) > 0


def test_a_failing_store_keeps_the_results(tickets: kb.KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the connection is gone", "try again")

    monkeypatch.setattr("assay.answerability.judge.measure", fail)
    answer = tickets.search("TKT-000007", abstain=True)
    assert answer.answerability is None
    assert len(answer) > 0
    assert any("the connection is gone" in line for line in answer.status.degraded)


def test_the_judge_waits_until_it_is_read_and_runs_once(
    tickets: kb.KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    measure = judge.measure

    def count(query: Query, *rest: Any) -> Any:
        calls.append(query.text)
        return measure(query, *rest)

    monkeypatch.setattr("assay.answerability.judge.measure", count)
    answer = tickets.search("zorbflax quimble")
    assert (len(answer), answer.status.found, len(answer.hits)) == (0, 0, 0)
    assert not calls
    copied = replace(answer, remarks=("one",))
    assert answer.to_json()["answerability"]["kind"] == "out_of_scope"
    assert repr(answer).count("impossible (out_of_scope)") == 1
    assert copied.answerability is answer.answerability
    assert calls == ["zorbflax quimble"]
    tickets.search("TKT-000007", abstain=True)
    assert calls == ["zorbflax quimble", "TKT-000007"]


def test_a_judgement_read_late_is_that_of_its_snapshot(any_store: str) -> None:
    """Chunks added and removed since, and a closed store, change nothing."""
    with kb.open(any_store, embedder="none") as base:
        base.add([{"id": f"t{n}", "text": TICKET.format(n)} for n in range(60)])
        questions = ["List all tickets of larch-engine.", "zorbflax quimble", "What does TKT-000007 concern?"]
        early = [judged(base, text).to_json() for text in questions]
        late = [base.search(text) for text in questions]
        base.add([{"id": "new", "text": "The zorbflax quimble is described here."}])
        for number in range(50):
            base.remove(f"t{number}")
        base.optimize(force=True)
        assert [answer.to_json()["answerability"] for answer in late[:2]] == early[:2]
        assert judged(base, "zorbflax quimble").answerable
    assert late[2].to_json()["answerability"] == early[2]


def test_a_judge_that_fails_late_is_in_the_status(tickets: kb.KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the connection is gone", "try again")

    answer = tickets.search("TKT-000007")
    monkeypatch.setattr("assay.answerability.judge.measure", fail)
    assert not any("connection" in line for line in answer.status.degraded)
    whole = answer.to_json()
    assert whole["answerability"] is None
    assert whole["hits"]
    assert [line for line in whole["status"]["degraded"] if "connection" in line] == [
        "answerability skipped: the connection is gone; cure: try again"
    ]
    assert list(answer.status.degraded) == whole["status"]["degraded"]


@pytest.mark.skipif(find_model("minilm") is None, reason="no embedding model is installed")
def test_with_vectors_ordinary_words_that_the_store_lacks_are_no_sign(tmp_path: Path) -> None:
    """A page in other words answers "fall ill"; two words that nobody knows are named."""
    with kb.open(tmp_path / "kb") as base:
        base.add([{"id": "sick", "text": "Feeling unwell? Stay in bed and send a short message to your team."}])
        ordinary = base.search("what happens if I fall ill?").answerability
        nonsense = base.search("zorbflax quimble").answerability
    assert ordinary is not None
    assert ordinary.answerable
    assert nonsense is not None
    assert nonsense.kind == "out_of_scope"
    with kb.open(tmp_path / "words", embedder="none") as base:
        base.add([{"id": "sick", "text": "Feeling unwell? Stay in bed and send a short message to your team."}])
        judged = base.search("what happens if I fall ill?").answerability
    assert judged is not None
    assert judged.kind == "out_of_scope"  # without vectors nothing but the words can tell
