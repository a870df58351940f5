"""Any text is a legal query, to any store: an answer that keeps the laws, or an error with a cure. Nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import WORDS
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.engine.answer import Answer
from assay.engine.laws import check_ranking
from assay.errors import AssayError, ConfigError, QueryError, StoreError
from assay.kb import KnowledgeBase
from assay.text.token_count import count_tokens

RECORDS = [
    {
        "id": "keys",
        "text": "Rotate the signing key every 90 days. JINA_API_KEY lives in the vault.",
        "lang": "en",
        "n": 1,
    },
    {"id": "gate", "text": "Gateway v1.29.3 fixes CVE-2024-1234; C++: foo? Yes & no.", "tags": ["a", "b"], "n": 2},
    {"id": "tokyo", "text": "東京都の天気は晴れです。", "lang": "ja", "created": "2025-01-01"},
    {"id": "arabic", "text": "مفتاح التوقيع في الخزنة", "lang": "ar", "scope": "x"},
    {"id": "emoji", "text": "Ship it 🚀🚀 now", "flag": True, "created": "2024-01-01"},
    {"id": "naive", "text": "naïve Straße İstanbul ﬁne café", "lang": "de"},
    {"id": "shout", "text": "AND OR NOT NEAR ( ) \" ' * : ^ ~ \\ /", "scope": "x"},
    {"id": "long", "text": "word " * 3_000},
    {"id": "empty title", "title": "Only a title", "text": ""},
]
HOSTILE = (
    "",
    " ",
    "\n\t\r",
    "🚀",
    "👩‍👩‍👧‍👦",
    "\0",
    "\0\0key\0",
    "\ud800",
    "key \udfff vault",
    '"',
    '""',
    '"""',
    '"unclosed phrase',
    "''",
    "AND OR NOT",
    "title:foo AND (bar OR baz*) NOT qux~2^3",
    "C++: foo? [a TO b] {x} \\ /regex.*/",
    "'; DROP TABLE chunk; --",
    "%s %d {} {0} $(x) `x`",
    "../../etc/passwd",
    "\u202eمفتاح\u202c key",
    "مفتاح التوقيع",
    "\u200b\u200d\ufeff",
    "e\u0301" * 200,
    "ﷺ" * 50,
    "-" * 1_000,
    "a" * 100_000,
    "key " * 25_000,
    '"' * 5_000,
    '"a" ' * 3_000,
    "A_B_C_1.2.3-" * 2_000,
    " ".join(f"w{i}" for i in range(5_000)),
    " ".join(WORDS) * 100,
    "東京" * 5_000,
    "\U0010ffff\ufffe\uffff",
    "nan inf -0 1e309 0x10",
)
FILTERS = ('lang = "en"', "n >= 1 and n < 3", 'tags in ("a", "zz")', "flag = true", "title is missing", 'text ~ "x"')
PIPELINES = ("default", "bm25", "weighted", "dense")


@pytest.fixture(scope="module", params=["tail", "index", "both"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The same few documents, in a tail, in an index, or in both."""
    made = assay.open(tmp_path_factory.mktemp("kb"), embedder="none")
    made.add(RECORDS[:4] if request.param == "both" else RECORDS)
    if request.param != "tail":
        made.optimize()
    made.add(RECORDS)
    yield made
    made.close()


def check(answer: Answer, most: int) -> None:
    """The laws hold, and everything an answer can be asked for can be had."""
    assert len(answer) <= most
    check_ranking(answer.chosen, "answer")
    assert [hit.rank for hit in answer] == list(range(1, len(answer) + 1))
    for hit in answer:
        assert hit.why()
        assert abs(hit.waterfall[-1].score - hit.score) < 1e-9 if hit.waterfall else hit.score == 0.0
    assert answer.to_json()["status"]["found"] == len(answer)
    assert len(answer.digest) == 64


def check_told(error: AssayError) -> None:
    assert error.message
    assert error.cure


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:16]))
def test_any_text_is_a_query(base: KnowledgeBase, text: str) -> None:
    for pipeline in PIPELINES:
        answer = base.search(text, pipeline=pipeline)
        check(answer, 10)
        assert answer.digest == base.search(text, pipeline=pipeline).digest
    check(base.search(text, budget=50, where=FILTERS[1], at="2025-01-01", scope="x", k=3), 3)


def test_a_long_query_says_what_it_left_out(base: KnowledgeBase) -> None:
    answer = base.search(" ".join(f"w{i}" for i in range(5_000)) + " vault", pipeline="bm25")
    assert any("weigh most" in note.text for span in answer.trace for note in span.notes)


def test_what_is_there_is_found(base: KnowledgeBase) -> None:
    for text, who in (
        ("signing keys", "keys"),
        ("JINA_API_KEY", "keys"),
        ("jina", "keys"),
        ("v1.29.3", "gate"),
        ("cve-2024-1234", "gate"),
        ("東京", "tokyo"),
        ("مفتاح", "arabic"),
        ("naive strasse", "naive"),
        ("istanbul", "naive"),
        ("cafe", "naive"),
        ("only a title", "empty title"),
        ("key\0vault", "keys"),
        ("vault\ud800", "keys"),
    ):
        assert base.search(text, k=1)[0].chunk.meta["record"] == who, text


anything = st.text(st.characters(codec=None), max_size=40)  # lone surrogates included
pieces = st.sampled_from(
    [
        "signing",
        "key",
        '"',
        "'",
        "(",
        ")",
        "AND",
        "NOT",
        "*",
        ":",
        "JINA_API_KEY",
        "v1.29.3",
        "東京",
        "🚀",
        "\0",
        "\ud800",
        " ",
    ]
)
queries = st.one_of(anything, st.lists(pieces, max_size=12).map(" ".join), st.lists(pieces, max_size=12).map("".join))


@settings(max_examples=150, deadline=None)
@given(
    text=queries,
    k=st.sampled_from([1, 3, 10**9]),
    pipeline=st.sampled_from(PIPELINES),
    where=st.one_of(st.none(), st.sampled_from(FILTERS), anything),
    at=st.one_of(st.none(), st.floats(), st.sampled_from(["2024-06-01", "yesterday"]), anything),
    scope=st.one_of(st.none(), st.just("x"), anything),
    budget=st.one_of(st.none(), st.integers(-5, 100)),
)
def test_nothing_but_told_errors(
    base: KnowledgeBase,
    text: str,
    k: int,
    pipeline: str,
    where: str | None,
    at: str | float | None,
    scope: str | None,
    budget: int | None,
) -> None:
    options: dict[str, Any] = {"k": k, "pipeline": pipeline, "where": where, "at": at, "scope": scope, "budget": budget}
    try:
        answer = base.search(text, **options)
    except (QueryError, ConfigError) as error:
        check_told(error)
        return
    check(answer, k)
    whole = base.search(text, **{**options, "k": 10**6, "budget": None})
    assert answer.chosen.ids.tolist() == whole.chosen.ids.tolist()[:k], "fewer is not a prefix (law 9)"
    assert (answer.context is None) == (budget is None)
    if answer.context is not None and budget is not None:
        assert count_tokens(answer.context.text) == answer.context.tokens <= budget


def test_an_empty_store(tmp_path: Path) -> None:
    with assay.open(tmp_path, embedder="none") as base:
        for _ in range(2):
            for text in ("", "anything", "🚀", '"a phrase" JINA_API_KEY'):
                for pipeline in PIPELINES:
                    answer = base.search(text, k=10**6, pipeline=pipeline, budget=10)
                    assert len(answer) == 0
                    assert "nothing found" in answer.status.word
            assert list(base.chunks()) == []
            assert list(base.export()) == []
            with pytest.raises(StoreError, match="no chunk of v"):
                base.explain("x", "abc")
            base.optimize(force=True)


def test_emptied_again(tmp_path: Path) -> None:
    with assay.open(tmp_path, embedder="none") as base:
        base.add(RECORDS)
        base.optimize()
        base.remove("records")
        for _ in range(2):
            assert len(base.search("signing key")) == 0
            assert base.snapshot().size == 0
            base.optimize(force=True)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"k": 0}, ConfigError, "below 1"),
        ({"k": -7}, ConfigError, "below 1"),
        ({"budget": 0}, ConfigError, "budget|tokens"),
        ({"budget": -1}, ConfigError, "budget|tokens"),
        ({"where": ""}, QueryError, "empty"),
        ({"where": "   "}, QueryError, "empty"),
        ({"where": "lang"}, QueryError, "expected"),
        ({"where": "lang = en"}, QueryError, "quotes"),
        ({"where": 'lang = "en" and'}, QueryError, "expected"),
        ({"where": "lagn = 1"}, QueryError, "no chunk of this store has a field"),
        ({"where": "lang = 1"}, QueryError, "cannot be compared"),
        ({"where": "n ~ 1"}, QueryError, "does not go with"),
        ({"where": "flag < true"}, QueryError, "does not go with"),
        ({"where": 'created = "2024-01-01"'}, QueryError, "cannot be compared"),
        ({"where": "created > 2024-13-01"}, QueryError, "not a date"),
        ({"where": "(" * 500 + "n = 1" + ")" * 500}, QueryError, "100 deep"),
        ({"where": "n = 1\0"}, QueryError, "read"),
        ({"where": "n = 1 \ud800"}, QueryError, "read"),
        ({"at": "yesterday"}, QueryError, "not a date"),
        ({"at": ""}, QueryError, "not a date"),
        ({"pipeline": "defualt"}, ConfigError, "defualt"),
        ({"pipeline": ""}, ConfigError, "pipeline|preset"),
        ({"pipeline": "\0"}, ConfigError, "pipeline|preset"),
        ({"pipeline": "/nowhere/x.toml"}, ConfigError, "nowhere"),
        ({"snapshot": "v99"}, StoreError, "no snapshot"),
        ({"snapshot": "nobody"}, StoreError, "no snapshot"),
        ({"vector": np.ones((2, 2))}, QueryError, "vector"),
        ({"vector": np.zeros(4)}, QueryError, "vector"),
        ({"vector": np.array([np.nan])}, QueryError, "vector"),
    ],
    ids=lambda given: repr(given)[:40] if isinstance(given, dict) else "",
)
def test_bad_questions(base: KnowledgeBase, options: dict[str, Any], kind: type[AssayError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        base.search("signing key", **options)
    assert caught.value.cure


def test_more_than_there_is(base: KnowledgeBase) -> None:
    answer = base.search("the key gateway word ship", k=10**9)
    assert 4 <= len(answer) <= base.snapshot().size


def test_a_budget_of_one(base: KnowledgeBase) -> None:
    answer = base.search("signing key", budget=1)
    assert len(answer) > 0
    assert answer.context is not None
    assert (answer.context.text, answer.context.tokens) == ("", 0)
    assert any("nothing fits into 1 tokens" in note.text for span in answer.trace for note in span.notes)


def test_a_budget_adds_a_context_and_changes_no_hit(base: KnowledgeBase) -> None:
    text = "the key gateway word ship"
    plain, answer = base.search(text, k=3), base.search(text, k=3, budget=20)
    assert plain.context is None
    assert answer.chosen.ids.tolist() == plain.chosen.ids.tolist()
    assert answer.context is not None
    assert 0 < answer.context.tokens <= 20
    ranks = {hit.id: hit.rank for hit in answer}
    assert any(ranks.get(source.chunk_id) == source.citation for source in answer.context.sources)
    assert answer.trace[-1].kind == "pack"
    assert answer.to_json()["context"] == answer.context.to_json()
    assert answer.digests["context"] == answer.context.digest
    assert "context" not in plain.digests
    assert "context" not in plain.to_json()
    first = answer.context.sources[0].chunk_id
    (step,) = [step for step in base.explain(text, first, budget=20).steps if step.step == "context"]
    assert step.lines
    left_out = next(
        one for one in answer.context.dropped if one.chunk_id not in {s.chunk_id for s in answer.context.sources}
    )
    (step,) = [step for step in base.explain(text, left_out.chunk_id, budget=20).steps if step.step == "context"]
    assert step.why == f"not in the context: {left_out.why}"


def test_explaining_anything(base: KnowledgeBase) -> None:
    ids = [chunk.id for chunk in base.chunks()]
    for text in HOSTILE[:24]:
        for name in random.Random(1).sample(ids, 3):
            told = base.explain(text, name, pipeline="bm25")
            assert told.chunk is not None
            assert told.rank is not None or told.reasons
    for bad in ("", "\ud800", "zzzz", "\0", "%"):
        with pytest.raises(StoreError) as caught:
            base.explain("signing key", bad)
        assert caught.value.cure


def test_a_beginning_that_many_share(base: KnowledgeBase) -> None:
    assert base.snapshot().size > 20
    with pytest.raises(StoreError, match=r"^20 or more chunks begin with ''"):
        base.explain("signing key", "")


def test_removing_what_is_not_there(base: KnowledgeBase) -> None:
    before = base.store.version()
    for target in ("", "zzzz", "\ud800", "%", "records/", "\0"):
        with pytest.raises(StoreError) as caught:
            base.remove(target)
        assert caught.value.cure
    assert base.store.version() == before
