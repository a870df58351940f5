"""A store is copied to every backend and back: the same chunks, files, vectors and answers; stopped, it goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from corpus import mark_of, write
from counting import Hashing

import assay
from assay import embed
from assay.backend.addresses import open_backend
from assay.cli.main import cli
from assay.errors import StoreError
from assay.kb import KnowledgeBase
from assay.types import Chunk
from assay.upkeep import copy_store as copied
from assay.upkeep.doctor import examine


class Killed(BaseException):
    """Nobody catches it."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Hashing:
    made = Hashing(16)
    monkeypatch.setattr(embed, "load", lambda spec: None if spec == "none" else made)
    monkeypatch.setattr(copied, "BATCH", 4)
    return made


@pytest.fixture
def first(tmp_path: Path, model: Hashing) -> Path:
    """Files, an empty one among them, records, chunks that belong to no file, one without a vector, one that died."""
    docs = write(tmp_path / "docs", range(3))
    (docs / "empty.md").write_text("", "utf-8")
    with assay.open(tmp_path / "first", embedder="hashing") as base:
        base.add(docs)
        base.add([{"id": "r1", "text": "a record of the vault", "scope": "team", "created": "2024-05-01"}])
        base.backend.put([(Chunk("bare", "d", "no vector here", 3), None)])
        base.backend.put([(Chunk("gone", "d", "soon dead", 2), model.encode_query("soon dead"))])
        base.remove("gone")
    return tmp_path / "first"


def said(base: KnowledgeBase) -> tuple[list[str], dict, dict]:
    """All that a copy must keep, but for vectors."""
    return list(base.export()), base.store.files(), base.store.folders()


def vectors(base: KnowledgeBase) -> np.ndarray:
    view = base.snapshot()
    return view.vectors(view.live_rows(None))


def asked(base: KnowledgeBase, pipeline: str) -> list[tuple[str, float]]:
    found = [base.search(text, pipeline=pipeline) for text in (mark_of(1), "vault of lisbon", "no vector")]
    return [(hit.id, hit.score) for answer in found for hit in answer]


def test_to_every_backend_and_back(first: Path, any_store: str, tmp_path: Path, model: Hashing) -> None:
    model.texts.clear()
    with assay.open(first) as base:
        there = copied.copy_store(base.store, any_store)
        back = copied.copy_store(there.store, tmp_path / "back")
        there.close()
        back.close()
        assert model.texts == []  # nothing was embedded anew
        with assay.open(any_store) as there, assay.open(tmp_path / "back") as back:
            for one in (there, back):
                assert said(one) == said(base)
                assert one.store.count_chunks().dead == 0
                assert one.add(tmp_path / "docs").unchanged == 4
            meaning = not there.backend.no_vectors
            assert [bool(one.store.settings["dim"]) for one in (there, back)] == [meaning, meaning]
            if meaning:
                for one in (there, back):
                    np.testing.assert_array_equal(vectors(one), vectors(base))
                    assert len(one.store.rows_without_vector()) == 1
            for pipeline in ("bm25", "rrf") if meaning else ("bm25",):
                assert asked(back, pipeline) == asked(base, pipeline)


def test_stopped_it_goes_on_and_follows_what_changed(first: Path, any_store: str) -> None:
    calls = []

    def pull(what: str, done: int, total: int) -> None:
        calls.append((what, total))
        if len(calls) == 3:
            raise Killed

    with assay.open(first) as base:
        with pytest.raises(Killed):
            copied.copy_store(base.store, any_store, pull)
        (check,) = [check for check in examine(any_store) if check.name == "database"]
        assert (check.state, "not whole yet" in check.text, "assay copy" in check.cure) == ("fail", True, True)
        base.remove("docs/00000.md")  # it was in the copy already
        base.backend.remove(["bare"])
        copied.copy_store(base.store, any_store).close()
        with assay.open(any_store) as there:
            assert said(there) == said(base)
            assert there.store.setting("copying") is None
    assert all(check.name != "database" or check.state == "ok" for check in examine(any_store))


def test_a_store_that_is_there_is_left_alone(first: Path, any_store: str) -> None:
    with assay.open(any_store, embedder="none") as other:
        other.add([{"id": "x", "text": "mine"}])
        before = said(other)
    with assay.open(first) as base:
        with pytest.raises(StoreError, match="already is a store") as told:
            copied.copy_store(base.store, any_store)
        assert told.value.cure == "copy to a new place"
        with pytest.raises(StoreError, match="already is a store"):
            copied.copy_store(base.store, first)
    with assay.open(any_store) as other:
        assert said(other) == before


def test_a_copy_of_one_store_does_not_go_on_with_another(first: Path, tmp_path: Path) -> None:
    def pull(*_: object) -> None:
        raise Killed

    with assay.open(first) as base, pytest.raises(Killed):
        copied.copy_store(base.store, tmp_path / "there", pull)
    with assay.open(tmp_path / "second", embedder="none") as other:
        other.add([{"id": "x", "text": "mine"}])
        with pytest.raises(StoreError, match=r"copy of .*first that is not whole yet"):
            copied.copy_store(other.store, tmp_path / "there")


def test_the_command(first: Path, any_store: str) -> None:
    done = CliRunner().invoke(cli, ["copy", any_store, "--store", str(first)])
    words = "; words only: it cannot hold the vectors" if any_store.endswith(".sqlite") else ""
    assert (done.exit_code, done.output.strip().splitlines()[-1]) == (
        0,
        f"{any_store} holds 11 chunks, indexed{words}",
    )
    open_backend(any_store).close()
    again = CliRunner().invoke(cli, ["copy", any_store, "--store", str(first)])
    assert again.exit_code == 3
    assert CliRunner().invoke(cli, ["copy", "sqlit:x", "--store", str(first)]).exit_code == 2
