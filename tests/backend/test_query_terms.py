"""Repeated query words and identifiers: hand-computed scores in every backend, proofs with boosts, long queries."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from assay.backend.addresses import create_backend
from assay.backend.contract import StoreBackend
from assay.backend.local.backend import LocalBackend
from assay.backend.shared.query_terms import MOST_TERMS, QueryTerms
from assay.protocols import TermWeighting
from assay.store.sqlite import SqliteStore
from assay.testing.backends import DIM, check_backend
from assay.text.analyser import Analyser
from assay.types import Chunk, Query

SETTINGS = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
CHUNKS = (
    Chunk("walrus", "d", "walrus sea", 2),
    Chunk("otter", "d", "otter sea", 2),
    Chunk("code", "d", "CVE-2024-1234 fixed", 2),
    Chunk("year", "d", "in 2024 winter", 3),
)


def filled(backend: StoreBackend) -> StoreBackend:
    backend.put((chunk, None) for chunk in CHUNKS)
    return backend


def scores(backend: StoreBackend, text: str, weighting: TermWeighting) -> tuple[dict[str, float], float]:
    view = backend.snapshot()
    found = view.lexical(Query(text), 10, weighting)
    total = np.sum([part.column for part in found.parts], axis=0)
    return dict(zip(view.ids(found.rows).tolist(), total.tolist(), strict=True)), found.ideal


@pytest.mark.parametrize(
    ("k3", "boost"),
    # three times the word: 3·(k3+1) / (3 + k3)
    [(0.0, 1.0), (2.0, 9.0 / 5.0), (1000.0, 3003.0 / 1003.0)],
)
def test_a_repeated_word_by_hand(address: str, k3: float, boost: float) -> None:
    backend = filled(create_backend(address, {**SETTINGS, "b": 0.0}))
    one = math.log(1 + 3.5 / 1.5)  # idf of a word in one of four chunks; with b = 0 and tf = 1 the rest is 1
    for _ in range(2):  # from the tail, then from the index
        found, ideal = scores(backend, "walrus otter walrus walrus", TermWeighting(k3))
        assert found == pytest.approx({"walrus": boost * one, "otter": one}, rel=1e-12)
        assert ideal == pytest.approx(2.2 * one * (boost + 1.0), rel=1e-9)
        view = backend.snapshot()
        rated = view.lexical_at(Query("walrus walrus walrus"), view.rows(np.array(["walrus"])), TermWeighting(k3))
        assert rated.parts[0].column.tolist() == pytest.approx([boost * one], rel=1e-12)
        backend.compact(force=True)
    backend.close()


def test_digits_of_an_identifier_do_not_match_alone(address: str) -> None:
    backend = filled(create_backend(address, SETTINGS))
    assert scores(backend, "CVE-2024-1234", TermWeighting())[0].keys() == {"code"}
    assert scores(backend, "CVE-2024-9999", TermWeighting())[0].keys() == {"code"}  # by cve
    assert scores(backend, "XYZ-2024-1", TermWeighting())[0] == {}
    assert scores(backend, "2024", TermWeighting())[0].keys() == {"code", "year"}  # still indexed
    split = TermWeighting(split_identifiers=True)
    assert scores(backend, "XYZ-2024-1", split)[0].keys() == {"code", "year"}
    backend.close()


@pytest.mark.parametrize("heavy", [0, 10**9])
@pytest.mark.parametrize("average", [True, False])
def test_proposals_with_boosts_are_proven(
    tmp_path: Path, heavy: int, average: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_HEAVY", heavy), ("_SCAN", 0), ("_FEW_ROWS", 0)):
        monkeypatch.setattr(f"assay.backend.shared.bm25.{name}", value)

    def make() -> LocalBackend:
        folder, settings = tmp_path / "kb", {**SETTINGS, "model": "m", "dim": DIM, **({} if average else {"k1": 2.0})}
        store = SqliteStore.open(folder) if SqliteStore.exists(folder) else SqliteStore.create(folder, settings)
        return LocalBackend(store, Analyser(), "m", DIM, tantivy_from=0)

    check_backend(make, 7, rounds=4, k1=1.2 if average else 2.0)


def test_tantivy_is_told_the_boosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otters outnumber the fetch and score like walruses; only the boost lifts walruses into tantivy's first rows."""
    monkeypatch.setattr("assay.backend.shared.bm25._SCAN", 0)
    backend = LocalBackend(SqliteStore.create(tmp_path / "kb", SETTINGS), Analyser(), tantivy_from=0)
    names = [(f"a{n:03}", "otter") for n in range(400)] + [(f"b{n:03}", "walrus") for n in range(400)]
    backend.put((Chunk(name, "d", word, 1), None) for name, word in names)
    backend.compact(force=True)
    asked: list[list[float]] = []
    words = backend.snapshot()._view.words
    assert words is not None
    propose = type(words).propose

    def record(self: object, terms: list[str], boosts: np.ndarray, k: int) -> object:
        asked.append(boosts.tolist())
        return propose(words, terms, boosts, k)

    monkeypatch.setattr(type(words), "propose", record)
    view = backend.snapshot()
    found = view.lexical(Query("otter walrus walrus"), 10, TermWeighting(2.0))
    assert view.ids(found.rows).tolist() == [f"b{n:03}" for n in range(10)]
    assert asked[0] == [1.0, 1.5]
    backend.close()


def test_of_a_long_query_the_heaviest_terms_are_used() -> None:
    text = " ".join(f"w{n}x" for n in range(MOST_TERMS + 10)) + " common" * 9
    terms = QueryTerms.analyse(Analyser(), text, TermWeighting(1000.0))
    assert len(terms.terms) == MOST_TERMS + 11
    idf = np.where(np.array(terms.terms) == "common", 0.2, 1.0)
    places, notes = terms.select_heaviest(lambda: idf)
    assert "common" in terms.take(places).terms  # 0.2 · 9 weighs more than 1
    assert len(places) == MOST_TERMS == len(terms.take(places).boosts)
    assert "weigh most" in notes[0].text
    once = QueryTerms.analyse(Analyser(), text, TermWeighting(0.0))
    assert "common" not in once.take(once.select_heaviest(lambda: idf)[0]).terms


def test_a_term_that_occurs_once_has_the_boost_one() -> None:
    for k3 in (0.0, 0.1, 2.0, 3.7, 1000.0):
        assert QueryTerms.analyse(Analyser(), "one two three", TermWeighting(k3)).boosts.tolist() == [1.0, 1.0, 1.0]
