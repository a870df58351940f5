"""Every candidate gets every leg's score, and nobody else becomes a candidate."""

import numpy as np
import pytest

import assay
from assay.config.load import from_dict, loads, to_config
from assay.engine.complete import complete_scores
from assay.engine.order import stamp_ranks, top
from assay.errors import ConfigError
from assay.legs.bm25 import Bm25
from assay.legs.dense import Dense
from assay.legs.exact import Exact
from assay.protocols import RowScorer
from assay.testing.sample import QUERIES, sample_snapshot

WHOLE = """
complete = true
[legs.bm25]
k = 2
[legs.dense]
k = 2
[fuse]
use = "convex"
weights = { bm25 = 1.0, dense = 1.0 }
"""
SNAPSHOT, QUERY = sample_snapshot(), QUERIES[0]
LEGS = {"bm25": Bm25(), "dense": Dense()}


def found(k: int) -> dict[str, assay.types.Ranking]:
    return {name: stamp_ranks(top(leg.find(QUERY, SNAPSHOT, k), k), n) for n, (name, leg) in enumerate(LEGS.items())}


def test_every_leg_scores_every_candidate():
    short, deep = found(2), found(50)
    whole, notes = complete_scores(QUERY, short, LEGS, SNAPSHOT)
    union = set(short["bm25"].ids) | set(short["dense"].ids)
    for name, ranking in whole.items():
        assert set(ranking.ids) == union
        everywhere = dict(zip(deep[name].ids, deep[name].score, strict=True))
        assert dict(zip(ranking.ids, ranking.score, strict=True)) == {i: everywhere[i] for i in union}
        assert set(ranking.priority) == set(short[name].priority)
    assert [note.kind for note in notes] == ["detail"]
    assert "scored" in notes[0].text


def test_an_empty_leg_stays_empty():
    short = found(2)
    empty = {**short, "dense": short["dense"].take(slice(0, 0))}
    whole, notes = complete_scores(QUERY, empty, LEGS, SNAPSHOT)
    assert whole == empty
    assert notes == ()


def test_a_leg_that_cannot_rate_is_left_as_it_is():
    assert not isinstance(Exact(), RowScorer)
    short = {"bm25": found(2)["bm25"], "exact": found(3)["dense"]}
    whole, _ = complete_scores(QUERY, short, {"bm25": Bm25(), "exact": Exact()}, SNAPSHOT)
    assert whole["exact"] is short["exact"]
    assert len(whole["bm25"]) > len(short["bm25"])


def test_a_ranking_from_elsewhere_is_left_as_it_is():
    short = found(2)
    foreign = assay.types.Ranking.of(["x"], short["dense"].take(slice(0, 1)).parts, "raw")
    whole, notes = complete_scores(QUERY, {**short, "dense": foreign}, LEGS, SNAPSHOT)
    assert whole["dense"] is foreign
    assert notes == ()


def test_the_answer_says_so_and_the_scores_are_whole():
    pipeline = loads(WHOLE)
    answer = pipeline.run(QUERY, SNAPSHOT, k=50)
    legs = {span.name: span.ranking for span in answer.trace if span.kind == "leg"}
    assert {len(ranking) for ranking in legs.values()} == {2}  # the trace keeps what the legs found themselves
    fuse = next(span for span in answer.trace if span.kind == "fuse")
    assert any("complete" in note.text for note in fuse.notes)
    # By hand: each leg's scores of the union, brought to [0, 1] over the union, and their mean.
    union = sorted(set(legs["bm25"].ids) | set(legs["dense"].ids))
    deep = found(50)
    expected = dict.fromkeys(union, 0.0)
    for ranking in deep.values():
        every = dict(zip(ranking.ids, ranking.score, strict=True))
        low, high = min(every[i] for i in union), max(every[i] for i in union)
        for i in union:
            expected[i] += (every[i] - low) / (high - low) / 2
    assert dict(zip(answer.chosen.ids, answer.chosen.score, strict=True)) == pytest.approx(expected)


def test_asking_for_fewer_is_a_prefix():
    pipeline = loads(WHOLE)
    many = pipeline.run(QUERY, SNAPSHOT, k=50).chosen.ids.tolist()
    for k in range(len(many)):
        assert pipeline.run(QUERY, SNAPSHOT, k=k).chosen.ids.tolist() == many[:k]


def test_the_config_comes_back_and_an_old_one_keeps_its_digest():
    pipeline = loads(WHOLE)
    assert from_dict(to_config(pipeline)).digest == pipeline.digest
    without = loads(WHOLE.replace("complete = true", ""))
    assert without.digest == loads(WHOLE.replace("true", "false")).digest != pipeline.digest
    with pytest.raises(ConfigError, match="no effect"):
        loads("complete = true\n[legs.bm25]")


def test_without_vectors_words_alone_answer():
    answer = loads(WHOLE).run(QUERIES[1], sample_snapshot(vectors=False))
    assert answer.status.degraded
    assert np.isfinite(answer.chosen.score).all()
    assert len(answer)
