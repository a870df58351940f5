"""Answers say when a store's text is not in the language its model reads, in every kind of store."""

from __future__ import annotations

import pytest
from counting import Hashing

import assay
from assay import embed

ENGLISH = [{"id": f"e{i}", "text": f"note {i}", "lang": "en"} for i in range(4)]


@pytest.fixture(autouse=True)
def _small_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "load", lambda _: Hashing())


def test_from_a_fifth_on_the_answer_says_so(vector_store: str) -> None:
    with assay.open(vector_store, embedder="minilm") as base:
        base.add(ENGLISH)
        assert base.search("note").remarks == ()
        base.add([{"id": "d", "text": "eine Notiz", "lang": "de"}])
        foreign = base.snapshot()
        assert foreign.foreign_share == pytest.approx(1 / 5)
        (remark,) = base.search("note").remarks
        assert remark.startswith("20% of this store is not in English, and its embedding model reads English only")
        base.add([{"id": "u", "text": "7"}])  # of no language that could be told
        assert base.snapshot().foreign_share == pytest.approx(1 / 6)
        assert base.search("note").remarks == ()
        assert base.search("note", snapshot=f"v{foreign.version}").remarks == (remark,)
        base.optimize()
        base.remove("d")
        assert base.snapshot().foreign_share == 0.0


def test_another_model_may_read_it(vector_store: str) -> None:
    with assay.open(vector_store, embedder="onnx:multilingual") as base:
        base.add([{"id": "d", "text": "eine Notiz", "lang": "de"}])
        assert base.snapshot().foreign_share == 1.0
        assert base.search("Notiz").remarks == ()
