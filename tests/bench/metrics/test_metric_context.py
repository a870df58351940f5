"""Contexts: which pieces fit, and which passages they contain, whole or in parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.metrics.context import BudgetContext, fit_budget, is_covered, split_context
from assay.bench.types import Evidence, Piece
from assay.engine.context import PackCandidate
from assay.select.budget import Budget
from assay.select.context.coverage import Coverage
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.token_count import count_tokens
from assay.types import Chunk, Query


def piece(tokens: int, text: str = "x", document: str = "d") -> Piece:
    return Piece(document, text, tokens)


def passage(text: str, document: str = "d", group: int = 0, start: int = 0) -> Evidence:
    return Evidence(document, start, start + len(text), text, group)


def test_a_piece_that_does_not_fit_is_left_out_and_the_next_is_tried() -> None:
    pieces = (piece(300), piece(200), piece(100), piece(1))
    assert [p.tokens for p in fit_budget(pieces, 400)] == [300, 100]
    assert [p.tokens for p in fit_budget(pieces, 401)] == [300, 100, 1]
    assert fit_budget(pieces, 0) == ()


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 40))
def test_a_context_never_exceeds_its_budget_and_leaves_out_only_what_did_not_fit(sizes: list[int], budget: int) -> None:
    pieces = tuple(piece(size, str(place)) for place, size in enumerate(sizes))
    selected = fit_budget(pieces, budget)
    assert BudgetContext(selected).tokens <= budget
    assert [int(p.text) for p in selected] == sorted(int(p.text) for p in selected)
    for skipped in set(pieces) - set(selected):
        before = sum(p.tokens for p in selected if int(p.text) < int(skipped.text))
        assert before + skipped.tokens > budget


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 40))
def test_a_context_is_what_the_engine_would_choose(sizes: list[int], budget: int) -> None:
    chunks = [Chunk(f"c{place:02}", "d", "x", size) for place, size in enumerate(sizes)]
    ranking = found({chunk.id: 1.0 - place / 100 for place, chunk in enumerate(chunks)})
    chosen = Budget(tokens=budget).select(Query("x"), ranking, MemorySnapshot(chunks))
    selected = fit_budget(tuple(piece(chunk.tokens, chunk.id) for chunk in chunks), budget)
    assert [p.text for p in selected] == chosen.ids.tolist()


@pytest.mark.parametrize(
    ("texts", "inside"),
    [
        (["see the cat sat down"], True),
        (["see the\n  cat\tsat down"], True),
        (["see the cat", "sat down"], True),  # cut between words
        (["sat down", "see the cat"], True),  # pieces come by rank, not by place
        (["see the ca", "t sat down"], True),  # cut within a word
        (["see the cat sa", "cat sat down"], True),  # overlapping pieces
        (["see the", "cat", "sat down"], True),  # a piece that lies within
        (["see the", "sat down"], False),
        (["the cat", "down sat"], False),  # "sat" neither begins nor is the piece
        (["the cat"], False),
        (["cat sat"], False),
        (["The cat sat"], False),  # evidence is exact
        ([""], False),
        ([], False),
    ],
)
def test_a_passage_is_inside_when_all_of_it_is(texts: list[str], inside: bool) -> None:
    context = BudgetContext(tuple(piece(1, text) for text in texts))
    assert context.holds(passage("the  cat\nsat")) is inside


def test_the_same_words_in_another_document_are_no_evidence() -> None:
    context = BudgetContext((piece(1, "the cat", "d"), piece(1, "sat", "e"), piece(1, "the cat sat", "f")))
    assert not context.holds(passage("the cat sat", "d"))
    assert context.holds(passage("the cat sat", "f"))


def test_an_empty_passage_is_nowhere() -> None:
    assert not is_covered("", ["", "a"])


words = st.text("ab ", min_size=1, max_size=12)


@given(st.text("abc ", max_size=8), words, st.text("abc ", max_size=8), st.data())
def test_a_text_cut_anywhere_still_covers_its_passages(
    before: str, inner: str, after: str, data: st.DataObject
) -> None:
    if not inner.strip():
        return
    whole = before + inner + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    texts = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    context = BudgetContext(tuple(piece(1, text) for text in data.draw(st.permutations(texts))))
    assert context.holds(passage(inner))


@given(words, st.lists(words, max_size=3))
def test_nothing_is_inside_that_uses_a_letter_nobody_wrote(text: str, texts: list[str]) -> None:
    assert not is_covered(text.strip() + "z", [" ".join(t.split()) for t in texts])


def test_a_group_is_inside_by_any_of_its_passages_and_shows_the_shortest() -> None:
    context = BudgetContext((piece(9, "it was blue, that is azure"),))
    groups = context.groups(
        [
            passage("that is azure", group=1),
            passage("blue", group=1),
            passage("green", group=2),
            passage("was", group=3),
        ]
    )
    assert {group: found.text for group, found in groups.items()} == {1: "blue", 3: "was"}


def test_a_packed_context_is_split_into_runs_of_sentences() -> None:
    text = "Rotate the key. The key is old. A cat sleeps. The key is in the vault."
    chunk = Chunk("c", "d", text, count_tokens(text), meta={"title": "Keys", "section": ""})
    candidates = [PackCandidate(7, chunk, 1.0)]
    tokens = count_tokens("Keys\n[7] Rotate the key. The key is old. … The key is in the vault.")
    context = Coverage(tokens=tokens, scorer="none").pack(
        Query("rotate old key vault"), candidates, MemorySnapshot([chunk])
    )
    pieces = split_context(context, {7: chunk})
    assert [one.text for one in pieces] == ["Rotate the key. The key is old.", "The key is in the vault."]
    assert {(one.doc_id, one.header) for one in pieces} == {("d", "Keys")}
    assert sum(one.tokens for one in pieces) == context.tokens == tokens
    assert BudgetContext(pieces).holds(passage("Rotate the key. The key is old."))
    assert not BudgetContext(pieces).holds(passage("The key is old. A cat sleeps."))
