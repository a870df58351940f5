"""Every selector against choices made by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.errors import ConfigError, QueryError
from assay.select.budget import Budget
from assay.select.defer import Defer
from assay.select.min_score import MinScore
from assay.select.mmr import Mmr
from assay.select.one_per import OnePer
from assay.select.top_k import TopK
from assay.select.where import Where
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import sample_snapshot
from assay.types import Chunk, Query, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
RAW = Range("raw", 0.0, 40.0)


def select(selector, scores, snapshot=None):
    return selector.select(Query("q"), found(scores), snapshot or sample_snapshot())


def dropped(ranking):
    return {note.text: note.ids for note in ranking.notes if note.kind == "dropped"}


def pointing(**vectors):
    """A snapshot of chunks with these vectors."""
    matrix = np.array(list(vectors.values()), np.float32)
    return MemorySnapshot([Chunk(name, "d", "t", 1) for name in vectors], matrix)


def test_where():
    chosen = select(Where('lang = "en"'), {"food-2": 0.9, "keys-1": 0.8, "keys-2": 0.7, "food-1": 0.6})
    assert chosen.ids.tolist() == ["keys-1", "food-1"]
    assert dropped(chosen) == {'does not satisfy lang = "en"': ("food-2", "keys-2")}


def test_where_says_what_is_wrong_with_its_filter():
    with pytest.raises(ConfigError, match=r"where\.where = 'lang'"):
        Where("lang")
    with pytest.raises(QueryError, match="langg"):
        select(Where('langg = "en"'), {"keys-1": 0.4})


def test_min_score_keeps_the_threshold_itself():
    chosen = select(MinScore(), {"a": 0.9, "b": 0.35, "c": 0.3499999})
    assert chosen.ids.tolist() == ["a", "b"]
    assert dropped(chosen) == {"score below 0.35": ("c",)}


def test_min_score_says_its_scale():
    assert MinScore().threshold == 0.35
    assert MinScore(0.4).gives(Range("unit", 0.1, 0.9)) == Range("unit", 0.4, 0.9)
    with pytest.raises(ConfigError, match="min_score needs unit scores"):
        MinScore().gives(RAW)
    with pytest.raises(ConfigError, match=r"min_score\.threshold = 35"):
        MinScore(35)


def test_top_k():
    chosen = select(TopK(2), {"a": 0.9, "b": 0.8, "c": 0.7})
    assert chosen.ids.tolist() == ["a", "b"]
    assert dropped(chosen) == {"not among the first 2": ("c",)}
    assert select(TopK(5), {"a": 0.9}).notes == ()
    with pytest.raises(ConfigError, match=r"top_k\.k = 0"):
        TopK(0)


def test_one_per_document():
    chosen = select(OnePer(), {"keys-2": 0.9, "food-1": 0.8, "keys-1": 0.7, "food-2": 0.6})
    assert chosen.ids.tolist() == ["keys-2", "food-1"]
    assert dropped(chosen) == {"more than 1 of one doc_id": ("keys-1", "food-2")}


def test_one_per_metadata_field_and_those_without_it():
    sessions = {"a": "s1", "b": "s1", "c": "s1", "d": None, "e": None, "f": ["s1"]}
    snapshot = MemorySnapshot(
        [Chunk(name, "d", "t", 1, meta={} if s is None else {"session_id": s}) for name, s in sessions.items()]
    )
    scores = {name: 1.0 - i / 10 for i, name in enumerate(sessions)}
    assert select(OnePer("session_id", most=2), scores, snapshot).ids.tolist() == ["a", "b", "d", "e", "f"]


TOKENS = MemorySnapshot([Chunk(name, "d", "t", size) for name, size in {"a": 60, "b": 50, "c": 40, "d": 1}.items()])
IN_ORDER = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}


def test_budget_skips_what_does_not_fit():
    chosen = select(Budget(100), IN_ORDER, TOKENS)
    assert chosen.ids.tolist() == ["a", "c"]  # 60 + 40 is the whole budget
    assert dropped(chosen) == {"does not fit: 100 of 100 tokens are taken": ("b", "d")}


def test_budget_stops_at_what_does_not_fit():
    chosen = select(Budget(100, mode="stop"), IN_ORDER, TOKENS)
    assert chosen.ids.tolist() == ["a"]
    assert dropped(chosen) == {"does not fit: 60 of 100 tokens are taken": ("b", "c", "d")}


def test_budget_never_takes_what_it_cannot_count():
    assert select(Budget(100), {"elsewhere": 0.9, "d": 0.5}, TOKENS).ids.tolist() == ["d"]
    with pytest.raises(ConfigError, match=r"budget\.mode = 'fit'"):
        Budget(mode="fit")
    with pytest.raises(ConfigError, match=r"budget\.tokens = 0"):
        Budget(0)


def test_defer_of_002():
    """b is near a (0.96); c is near b (0.93) but not near a (0.8), and b is not selected, so c stays."""
    snapshot = pointing(a=[1.0, 0.0], b=[0.96, 0.28], c=[0.8, 0.6], d=[0.0, 1.0], e=[0.0, 1.0])
    chosen = select(Defer(), {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5}, snapshot)
    assert chosen.ids.tolist() == ["a", "c", "d", "b", "e"]
    assert chosen.tier.tolist() == [0, 0, 0, 1, 1]
    assert chosen.score.tolist() == [0.9, 0.7, 0.6, 0.8, 0.5]
    assert chosen.notes[0].ids == ("b", "e")


def test_defer_at_the_threshold_itself():
    snapshot = pointing(a=[1.0, 0.0], b=[0.5, math.sqrt(0.75)])
    assert select(Defer(0.5), {"a": 0.9, "b": 0.8}, snapshot).tier.tolist() == [0, 0]
    assert select(Defer(0.49), {"a": 0.9, "b": 0.8}, snapshot).tier.tolist() == [0, 1]


def test_defer_leaves_chunks_without_vectors():
    snapshot = pointing(a=[0.0, 0.0], b=[0.0, 0.0], c=[1.0, 0.0])
    assert select(Defer(0.0), {"a": 0.9, "b": 0.8, "c": 0.7, "x": 0.6}, snapshot).tier.tolist() == [0, 0, 0, 0]


def test_defer_goes_below_every_tier_and_keeps_their_order():
    snapshot = pointing(a=[1.0, 0.0], b=[1.0, 0.0], c=[0.0, 1.0], d=[1.0, 0.0])
    ranking = replace(found({"a": 0.9, "b": 0.1, "c": 0.8, "d": 0.7}), tier=np.array([0, 0, 1, 1], np.int32))
    ranking = ranking.take(np.array([0, 3, 1, 2]))  # a 0.9, b 0.1 in tier 0; c 0.8, d 0.7 in tier 1
    ranking = replace(ranking, tier=np.array([0, 0, 1, 1], np.int32))
    chosen = Defer().select(Query(), ranking, snapshot)
    assert chosen.ids.tolist() == ["a", "c", "b", "d"]
    assert chosen.tier.tolist() == [0, 1, 2, 3]


def test_mmr_by_hand():
    """λ = 0.5, a first.  b: (.8 − 1)/2 = −.1; c: (.7 − .6)/2 = .05; d: (.2 − 0)/2 = .1 → d.
    Then b: −.1; c: (.7 − max(.6, .8))/2 = −.05 → c; b last."""
    snapshot = pointing(a=[1.0, 0.0], b=[1.0, 0.0], c=[0.6, 0.8], d=[0.0, 1.0])
    chosen = select(Mmr(0.5), {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.2}, snapshot)
    assert chosen.ids.tolist() == ["a", "d", "c", "b"]
    assert chosen.tier.tolist() == [0, 1, 2, 3]
    assert chosen.score.tolist() == [0.9, 0.2, 0.7, 0.8]


def test_mmr_at_its_ends():
    snapshot = pointing(a=[1.0, 0.0], b=[1.0, 0.0], c=[-1.0, 0.0])
    scores = {"a": 0.9, "b": 0.8, "c": 0.1}
    assert select(Mmr(1.0), scores, snapshot).ids.tolist() == ["a", "b", "c"]
    assert select(Mmr(0.0), scores, snapshot).ids.tolist() == ["a", "c", "b"]


def test_mmr_ties_go_to_who_stood_first_and_tiers_stay_apart():
    snapshot = pointing(a=[1.0, 0.0], b=[0.0, 1.0], c=[0.0, 1.0])
    assert select(Mmr(), {"a": 0.5, "b": 0.5, "c": 0.5}, snapshot).ids.tolist() == ["a", "b", "c"]
    tiered = replace(found({"a": 0.2, "b": 0.1}), tier=np.array([0, 0], np.int32))
    later = replace(found({"c": 0.9}), tier=np.array([4], np.int32))
    both = Ranking.of(
        ["a", "b", "c"],
        [replace(tiered.parts[0], column=np.concatenate([tiered.score, later.score]))],
        "unit",
        tier=np.array([0, 0, 4], np.int32),
    )
    assert Mmr().select(Query(), both, snapshot).ids.tolist() == ["a", "b", "c"]


def test_mmr_needs_scores_that_compare_with_cosines():
    with pytest.raises(ConfigError, match="mmr needs unit scores"):
        Mmr().gives(RAW)
    with pytest.raises(ConfigError, match=r"mmr\.lam = 1\.1"):
        Mmr(1.1)
    with pytest.raises(ConfigError, match=r"defer\.cosine = -0\.1"):
        Defer(-0.1)


@pytest.mark.parametrize("selector", [Where('lang = "en"'), TopK(), OnePer(), Budget(), Defer()])
def test_scales_pass_through(selector):
    assert selector.gives(RAW) == RAW
    assert len(selector.select(Query(), Ranking.empty("raw"), sample_snapshot())) == 0
