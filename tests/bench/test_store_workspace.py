"""The lab on a store of the user's choice: the same results as from the cache, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.runner import RunPlan
from assay.bench.systems import load_systems
from assay.bench.workspace import IndexSettings, Workspace, prepare, prepare_store
from assay.errors import StoreError

TINY = load("tiny", "test")
SETTINGS = IndexSettings("none")
MINILM = IndexSettings("minilm")


def _results(workspace: Workspace, *names: str) -> dict[str, object]:
    outcome = lab.run(TINY, load_systems(list(names)), workspace, RunPlan(()).fit(TINY), timed=False)
    compared = ("queries", "rankings", "scores", "degraded")
    return {name: {key: r.canonical[key] for key in compared} for name, r in outcome.receipts.items()}


def test_a_cluster_gives_the_results_of_one_machine(indexed: str, tmp_path: Path) -> None:
    systems = ("bm25", "dense", "default", "learned")
    with prepare(TINY, MINILM, cache=tmp_path) as workspace:
        here = _results(workspace, *systems)
    with prepare_store(TINY, indexed, MINILM) as workspace:
        assert _results(workspace, *systems) == here
        notes = workspace.snapshot.lexical(workspace.query(next(iter(TINY.topics.values()))), 5).notes
        assert any(note.text.startswith("Qdrant") for note in notes)


def test_a_filled_store_is_opened_again(tmp_path: Path) -> None:
    place = str(tmp_path / "kb")
    with prepare_store(TINY, place, SETTINGS) as workspace:
        version = workspace.kb.store.version()
    steps: list[str] = []
    with prepare_store(TINY, place, SETTINGS, lambda what, *_: steps.append(what)) as workspace:
        assert workspace.kb.store.version() == version
    assert not steps


def test_an_interrupted_filling_goes_on(tmp_path: Path) -> None:
    place = str(tmp_path / "kb")

    def stop(what: str, done: int, _: int) -> None:
        if what == "adding documents" and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_store(TINY, place, SETTINGS, stop)
    with (
        prepare_store(TINY, place, SETTINGS) as workspace,
        prepare(TINY, SETTINGS, cache=tmp_path / "cache") as whole,
    ):
        assert workspace.snapshot.size == whole.snapshot.size


def test_other_stores_are_left_alone(tmp_path: Path) -> None:
    with assay.open(tmp_path / "mine", embedder="none") as kb:
        kb.add([{"text": "my own notes"}])
    with pytest.raises(StoreError, match="holds other documents"):
        prepare_store(TINY, str(tmp_path / "mine"), SETTINGS)
    place = str(tmp_path / "kb")
    with prepare_store(TINY, place, SETTINGS) as workspace, workspace.kb.store.write("another corpus") as writer:
        writer.set("corpus", "the digest of another corpus")
    with pytest.raises(StoreError, match="another corpus, or this one with other settings"):
        prepare_store(TINY, place, SETTINGS)
