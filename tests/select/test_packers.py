"""The laws of packers, over every packer in the table, and hostile input."""

from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packing_cases import make_candidates, make_case, make_chunk

from assay.engine.context import PackedContext
from assay.engine.laws import check_context
from assay.errors import ConfigError, LawBroken
from assay.select.context import PACKERS
from assay.testing.contracts import check_packer
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.token_count import count_tokens
from assay.types import Query

SETTINGS = {"coverage": {"scorer": "none"}}


def make_packer(name, tokens, **settings):
    module, _, cls = PACKERS[name].partition(":")
    return getattr(import_module(module), cls)(tokens=tokens, **{**SETTINGS.get(name, {}), **settings})


WORDS = (
    "key",
    "rotate",
    "the",
    "Berlin",
    "vault",
    "v1.2",
    "鍵を回す。",
    "`a = b`",
    "| x | y |",
    "…",
    "\n\n",
    "Dr. Who.",
    "[1]",
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@st.composite
def cases(draw):
    size = draw(st.integers(0, 8))
    chunks = [
        make_chunk(
            number,
            draw(TEXTS),
            title=draw(st.sampled_from(("", "Berlin", "The vault", "x" * 80))),
            doc=draw(st.sampled_from("ab")),
            created=draw(st.sampled_from((float("nan"), 0.0, 1e9, -1e15))),
            version=draw(st.sampled_from(("", "v1", 2))),
        )
        for number in range(size)
    ]
    vectors = np.eye(8, dtype=np.float32)[[draw(st.integers(0, 7)) for _ in chunks]].reshape(size, 8)
    vector = draw(st.sampled_from((None, np.eye(8, dtype=np.float32)[0])))
    query = Query(
        draw(st.one_of(TEXTS, st.sampled_from(("", "between May and April 2020", "Berlin and vault")))), vector
    )
    return query, make_candidates(chunks), MemorySnapshot(chunks, vectors if draw(st.booleans()) else None)


@pytest.mark.parametrize("name", sorted(PACKERS))
@settings(max_examples=120, deadline=None)
@given(case=cases(), tokens=st.integers(1, 120), headers=st.booleans())
def test_laws(name, case, tokens, headers):
    query, candidates, snapshot = case
    packer = make_packer(name, tokens, headers=headers)
    context = packer.pack(query, candidates, snapshot)
    assert count_tokens(context.text) == context.tokens <= tokens, "everything emitted counts, and fits"
    check_context(context, candidates)
    assert sum(one.cost for one in context.sentences) == context.tokens
    assert {one.citation for one in context.sentences} == {one.citation for one in context.sources}
    for one in context.sentences:
        assert one.text in context.text
    for one in context.sources:
        assert f"[{one.citation}] " in context.text
        assert one.header in context.text
    assert packer.pack(query, candidates, snapshot) == context, "two runs differ"
    whole = {one.chunk_id for one in context.sources} - {one.chunk_id for one in context.dropped}
    known = {one.chunk.id for one in candidates}
    assert whole | {one.chunk_id for one in context.dropped} == known, "what is not in it is on the record"
    assert all(one.why for one in context.dropped)
    assert context.to_json()["text"] == context.text


@pytest.mark.parametrize("name", sorted(PACKERS))
@pytest.mark.parametrize("tokens", [1, 30, 400])
def test_contract(name, tokens):
    check_packer(make_packer(name, tokens))


def test_the_contract_notices_what_is_wrong():
    @dataclass(frozen=True)
    class Wasteful:
        needs: ClassVar[frozenset[str]] = frozenset()
        tokens: int = 5
        pool: int = 3

        def pack(self, query, candidates, snapshot):
            text = " ".join(candidate.chunk.text for candidate in candidates)
            return PackedContext(text, count_tokens(text), self.tokens, "wasteful")

    with pytest.raises(LawBroken, match="law 11"):
        check_packer(Wasteful())


@pytest.mark.parametrize("name", sorted(PACKERS))
@pytest.mark.parametrize("tokens", [0, -1, 1.5, "400", True])
def test_a_budget_is_a_whole_number_above_zero(name, tokens):
    with pytest.raises(ConfigError, match=rf"{name}\.tokens") as caught:
        make_packer(name, tokens)
    assert caught.value.cure


@pytest.mark.parametrize("name", sorted(PACKERS))
class TestHostileInput:
    def pack(self, name, tokens, *texts, query="rotate key", **options):
        candidates, snapshot = make_case(*texts, **options)
        return make_packer(name, tokens).pack(Query(query), candidates, snapshot)

    def test_no_candidates(self, name):
        context = self.pack(name, 400)
        assert (context.text, context.tokens, context.sentences) == ("", 0, ())
        assert "nothing to put into the context" in context.notes[-1].text

    def test_chunks_without_sentences(self, name):
        context = self.pack(name, 400, "", " \n\n ")
        assert context.text == ""
        assert [one.why for one in context.dropped] == ["it has no text"] * 2

    def test_a_query_without_words(self, name):
        for query in ("", "   ", "?!", "the of"):
            assert self.pack(name, 400, "Rotate the key.", "Feed the cat.", query=query).text

    def test_a_budget_smaller_than_any_sentence(self, name):
        context = self.pack(name, 8, "Rotate the signing key every ninety days, and at once when somebody leaves.")
        assert context.text.startswith("[1] Rotate the")
        assert context.text.endswith(" …")
        assert context.tokens <= 8
        assert any("cut at a word" in note.text for note in context.notes)
        (sentence,) = context.sentences
        assert sentence.text == ["Rotate the signing key every ninety days,", " at once"][0][: sentence.end]

    def test_a_budget_smaller_than_any_word(self, name):
        context = self.pack(name, 3, "Rotate the signing key every ninety days.", title="The firmware signing key")
        assert (context.text, context.tokens) == ("", 0)
        note = context.notes[-1]
        assert "nothing fits into 3 tokens" in note.text
        whole = int(note.cure.split()[4])
        fitting = self.pack(name, whole, "Rotate the signing key every ninety days.", title="The firmware signing key")
        assert fitting.tokens == whole, "the cure is right"

    def test_one_giant_sentence(self, name):
        context = self.pack(name, 50, "word " * 5_000)
        assert 40 <= context.tokens <= 50
        assert context.text.endswith(" …")

    def test_a_giant_chunk_is_cut_at_sentences(self, name):
        context = self.pack(name, 60, "Rotate the key every ninety days. " * 200)
        assert 40 <= context.tokens <= 60
        assert context.text.endswith("days.")

    def test_identical_chunks(self, name):
        context = self.pack(name, 400, *["Rotate the key every day."] * 3)
        assert context.text.count("Rotate the key") == 1
        assert [one.why for one in context.dropped] == ["its text is the same as that of a candidate before it"] * 2

    def test_text_without_spaces(self, name):
        context = self.pack(name, 30, "署名鍵は九十日ごとに交換する。" * 40, query="署名鍵")
        assert 15 <= context.tokens <= 30
        assert context.text.endswith("。")
        cut = self.pack(name, 12, "署名鍵は九十日ごとに交換する" * 40, query="署名鍵")
        assert 8 <= cut.tokens <= 12

    def test_code_and_tables_keep_their_lines(self, name):
        code = "Run this:\n\n```sh\nsaltctl key new\nsaltctl key list\n```\n\n| slot | key |\n|---|---|\n| a | 17 |"
        context = self.pack(name, 400, code, query="saltctl key")
        assert context.text == f"[1] {code}"


def test_a_context_above_its_budget_breaks_a_law():
    candidates, snapshot = make_case("Rotate the key.")
    context = make_packer("naive", 100).pack(Query("key"), candidates, snapshot)
    object.__setattr__(context, "budget", 2)
    with pytest.raises(LawBroken, match="law 11"):
        check_context(context, candidates)
    object.__setattr__(context, "budget", 100)
    with pytest.raises(LawBroken, match="law 11"):
        check_context(context, make_case("Another text here.")[0])
