"""Moving to another model: old vectors serve until the last new one is there, and a killed move goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from corpus import mark_of, write
from counting import Hashing

import assay
from assay import embed
from assay.cli.main import cli
from assay.errors import ModelError, StoreError
from assay.types import Vector, Vectors
from assay.upkeep import reembed
from assay.upkeep.doctor import examine


class Watched(Hashing):
    """Calls somebody before it embeds, who may look around or pull the plug."""

    before: Callable[[int], None] = staticmethod(lambda _: None)

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.before(len(self.texts))
        return super().encode(texts)


class Killed(BaseException):
    """Nobody catches it."""


@pytest.fixture
def place(vector_store: str) -> str:
    return vector_store


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> dict[str, Watched]:
    known = {"small": Watched(16), "large": Watched(24), "other": Watched(8)}
    monkeypatch.setattr(embed, "load", lambda spec: None if spec == "none" else known[spec])
    monkeypatch.setattr(reembed, "BATCH", 4)
    return known


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write(tmp_path / "docs", range(4))


def test_the_cure_for_another_model_is_one_that_works(place: str, models: dict[str, Watched], docs: Path) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)
    with pytest.raises(StoreError) as caught:
        assay.open(place, embedder="large")
    assert caught.value.cure == "leave embedder out, or move it: assay reembed --embedder large"
    with pytest.raises(StoreError) as caught:  # vectors cannot be moved to nothing
        assay.open(place, embedder="none")
    assert caught.value.cure == "leave embedder out, or make a new store with it"


def check_nearest(place: str, model: Hashing, text: str) -> None:
    """Every live chunk has the vector that this model gives it, and the nearest are found by it."""
    with assay.open(place) as base:
        view = base.snapshot()
        rows = view.live_rows(None)
        made = model.encode([chunk.indexed_text for chunk in view.chunks(rows)])
        np.testing.assert_array_equal(view.vectors(rows), made)
        answer = base.search(text, k=3, pipeline="dense")
        assert not answer.status.degraded
        scores = np.sort(made.astype(np.float64) @ model.encode_query(text).astype(np.float64))[::-1]
        np.testing.assert_allclose(answer.chosen.score, scores[:3], rtol=1e-6)


def test_old_vectors_serve_until_the_new_ones_are_there(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)
        chunks = base.snapshot().size
    answers = []

    def look(done: int) -> None:
        with assay.open(place) as other:
            answer = other.search("gateway invoice", k=3)
            assert not answer.status.degraded
            assert other.spec == "small"
            answers.append([hit.id for hit in answer.hits])
            if done == 4:  # somebody adds while we embed
                other.add([{"id": "late", "text": "a late gateway"}])

    models["large"].before = look
    with assay.open(place) as base:
        assert base.embed_missing("large") == chunks + 1
        assert (base.spec, base.store.settings["dim"]) == ("large", 24)
        assert base.store.setting("staged") is None
    models["large"].before = lambda _: None
    assert len(answers) > 3
    check_nearest(place, models["large"], "gateway invoice")


def test_a_killed_move_goes_on_where_it_stopped(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)
        chunks = base.snapshot().size

    def pull(done: int) -> None:
        if done >= 8:
            raise Killed

    models["large"].before = pull
    with assay.open(place) as base, pytest.raises(Killed):
        base.embed_missing("large")
    models["large"].before = lambda _: None
    models["large"].texts.clear()
    check_nearest(place, models["small"], "gateway invoice")
    (check,) = [check for check in examine(place) if check.name == "vectors"]
    assert (check.state, "a move to large has begun" in check.text) == ("warn", True)
    assert check.cure == "go on with it: assay reembed"
    with assay.open(place) as base:
        assert base.embed_missing() == chunks - 8  # "auto" goes on with what was begun
    assert len(models["large"].texts) == chunks - 8
    check_nearest(place, models["large"], "gateway invoice")


def test_a_move_to_yet_another_model_begins_anew(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)
        chunks = base.snapshot().size

    def pull(done: int) -> None:
        if done >= 8:
            raise Killed

    models["large"].before = pull
    with assay.open(place) as base, pytest.raises(Killed):
        base.embed_missing("large")
    with assay.open(place) as base:
        assert base.embed_missing("other") == chunks
    check_nearest(place, models["other"], "gateway invoice")


def test_from_words_only(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="none") as base:
        base.add(docs)
        assert base.search("gateway").status.degraded
        base.embed_missing("small")
        assert not base.search("gateway").status.degraded
    check_nearest(place, models["small"], "gateway invoice")


def test_rows_that_came_meanwhile_hold_the_change_back(place: str, docs: Path, models: dict[str, Watched]) -> None:
    small, large = models["small"], models["large"]
    with assay.open(place, embedder="small") as base:
        base.add(docs)
        store = base.store
        store.stage("large", large.digest, large.dim)
        rows = store.rows(store.rows_without_staged_vector(0, 1_000))
        store.put_staged(large.digest, [(row.seq, large.encode_query(row.chunk.indexed_text)) for row in rows])
        base.add([{"id": "late", "text": "came meanwhile"}])
        assert not store.adopt(large.digest, "moved")
        assert store.setting("model") == small.digest
        (late,) = store.rows(store.rows_without_staged_vector(0, 1_000))
        assert late.chunk.text == "came meanwhile"
        store.put_staged(large.digest, [(late.seq, large.encode_query(late.chunk.indexed_text))])
        assert store.adopt(large.digest, "moved")
    check_nearest(place, large, "gateway invoice")


def test_old_versions_are_searched_by_the_new_meaning(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)
        before = base.store.version()
        write(docs, [0], revision=1)
        base.add(docs)
        base.embed_missing("large")
        answer = base.search(mark_of(0), snapshot=f"v{before}", pipeline="dense", k=50)
        assert answer.hits[0].chunk.doc_id == "docs/00000.md"
        rows = base.snapshot(f"v{before}").live_rows(None)
        assert base.snapshot(f"v{before}").vectors(rows).any(axis=1).all()


def test_two_moves_at_once_never_mix_their_vectors(place: str, docs: Path, models: dict[str, Watched]) -> None:
    """Both models have vectors of one length: nothing but their names could tell them apart."""
    models["rival"] = Rival(24)
    with assay.open(place, embedder="small") as base:
        base.add(docs)

    def begin_another(done: int) -> None:
        if done == 4:
            models["rival"].before = pull_the_plug
            with assay.open(place) as other, pytest.raises(Killed):
                other.embed_missing("rival")

    models["large"].before = begin_another
    with assay.open(place) as base, pytest.raises(StoreError, match="to another model meanwhile to rival") as told:
        base.embed_missing("large")
    assert "assay reembed" in told.value.cure
    check_nearest(place, models["small"], "gateway invoice")
    models["rival"].before = lambda _: None
    with assay.open(place) as base:
        base.embed_missing()
        assert base.spec == "rival"
    check_nearest(place, models["rival"], "gateway invoice")


class Rival(Watched):
    """Another model with vectors of the same length."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.digest = f"rival-{dim}"

    def _vector(self, text: str) -> Vector:
        return np.roll(super()._vector(text), 1)


def pull_the_plug(done: int) -> None:
    if done >= 4:
        raise Killed


def test_the_same_move_twice_at_once_is_one_move(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)

    def also(done: int) -> None:
        if done == 4:
            models["large"].before = lambda _: None
            with assay.open(place) as other:
                other.embed_missing("large")

    models["large"].before = also
    with assay.open(place) as base:
        base.embed_missing("large")
        assert base.spec == "large"
    check_nearest(place, models["large"], "gateway invoice")


@pytest.mark.parametrize("when", [0, 4])
def test_purged_chunks_leave_no_vector_behind(place: str, docs: Path, models: dict[str, Watched], when: int) -> None:
    """A move is under way when a document is erased: its new vectors go with it, those just being made too."""
    with assay.open(place, embedder="small") as base:
        base.add(docs)

        def purge(done: int) -> None:
            if done == when:
                base.remove("docs/00000.md")
                base.backend.erase(["docs/00000.md"], "purged")

        models["large"].before = purge
        with assay.open(place) as mover:
            mover.embed_missing("large")
    check_nearest(place, models["large"], "gateway invoice")
    with assay.open(place) as base:
        kept = {row.seq for row in (state.row for state in base.store.states(""))}
        assert not base.store.rows_without_vector()
        assert {seq for _, seq in base.store.live_at(base.store.version())} == kept
        gone = [seq for seq in range(max(kept)) if seq not in kept]
        assert gone
        assert not base.store.vectors(gone, base.store.settings["dim"]).any()


def test_who_has_it_open_must_open_it_again(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="small") as base, assay.open(place) as early:
        base.add(docs)
        early.search("gateway")
        base.embed_missing("large")
        for call in (lambda: early.search("gateway"), lambda: early.add([{"id": "x", "text": "y"}])):
            with pytest.raises(StoreError, match="another model") as told:
                call()
            assert told.value.cure == "open it again"


def test_the_command(place: str, docs: Path, models: dict[str, Watched], monkeypatch: pytest.MonkeyPatch) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)
        chunks = base.snapshot().size
    done = CliRunner().invoke(cli, ["reembed", "--embedder", "large", "--store", place])
    assert (done.exit_code, done.output.strip().splitlines()[-1]) == (0, f"embedded {chunks} chunks with large")
    again = CliRunner().invoke(cli, ["reembed", "--store", place])
    assert again.output.strip().splitlines()[-1] == "embedded 0 chunks with large"


def test_a_changed_model_is_told_with_the_cure(place: str, docs: Path, models: dict[str, Watched]) -> None:
    with assay.open(place, embedder="small") as base:
        base.add(docs)
    models["small"] = models["large"]  # the same name, other weights
    with assay.open(place) as base, pytest.raises(ModelError, match="were made with small") as told:
        base.add([{"id": "x", "text": "y"}])
    assert "assay reembed" in told.value.cure
    (check,) = [check for check in examine(place) if check.name == "model"]
    assert (check.state, "assay reembed" in check.cure) == ("fail", True)
    with assay.open(place) as base:
        base.embed_missing()
    check_nearest(place, models["large"], "gateway invoice")
