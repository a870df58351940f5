"""Old versions, tags and `at`: an old question to an old state gets the old answer, before and after compaction."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.engine.answer import Answer
from assay.errors import StoreError
from assay.kb import KnowledgeBase
from assay.types import DAY, Chunk

QUESTIONS = ("gateway", "note seven", '"signing key" CVE-2024-1234', "")


def ask(base: KnowledgeBase, snapshot: str | None = None) -> list[Answer]:
    return [base.search(text, k=1_000, snapshot=snapshot, pipeline="bm25") for text in QUESTIONS]


def said(answers: list[Answer]) -> list[list[tuple[str, float]]]:
    return [list(zip(a.chosen.ids.tolist(), a.chosen.score.tolist(), strict=True)) for a in answers]


WORDS = ("gateway", "note", "seven", "signing", "key", "CVE-2024-1234", "memo", "error", "retry")


def walk(
    base: KnowledgeBase, alive: dict[str, str], rng: random.Random
) -> dict[int, tuple[list[Answer], dict[str, str]]]:
    """Random writes; version → its answers and its chunks (id → text)."""
    history = {}
    for _ in range(4):
        for number in rng.sample(range(30), 4):
            name, text = f"c{number:02d}", " ".join(rng.choices(WORDS, k=6))
            base.backend.put([(Chunk(name, f"d{number}", text, 6), None)])
            alive[name] = text
        gone = rng.choice(sorted(alive))
        base.backend.remove([gone])
        del alive[gone]
        history[base.store.version()] = (ask(base), dict(alive))
    return history


@pytest.mark.parametrize("seed", range(3))
def test_every_old_version_answers_as_it_did(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with assay.open(tmp_path / "kb", embedder="none") as base:
        alive: dict[str, str] = {}
        history = walk(base, alive, rng)
        base.optimize()
        compacted = base.store.version()
        history |= walk(base, alive, rng)
        for version, (then, held) in history.items():
            now = ask(base, f"v{version}")
            assert said(now) == said(then), f"v{version} answers otherwise"
            if version > compacted:  # the generation is the same, so everything is
                assert [a.digest for a in now] == [a.digest for a in then]
            view = base.snapshot(f"v{version}")
            chunks = {chunk.id: chunk.text for chunk in view.chunks(view.live_rows(None))}
            assert chunks == held
            assert view.size == len(held)
        base.optimize()
    with assay.open(tmp_path / "kb") as base:
        for version, (then, held) in history.items():
            assert said(ask(base, str(version))) == said(then)
            assert base.snapshot(f"v{version}").size == len(held)
        assert len([p for p in (tmp_path / "kb" / "snapshots").iterdir() if p.is_dir()]) <= 2


@pytest.mark.parametrize("look", ["version", "state"])
def test_a_version_is_that_version_while_another_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    """Another process commits just when we have looked which version is the newest."""
    with assay.open(tmp_path / "kb", embedder="none") as base, assay.open(tmp_path / "kb") as other:
        base.backend.put([(Chunk("a", "d", "gateway one", 2), None)])
        looked = getattr(base.store, look)

        def and_then() -> object:
            found = looked()
            monkeypatch.undo()
            other.backend.put([(Chunk("a", "d", "gateway two", 2), None)])
            return found

        monkeypatch.setattr(base.store, look, and_then)
        assert base.backend.snapshot(1).version == 1
        assert [hit.text for hit in base.search("gateway", snapshot="v1")] == ["gateway one"]
        assert [hit.text for hit in base.search("gateway", snapshot="v2")] == ["gateway two"]


def test_tags(tmp_path: Path) -> None:
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.backend.put([(Chunk("a", "d", "gateway one", 2), None)])
        assert base.tag("before the move") == 1
        base.backend.put([(Chunk("a", "d", "gateway two", 2), None)])
        base.tag("after")
        for _ in range(2):
            assert base.search("gateway", snapshot="before the move")[0].text == "gateway one"
            assert base.search("gateway", snapshot="after")[0].text == "gateway two"
            assert base.search("gateway")[0].text == "gateway two"
            base.optimize(force=True)
        with pytest.raises(StoreError, match="no snapshot 'nobody'"):
            base.search("gateway", snapshot="nobody")
        for bad in ("", "v1", "12", "a\nb", "\0", "  ", "\ud800"):
            with pytest.raises(StoreError, match="cannot be a tag"):
                base.tag(bad)


def test_a_deleted_chunk_never_comes_back(tmp_path: Path) -> None:
    """Law 10: in no leg, filter or listing, whether by tombstone, by a new index, or by one built for that version."""
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add(
            [{"id": "keep", "text": "gateway CVE-2024-1111"}, {"id": "gone", "text": "gateway CVE-2024-9999 secret"}]
        )
        base.optimize()
        base.add([{"id": "tail", "text": "gateway CVE-2024-7777 secret"}])
        alive = base.store.version()
        ids = {chunk.doc_id: chunk.id for chunk in base.chunks()}
        base.remove("gone")
        base.remove("tail")
        deleted = base.store.version()
        base.add([{"id": "later", "text": "gateway later"}])

        def check(snapshot: str | None) -> None:
            view = base.snapshot(snapshot)
            assert (view.rows(np.array([ids["gone"], ids["tail"]])) == -1).all()
            for text in ("secret", "CVE-2024-9999", '"CVE-2024-7777"', "gateway"):
                found = {hit.chunk.doc_id for hit in base.search(text, k=100, snapshot=snapshot)}
                assert found <= {"keep", "later"}
            assert not len(base.search("gateway", where=f'id = "{ids["gone"]}"', snapshot=snapshot))
            listed = {chunk.doc_id for chunk in view.chunks(view.live_rows(None))}
            assert listed <= {"keep", "later"}
            (here,), (nowhere,) = view.term_weights("secret").values(), view.term_weights("zzzz").values()
            assert here == nowhere, "a word that only the dead have is still counted"

        for _ in range(2):
            check(None)
            check(f"v{deleted}")
            assert {hit.chunk.doc_id for hit in base.search("secret", k=9, snapshot=f"v{alive}")} == {"gone", "tail"}
            base.optimize(force=True)
        base.add([{"id": "gone", "text": "it may be added again, as something new"}])
        assert base.search("something new")[0].chunk.doc_id == "gone"
        check(f"v{deleted}")


def test_forgotten_versions(tmp_path: Path) -> None:
    with assay.open(tmp_path / "kb", embedder="none") as base:
        for number in range(6):
            base.add([{"id": "same", "text": f"gateway revision {number}"}])
        base.tag("old")
        base.add([{"id": "same", "text": "gateway newest"}])
        assert base.search("gateway", snapshot="v2")[0].text == "gateway revision 1"
        assert base.forget_before("old") == 5
        for name in ("v0", "v1", "v5", "5"):
            with pytest.raises(StoreError, match="no version") as caught:
                base.search("gateway", snapshot=name)
            assert "v6 to v7" in caught.value.cure
        assert base.search("gateway", snapshot="old")[0].text == "gateway revision 5"
        assert base.search("gateway")[0].text == "gateway newest"
        assert b"revision 1" not in (tmp_path / "kb" / "assay.sqlite").read_bytes()
        base.optimize(force=True)
        assert base.search("gateway", snapshot="old")[0].text == "gateway revision 5"


def test_an_answer_whose_chunks_are_forgotten(tmp_path: Path) -> None:
    """Texts are read when they are asked for; if they are erased by then, that is said."""
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add([{"id": "a", "text": "gateway one"}])
        base.optimize()
        held = base.search("gateway")
        base.add([{"id": "a", "text": "gateway two"}])
        assert base.forget_before("v2") == 1
        with pytest.raises(StoreError, match="forgotten since") as caught:
            list(held)
        assert caught.value.cure
        assert [hit.text for hit in base.search("gateway")] == ["gateway two"]


def test_at_hides_what_came_later(tmp_path: Path) -> None:
    """`at` is a moment of the documents, not of the store; the undated stay; every leg obeys."""
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add(
            [
                {"id": "old", "text": "gateway CVE-2024-1111 old", "created": "2024-01-01"},
                {"id": "new", "text": "gateway CVE-2024-1111 new", "created": "2025-06-01T12:00:00Z"},
                {"id": "undated", "text": "gateway CVE-2024-1111 undated"},
            ]
        )

        def found(at: str | float | None, text: str = "gateway CVE-2024-1111") -> set[str]:
            return {hit.chunk.doc_id for hit in base.search(text, k=10, at=at)}

        for _ in range(2):  # from the tail, then from the index
            assert found(None) == {"old", "new", "undated"}
            assert found("2025-06-01") == {"old", "undated"}
            assert found("2025-06-01T12:00:00Z") == {"old", "new", "undated"}
            assert found("2025-06-01T11:59:59Z") == {"old", "undated"}
            assert found("1999-01-01") == {"undated"}
            assert found(0.0) == {"undated"}
            assert found(float("inf")) == found(1e12 / 1000 * DAY) == {"old", "new", "undated"}
            assert base.search("gateway", at="2024-06-01", where="created >= 2024-01-01").chosen.ids.size == 1
            base.optimize(force=True)


def test_changed_facts_keep_the_id(tmp_path: Path) -> None:
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add([{"id": "a", "text": "gateway", "status": "draft"}])
        before = base.search("gateway")[0]
        report = base.add([{"id": "a", "text": "gateway", "status": "final"}])
        after = base.search("gateway")[0]
        assert (report.changed, report.chunks_added, report.chunks_removed) == (1, 1, 1)
        assert after.id == before.id
        assert (before.chunk.meta["status"], after.chunk.meta["status"]) == ("draft", "final")
        assert len(base.search("gateway", where='status = "draft"', snapshot="v1")) == 1
        assert len(base.search("gateway", where='status = "final"')) == 1
        assert base.snapshot().size == 1


def test_filters_of_one_look_and_several_meanings(tmp_path: Path) -> None:
    """`n = 1` and `n = true` are equal as Python values and nothing alike as filters; masks are remembered by words."""
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add([{"id": "one", "text": "gateway", "n": 1}, {"id": "yes", "text": "gateway", "n": True}])
        for _ in range(2):
            for where, who in (("n = 1", "one"), ("n = true", "yes"), ("n = 1.0", "one"), ("n != false", "yes")):
                assert [hit.chunk.doc_id for hit in base.search("gateway", where=where)] == [who], where
            base.optimize(force=True)


@pytest.mark.parametrize("lang", [7, True, ["en", "de"], ["en", 3]])
def test_a_language_that_is_no_text(tmp_path: Path, lang: object) -> None:
    """Whatever stands under `lang` in the metadata, questions are answered."""
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.backend.put([(Chunk("a", "d", "gateway", 1, meta={"lang": lang}), None)])
        assert len(base.search("gateway")) == 1
        base.optimize()
        assert len(base.search("gateway")) == 1


def test_metadata_called_like_a_fact(tmp_path: Path) -> None:
    """A chunk's own id and facts win, in the tail and in the index alike."""
    odd = {"id": "other", "doc_id": "other", "created": 5, "tokens": 99, "chars": "many", "importance": "low"}
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.backend.put([(Chunk("a", "d", "gateway", 1, 3.0, 0.5, odd), None)])
        for _ in range(2):
            for where in ('id = "other"', 'doc_id = "other"', "created = 5", "tokens = 99"):
                assert not len(base.search("gateway", where=where)), where
            where = 'id = "a" and doc_id = "d" and created = 3 and tokens = 1 and chars = 7 and importance = 0.5'
            assert len(base.search("gateway", where=where)) == 1
            base.optimize()


def test_a_number_too_large_for_a_float(tmp_path: Path) -> None:
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.backend.put([(Chunk("a", "d", "gateway", 1, meta={"n": 10**400, "m": [-(10**400), 1]}), None)])
        for _ in range(2):
            assert len(base.search("gateway", where="n > 1e300 and m < 0")) == 1
            assert base.snapshot().numbers("n", np.array([0])).tolist() == [float("inf")]
            assert base.snapshot().numbers("m", np.array([0])).tolist() == [float("-inf")]
            base.optimize()
