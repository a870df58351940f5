"""Legs: hand-computed scores, the contract over every registered leg, and third parties' legs by entry point."""

import math
from pathlib import Path

import numpy as np
import pytest

from assay.config.load import loads
from assay.config.registry import component_class
from assay.errors import ConfigError
from assay.legs import LEGS
from assay.legs.bm25 import Bm25
from assay.legs.dense import Dense
from assay.legs.exact import Exact
from assay.testing.contracts import check_leg
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import QUERIES, sample_snapshot
from assay.types import Chunk, Query


def snapshot(*texts: str, vectors: list[list[float]] | None = None) -> MemorySnapshot:
    chunks = [Chunk(f"c{i}", "d", text, 1) for i, text in enumerate(texts)]
    return MemorySnapshot(chunks, None if vectors is None else np.array(vectors, np.float32))


@pytest.mark.parametrize("name", sorted(LEGS))
def test_contract(name: str) -> None:
    check_leg(component_class("leg", name)(), sample_snapshot(), QUERIES)


@pytest.mark.parametrize("leg", [Bm25("ideal"), Dense("clamp")])
def test_contract_of_the_unit_forms(leg: Bm25 | Dense) -> None:
    check_leg(leg, sample_snapshot(), QUERIES)


def test_bm25_by_hand() -> None:
    # Chunks of 2, 2 and 4 terms: avgdl 8/3. "cat" is in one, idf ln(1 + 2.5/1.5); "dog" in two, ln(1 + 1.5/2.5).
    view = snapshot("cat dog", "dog bird", "fish fish fish fish")
    found = Bm25().find(Query("cat dog"), view, 10)
    assert found.ids.tolist() == ["c0", "c1"]
    weight = 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / (8 / 3)))
    cat, dog = math.log(1 + 2.5 / 1.5) * weight, math.log(1 + 1.5 / 2.5) * weight
    assert found.score.tolist() == pytest.approx([cat + dog, dog], rel=1e-12)
    assert {p.name: p.column.tolist() for p in found.parts} == {
        "cat": pytest.approx([cat, 0.0], rel=1e-12),
        "dog": pytest.approx([dog, dog], rel=1e-12),
    }
    assert found.scale == "raw"


def test_ideal_divides_by_every_term_at_its_best() -> None:
    view = snapshot("cat dog", "dog bird", "fish fish fish fish")
    raw = Bm25().find(Query("cat dog unicorn"), view, 10)
    unit = Bm25("ideal").find(Query("cat dog unicorn"), view, 10)
    # an unknown word is charged the largest idf: ln(1 + (3 + .5)/.5)
    ideal = 2.2 * (math.log(1 + 2.5 / 1.5) + math.log(1 + 1.5 / 2.5) + math.log(1 + 3.5 / 0.5))
    assert unit.score.tolist() == pytest.approx((raw.score / ideal).tolist(), rel=1e-12)
    assert unit.scale == "unit"
    assert (unit.score < 1.0).all()


def test_dense_by_hand() -> None:
    view = snapshot("a", "b", "c", "d", vectors=[[1, 0], [0.6, 0.8], [-1, 0], [0, 0]])
    query = Query("", vector=np.array([0.8, 0.6], np.float32))
    found = Dense().find(query, view, 10)
    assert found.ids.tolist() == ["c1", "c0", "c2"], "a chunk without a vector is near nothing"
    assert found.score.tolist() == pytest.approx([0.96, 0.8, -0.8], abs=1e-6)
    clamped = Dense("clamp").find(query, view, 10)
    assert clamped.score.tolist() == pytest.approx([0.96, 0.8, 0.0], abs=1e-6)


def test_exact_finds_identifiers_and_phrases_letter_for_letter() -> None:
    view = snapshot("set JINA_API_KEY first", "the jina api key", "sign the key", "key the sign", "nothing here")
    assert Exact().find(Query("where is JINA_API_KEY?"), view, 10).ids.tolist() == ["c0"]
    assert Exact().find(Query('who may "sign the key"'), view, 10).ids.tolist() == ["c2"]
    both = Exact().find(Query('JINA_API_KEY "sign the key"'), view, 10)
    assert sorted(both.ids.tolist()) == ["c0", "c2"]
    assert both.score.sum() == pytest.approx(1.0)
    assert len(Exact().find(Query("plain words only"), view, 10)) == 0


PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar
from assay.types import Part, Range, Ranking
import numpy as np

@dataclass(frozen=True)
class Favourite:
    """Always finds one chunk."""
    needs: ClassVar[frozenset] = frozenset()
    id: str = "keys-3"
    def gives(self): return Range("unit", 0.0, 1.0)
    def find(self, query, snapshot, k, seeds=None):
        return Ranking.of([self.id], [Part("favourite", "add", np.ones(1))], "unit")
'''


def test_a_third_party_leg_comes_in_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assay_favourite.py").write_text(PLUGIN)
    facts = tmp_path / "assay_favourite-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-favourite\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[assay.legs]\nfavourite = assay_favourite:Favourite\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    answer = loads('[legs.favourite]\nid = "keys-2"').run(Query("x"), sample_snapshot())
    assert answer.chosen.ids.tolist() == ["keys-2"]
    with pytest.raises(ConfigError, match="no setting 'idd'"):
        loads('[legs.favourite]\nidd = "keys-2"')
    with pytest.raises(ConfigError) as caught:
        loads("[legs.favorite]")
    assert "'favourite'" in caught.value.cure, "the cure lists third parties' names too"


def test_repeated_query_words_by_hand() -> None:
    # "cat" twice: 2·(k3+1) / (2 + k3) of its weight; the ideal counts alike.
    view = snapshot("cat dog", "dog bird", "fish fish fish fish")
    once = Bm25().find(Query("cat dog"), view, 10)
    for k3, boost in ((0.0, 1.0), (2.0, 1.5), (1000.0, 2002.0 / 1002.0)):
        twice = Bm25(k3=k3).find(Query("cat dog cat"), view, 10)
        cat, dog = (part.column for part in once.parts)
        assert twice.score.tolist() == pytest.approx((boost * cat + dog).tolist(), rel=1e-12)
        unit = Bm25("ideal", k3=k3).find(Query("cat dog cat"), view, 10)
        ideal = 2.2 * (boost * math.log(1 + 2.5 / 1.5) + math.log(1 + 1.5 / 2.5))
        assert unit.score.tolist() == pytest.approx((twice.score / ideal).tolist(), rel=1e-12)
    assert Bm25().find(Query("cat dog cat"), view, 10).score[0] == pytest.approx(1.5 * cat[0] + dog[0], rel=1e-12)


@pytest.mark.parametrize("k3", [-0.1, 1000.5, math.nan, math.inf])
def test_a_k3_without_meaning_is_refused(k3: float) -> None:
    with pytest.raises(ConfigError, match="k3") as refused:
        Bm25(k3=k3)
    assert "from 0" in refused.value.cure
    with pytest.raises(ConfigError, match="k3"):
        loads(f"k = 5\n[legs.bm25]\nk = 5\nk3 = {k3}\n")
