"""k1 and b of a store: hand-computed scores, every backend against brute force, and what the store remembers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import assay
from assay.backend.addresses import create_backend, open_backend
from assay.backend.contract import StoreBackend
from assay.backend.local.backend import LocalBackend
from assay.cli.main import cli
from assay.config.load import loads
from assay.errors import ConfigError, StoreError
from assay.index.similarity import Bm25Similarity
from assay.store.sqlite import SqliteStore
from assay.testing.backends import DIM, check_backend
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.analyser import Analyser
from assay.types import Chunk, Query
from assay.upkeep.backup import backup, restore
from assay.upkeep.copy_store import copy_store
from assay.upkeep.inventory import collect_stats

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
PARAMETERS = ((2.0, 0.0), (0.0, 0.0), (0.0, 1.0), (0.9, 0.4), (1000.0, 1.0))
CHUNKS = (
    Chunk("twice", "d", "walrus walrus", 2),
    Chunk("long", "d", "walrus sea sea sea sea sea", 6),
    Chunk("none", "d", "calm water", 2),
)
IDF = math.log(1.6)  # ln(1 + (3 − 2 + ½) / (2 + ½))


def make_backend(address: str, settings: dict[str, object]) -> StoreBackend:
    """The store at an address, made when it is not there yet."""
    try:
        return open_backend(address)
    except StoreError:
        return create_backend(address, settings)


def scores(backend: StoreBackend, text: str = "walrus") -> tuple[dict[str, float], float]:
    view = backend.snapshot()
    found = view.lexical(Query(text), 10)
    total = np.sum([part.column for part in found.parts], axis=0)
    return dict(zip(view.ids(found.rows).tolist(), total.tolist(), strict=True)), float(found.ideal or 0.0)


HAND_COMPUTED = {
    # tf·(k1+1) / (tf + k1): b = 0 ignores the length
    (2.0, 0.0): {"twice": 2 * 3 / (2 + 2), "long": 1 * 3 / (1 + 2)},
    # presence alone
    (0.0, 0.0): {"twice": 1.0, "long": 1.0},
    # avgdl = (2 + 6 + 2) / 3, so dl/avgdl is 0.6 and 1.8
    (1.0, 1.0): {"twice": 2 * 2 / (2 + 0.6), "long": 1 * 2 / (1 + 1.8)},
}


@pytest.mark.parametrize(("parameters", "gains"), HAND_COMPUTED.items())
def test_hand_computed(address: str, parameters: tuple[float, float], gains: dict[str, float]) -> None:
    k1, b = parameters
    backend = create_backend(address, {**SETTINGS, "k1": k1, "b": b})
    backend.put((chunk, None) for chunk in CHUNKS)
    for _ in range(2):  # from the tail, then from the index
        found, ideal = scores(backend)
        assert found == pytest.approx({name: IDF * gain for name, gain in gains.items()}, rel=1e-12)
        assert ideal == pytest.approx(IDF * (k1 + 1.0), rel=1e-11)
        backend.compact(force=True)
    view = backend.snapshot()
    rows = view.rows(np.array(["none", "long"]))
    rated = view.lexical_at(Query("walrus"), rows)
    assert rated.parts[0].column.tolist() == pytest.approx([0.0, IDF * gains["long"]], rel=1e-12)
    backend.close()


def test_the_oracle_is_hand_computed() -> None:
    found = MemorySnapshot(CHUNKS, k1=2.0, b=0.0).lexical(Query("walrus"), 10)
    assert found.parts[0].column.tolist() == pytest.approx([IDF * 1.5, IDF], rel=1e-12)
    assert found.ideal == pytest.approx(3.0 * IDF, rel=1e-12)


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_every_backend_equals_brute_force(address: str, parameters: tuple[float, float]) -> None:
    k1, b = parameters
    settings = {**SETTINGS, "k1": k1, "b": b}
    check_backend(lambda: make_backend(address, settings), int(10 * (k1 + b)), rounds=2, k1=k1, b=b)


@pytest.mark.parametrize("heavy", [0, 10**9])
@pytest.mark.parametrize("parameters", PARAMETERS)
def test_tantivys_proposals_are_proven(
    tmp_path: Path, parameters: tuple[float, float], heavy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tantivy scores with 1.2 and 0.75 only; what it proposes must still lead to the best by ours."""
    for name, value in (("_HEAVY", heavy), ("_SCAN", 0), ("_FEW_ROWS", 0)):
        monkeypatch.setattr(f"assay.backend.shared.bm25.{name}", value)
    k1, b = parameters

    def make() -> LocalBackend:
        folder, settings = tmp_path / "kb", {**SETTINGS, "model": "m", "dim": DIM, "k1": k1, "b": b}
        store = SqliteStore.open(folder) if SqliteStore.exists(folder) else SqliteStore.create(folder, settings)
        return LocalBackend(store, Analyser(), "m", DIM, tantivy_from=0)

    check_backend(make, 3, rounds=4, k1=k1, b=b)


def test_tantivys_order_is_not_believed_where_length_counts_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By 1.2 and 0.75 the short chunks with one walrus are best; with b = 0 the long ones with two are."""
    monkeypatch.setattr("assay.backend.shared.bm25._SCAN", 0)
    store = SqliteStore.create(tmp_path / "kb", {**SETTINGS, "b": 0.0})
    backend = LocalBackend(store, Analyser(), tantivy_from=0)
    texts = {"short": "walrus", "long": f"walrus walrus {'x ' * 500}"}
    backend.put((Chunk(f"{kind}{n:03}", "d", text, 1), None) for kind, text in texts.items() for n in range(300))
    backend.compact(force=True)
    view = backend.snapshot()
    assert view.ids(view.lexical(Query("walrus"), 10).rows).tolist() == [f"long{n:03}" for n in range(10)]
    backend.close()


# -- what a store remembers


def test_usual_values_leave_no_trace(tmp_path: Path) -> None:
    digests = set()
    for name, given in {"plain": {}, "said": {"k1": 1.2, "b": 0.75}, "one": {"b": 0.75}}.items():
        with assay.open(tmp_path / name, embedder="none", **given) as kb:
            kb.backend.put((chunk, None) for chunk in CHUNKS)
            assert not {"k1", "b"} & kb.store.settings.keys()
            digests.add(kb.snapshot().digest)
    assert len(digests) == 1


def test_other_values_are_remembered_and_enter_the_digest(address: str) -> None:
    created = {}
    with assay.open(address, embedder="none", k1=2, b=0.75) as kb:
        kb.backend.put((chunk, None) for chunk in CHUNKS)
        created = dict(kb.store.settings)
        digest = kb.snapshot().digest
    assert created["k1"] == 2.0
    assert "b" not in created
    with assay.open(address) as kb:
        assert kb.store.settings["k1"] == 2.0
        assert kb.snapshot().digest == digest
        assert collect_stats(kb.backend).settings["k1"] == 2.0


def test_each_parameter_changes_the_digest(tmp_path: Path) -> None:
    digests = set()
    for n, given in enumerate(({}, {"k1": 2.0}, {"b": 0.5}, {"k1": 0.5}, {"k1": 2.0, "b": 0.5})):
        with assay.open(tmp_path / f"{n}", embedder="none", **given) as kb:
            kb.backend.put((chunk, None) for chunk in CHUNKS)
            digests.add(kb.snapshot().digest)
    assert len(digests) == 5


def test_an_existing_store_refuses_others(address: str) -> None:
    assay.open(address, embedder="none", k1=2.0).close()
    for given in ({"k1": 1.2}, {"k1": 1.9}, {"b": 0.5}, {"k1": 2.0, "b": 0.0}):
        with pytest.raises(StoreError, match=r"this store was made with (k1|b) ") as refused:
            assay.open(address, **given)
        assert "make a new store" in refused.value.cure
    for given in ({}, {"k1": 2.0}, {"k1": 2, "b": 0.75}):
        assay.open(address, **given).close()


BAD: tuple[dict[str, object], ...] = (
    {"k1": -0.1},
    {"k1": math.nan},
    {"k1": math.inf},
    {"k1": 1001.0},
    {"k1": 1e-9},
    {"k1": "2"},
    {"k1": True},
    {"b": -0.01},
    {"b": 1.01},
    {"b": math.nan},
    {"b": -math.inf},
    {"b": 5e-324},
)


@pytest.mark.parametrize("given", BAD, ids=repr)
def test_values_without_meaning_are_refused(tmp_path: Path, given: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="is no parameter of BM25") as refused:
        assay.open(tmp_path / "kb", embedder="none", **given)  # type: ignore[arg-type]
    assert "give a number from 0 to" in refused.value.cure
    assert not (tmp_path / "kb").exists()
    assay.open(tmp_path / "kb", embedder="none").close()
    with pytest.raises(ConfigError, match="is no parameter of BM25"):
        assay.open(tmp_path / "kb", **given)  # type: ignore[arg-type]


def test_copies_and_backups_keep_them(tmp_path: Path) -> None:
    with assay.open(tmp_path / "kb", embedder="none", k1=2.0, b=0.0) as kb:
        kb.backend.put((chunk, None) for chunk in CHUNKS)
        copied = copy_store(kb.store, tmp_path / "copy.sqlite")
        assert scores(copied) == scores(kb.backend)
        copied.close()
        backup(kb.store, tmp_path / "kb.backup")
    restore(tmp_path / "kb.backup", tmp_path / "restored").close()
    for made in ("copy.sqlite", "restored"):
        with assay.open(tmp_path / made) as kb:
            assert Bm25Similarity.from_settings(kb.store.settings) == Bm25Similarity(2.0, 0.0)
            assert scores(kb.backend)[0]["twice"] == pytest.approx(IDF * 1.5)


NORMED = """
k = 10

[legs.bm25]
k = 100
norm = "ideal"
"""


def test_norm_ideal_divides_by_the_stores_own_ideal(tmp_path: Path) -> None:
    """score / Σ idf·(k1+1): 1.5/3 for two walruses, 1/3 for one, where k1 = 2 and b = 0."""
    pipeline = loads(NORMED, "normed")
    with assay.open(tmp_path / "kb", embedder="none", k1=2.0, b=0.0) as kb:
        kb.backend.put((chunk, None) for chunk in CHUNKS)
        answer = kb.search("walrus", pipeline=pipeline)
    assert [hit.id for hit in answer.hits] == ["twice", "long"]
    assert [hit.score for hit in answer.hits] == pytest.approx([0.5, 1.0 / 3.0])


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("walrus")
    store = str(tmp_path / "kb")
    add = ["add", str(tmp_path / "docs"), "--store", store, "--embedder", "none"]
    made = CliRunner().invoke(cli, [*add, "--k1", "2", "--b", "0"])
    assert made.exit_code == 0, made.output
    with assay.open(store) as kb:
        assert (kb.store.settings["k1"], kb.store.settings["b"]) == (2.0, 0.0)
    assert CliRunner().invoke(cli, add).exit_code == 0
    other = CliRunner().invoke(cli, [*add, "--k1", "1.5"])
    assert other.exit_code != 0
    shown = json.loads(CliRunner().invoke(cli, ["stats", "--store", store, "--json"]).output)
    assert shown["settings"]["k1"] == 2.0
