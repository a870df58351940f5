"""The one-file backend against brute force, and against the embedded one."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.backend.local.backend import LocalBackend
from assay.backend.sqlite.backend import FACTORY, OneFileBackend
from assay.errors import QueryError, StoreError
from assay.store.sqlite import SqliteStore
from assay.testing.backends import check_backend
from assay.text.analyser import Analyser
from assay.types import Chunk, Query
from assay.where import COMPARISONS, And, Compare, Filter, Missing, Not, Or, compare_values, parse

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}


def backend(path: Path) -> OneFileBackend:
    return FACTORY.open(str(path)) if FACTORY.exists(str(path)) else FACTORY.create(str(path), SETTINGS)


def chunk(name: str, text: str, **meta: object) -> Chunk:
    return Chunk(name, "d", text, len(text.split()), meta=meta)


@pytest.mark.parametrize("seed", range(4))
def test_contract(tmp_path: Path, seed: int) -> None:
    check_backend(lambda: backend(tmp_path / "notes.sqlite"), seed)


def test_scores_equal_the_embedded_ones_to_the_last_bit(tmp_path: Path) -> None:
    texts = Path(__file__).parents[2].joinpath("ARCHITECTURE.md").read_text("utf-8").split("\n\n")
    chunks = [(chunk(f"c{i:03d}", text), None) for i, text in enumerate(texts)]
    local = LocalBackend(SqliteStore.create(tmp_path / "kb", SETTINGS), Analyser())
    one = backend(tmp_path / "notes.sqlite")
    for each in (local, one):
        each.put(chunks)
        each.remove(["c001"])
    local.compact()
    for text in ("rows of the index", "what is a score", "generation AND tail", "vectors", "the"):
        mine, theirs = one.snapshot().lexical(Query(text), 200), local.snapshot().lexical(Query(text), 200)
        assert one.snapshot().ids(mine.rows).tolist() == local.snapshot().ids(theirs.rows).tolist()
        assert mine.ideal == theirs.ideal
        for part, same in zip(mine.parts, theirs.parts, strict=True):
            assert part.name == same.name
            assert part.column.tolist() == same.column.tolist()
    one.close()
    local.close()


def test_all_terms_first_then_any_and_the_answer_says_which(tmp_path: Path) -> None:
    both = [(chunk(f"both{i}", f"signing key {'filler ' * i}"), None) for i in range(3)]
    one = [(chunk("one", "key key key key"), None)]
    store = backend(tmp_path / "notes.sqlite")
    store.put([*both, *one])
    view = store.snapshot()
    few = view.lexical(Query("signing key"), 3)
    assert view.ids(few.rows).tolist() == ["both0", "both1", "both2"]  # "one" would stand higher among any
    assert [note.text for note in few.notes] == ["all 2 terms stand in 3 chunks"]
    more = view.lexical(Query("signing key"), 4)
    assert set(view.ids(more.rows).tolist()) == {"both0", "both1", "both2", "one"}
    assert "too few, so those with any of them were ranked" in more.notes[0].text
    hidden = view.lexical(Query("signing key", where=parse('id != "both1"')), 3)  # a filter counts before, not after
    assert "too few" in hidden.notes[0].text
    assert view.lexical(Query("key"), 1).notes == ()
    store.close()


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec=None), max_size=40), st.text(st.characters(codec=None), max_size=12))
def test_any_text_is_a_legal_query_and_filter_value(query: str, value: str) -> None:
    view = STORE.snapshot()
    found = view.lexical(Query(query), 5)
    assert len(found.rows) <= 5
    view.exact(Query(query), 5)
    for op in ("=", "!=", "<", ">=", "~"):
        kept = view.live_rows(Compare("lang", op, value))
        expected = [c for c in CHUNKS if compare_values(c.meta.get("lang"), op, value)]
        assert view.ids(kept).tolist() == [c.id for c in expected]
    asked = np.array([query or "x"])
    known = asked[0] in {c.id for c in CHUNKS}  # a short text may happen to be an id, and numpy drops NUL at its end
    assert (view.rows(asked)[0] >= 0) == known
    assert view.ids_with_prefix(query + "x") == []


CHUNKS = [chunk("a", 'C++ "quoted" NEAR(x, 3) col:val* ^-', lang="en"), chunk("b", "naïve Straße 東京", lang="ß~")]
_FOLDER = TemporaryDirectory()
STORE = backend(Path(_FOLDER.name) / "notes.sqlite")
STORE.put([(c, None) for c in CHUNKS])


@pytest.mark.parametrize(
    "query", ['"', "'", '" OR 1', "a AND", "NOT", "x*", "col:a", "(", "\0", "\ud800", "^a", "a NEAR b", "-- ;"]
)
def test_marks_and_operators_are_words_or_nothing(tmp_path: Path, query: str) -> None:
    with assay.open(tmp_path / "notes.sqlite") as kb:
        kb.add(["a quoted word near another", "col a b x"])
        kb.search(query)
        kb.search(f"{query} word {query}")


FIELDS = ("n", "s", 'od"d', "$.x", "a.b")
values = st.one_of(
    st.text("abé'\"%_", max_size=3), st.integers(-3, 3), st.floats(-2, 2), st.booleans(), st.just(2**53 + 1)
)
metas = st.dictionaries(
    st.sampled_from((*FIELDS, "created")),
    st.one_of(values, st.lists(values, max_size=3), st.none(), st.just({"deep": 1})),
    max_size=4,
)
tests = st.one_of(
    st.builds(Compare, st.sampled_from(FIELDS), st.sampled_from(COMPARISONS), values),
    st.builds(Missing, st.sampled_from((*FIELDS, "created", "doc_id"))),
    st.builds(
        Compare, st.sampled_from(("tokens", "chars", "importance")), st.sampled_from(("=", "<", ">=")), st.floats(0, 5)
    ),
)
filters: st.SearchStrategy[Filter] = st.recursive(
    tests,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=5,
)


@settings(max_examples=25, deadline=None)  # making two stores is what takes long, so each is asked much
@given(st.lists(metas, min_size=1, max_size=8), st.lists(filters, min_size=6, max_size=18))
def test_filters_mean_the_same_in_sql_as_in_columns(found: list[dict[str, object]], asked: list[Filter]) -> None:
    chunks = [(Chunk(f"c{i}", "d", "x" * i, i, meta=meta), None) for i, meta in enumerate(found)]
    with TemporaryDirectory() as folder:
        one = backend(Path(folder) / "notes.sqlite")
        local = LocalBackend(SqliteStore.create(Path(folder) / "kb", SETTINGS), Analyser())
        for each in (one, local):
            each.put(chunks)
        for where in asked:
            assert _kept(one, where) == _kept(local, where), where
        one.close()
        local.close()


def _kept(of: OneFileBackend | LocalBackend, where: Filter) -> list[str] | str:
    view = of.snapshot()
    try:
        return view.ids(view.live_rows(where)).tolist()
    except QueryError as error:
        return error.message


def test_snapshots_stay_as_they_were(tmp_path: Path) -> None:
    store = backend(tmp_path / "notes.sqlite")
    first = store.put([(chunk("a", "signing key"), None), (chunk("b", "office key"), None)])
    before = store.snapshot()
    digest = before.digest
    store.put([(chunk("a", "signing of nothing"), None), (chunk("c", "key of c"), None)])
    store.remove(["b"])
    for view in (before, store.snapshot(first)):
        assert view.ids(view.lexical(Query("key"), 9).rows).tolist() == ["a", "b"]
        assert [c.text for c in view.chunks(view.rows(np.array(["a", "b"])))] == ["signing key", "office key"]
        assert view.digest == digest
        assert view.ids_with_prefix("") == ["a", "b"]
    assert store.snapshot().ids_with_prefix("") == ["a", "c"]
    assert store.snapshot().digest != digest
    with pytest.raises(StoreError, match="no version 99"):
        store.snapshot(99)
    store.close()


def test_rows_that_another_process_erased_stay_gone(tmp_path: Path) -> None:
    store, other = backend(tmp_path / "notes.sqlite"), backend(tmp_path / "notes.sqlite")
    store.put([(chunk("a", "signing key"), None), (chunk("b", "office key"), None)])
    assert other.snapshot().size == 2
    store.remove(["a"])
    assert other.snapshot().size == 1
    assert store.forget(store.store.version()) == 1
    store.put([(chunk("c", "third key"), None)])
    view = other.snapshot()
    assert view.size == 2
    assert sorted(view.ids(view.lexical(Query("key"), 9).rows).tolist()) == ["b", "c"]
    store.close()
    other.close()


def test_remembered_lists_are_bounded_and_change_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["amber", "birch", "cedar", "daisy", "elder", "fern", "grape", "hazel", "iris", "juniper", "kelp", "lotus"]
    store = backend(tmp_path / "notes.sqlite")
    store.put([(chunk(f"c{i}", " ".join(words[i:])), None) for i in range(4)])
    view = store.snapshot()
    first = {word: view.lexical(Query(word), 9).rows.tolist() for word in words}
    assert len(view._known.postings) == 12
    monkeypatch.setattr("assay.backend.sqlite.backend._MOST_POSTINGS", 6)
    again = backend(tmp_path / "notes.sqlite")
    bounded = again.snapshot()
    for _ in range(2):
        assert {word: bounded.lexical(Query(word), 9).rows.tolist() for word in words} == first
        assert sum(len(rows) for rows, _ in bounded._known.postings.values()) <= 6 + 4
    store.close()
    again.close()


def test_the_same_rows_in_another_order_have_the_same_digest(tmp_path: Path) -> None:
    one, other = backend(tmp_path / "a.sqlite"), backend(tmp_path / "b.sqlite")
    one.put([(chunk("a", "x"), None), (chunk("b", "y"), None)])
    other.put([(chunk("b", "y"), None), (chunk("c", "z"), None)])
    other.put([(chunk("a", "x"), None)])
    other.remove(["c"])
    assert one.snapshot().digest == other.snapshot().digest
    one.close()
    other.close()


def test_dense_is_refused_with_the_cure(tmp_path: Path) -> None:
    with assay.open(tmp_path / "notes.sqlite") as kb:
        kb.add(["a quoted word"])
        answer = kb.search("word")
        assert any("dense skipped: a one-file store" in line for line in answer.status.degraded)
        with pytest.raises(StoreError, match="cannot hold vectors") as told:
            kb.embed_missing()
        assert "folder" in told.value.cure
        with pytest.raises(StoreError, match="vectors of length 0"):
            kb.backend.put([(chunk("a", "x"), np.ones(8, np.float32))])
    with pytest.raises(assay.errors.ConfigError, match="cannot hold vectors of minilm"):
        assay.open(tmp_path / "more.sqlite", embedder="minilm")
    assert not (tmp_path / "more.sqlite").exists()


def test_a_file_that_may_not_be_read_is_an_error_with_a_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.sqlite"
    path.write_bytes(b"SQLite format 3\0")
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root, whom no permission stops
    with pytest.raises(StoreError, match=r"notes\.sqlite cannot be read: Permission denied") as caught:
        FACTORY.open(str(path))
    assert "permissions" in caught.value.cure
