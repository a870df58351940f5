"""The learned ranker: its features by hand, its scores, what it refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest

from assay.engine.order import arrange
from assay.engine.term_hits import TermHits
from assay.errors import ConfigError
from assay.rerank.features import (
    FEATURES,
    NAMES,
    CandidatePool,
    compute_features,
    compute_standard_features,
    standardise,
)
from assay.rerank.learned import Learned, build_pool, load_shipped_model
from assay.testing.contracts import check_stage
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import CHUNKS, QUERIES, sample_snapshot
from assay.types import Chunk, Part, Query, Range, Ranking, fold


def pool(**changes):
    """Three candidates of two documents, a query of two neighbouring terms that weigh 1 and 3."""
    before = {
        "idf": np.array([1.0, 3.0]),
        "pairs": [(0, 1)],
        "hits": [np.array([0, 1, -1, -1]), np.array([1, -1, -1, 0, -1, -1]), np.array([-1, -1])],
        "cosine": np.array([0.5, 0.2, 0.8]),
        "vectors": np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], np.float32),
        "document": np.array([0, 0, 1]),
    }
    facts = {**before, **changes}
    terms = [str(number) for number in range(len(facts["idf"]))]
    texts = [[str(number) for number in hit] for hit in facts["hits"]]
    return CandidatePool(**{**facts, "hits": TermHits.of_texts(texts, terms)})


def feature(name, **changes):
    return compute_features(pool(**changes))[:, NAMES.index(name)].tolist()


def ranking(scores, ids=None):
    ids = [c.id for c in CHUNKS[: len(scores)]] if ids is None else ids
    return arrange(Ranking.of(ids, [Part("given", "add", np.array(scores, float))], "unit"))


def test_new_words_saturate_and_count_by_idf():
    # Lengths 4, 6, 2 are 1, 3/2 and 1/2 of their mean. Both terms are in 2 of 3 candidates, so both are equally rare.
    damped = [0.9 * (0.6 + 0.4 * 1.0), 0.9 * (0.6 + 0.4 * 1.5)]
    assert feature("new_words") == pytest.approx([1 / (1 + damped[0]), 1 / (1 + damped[1]), 0.0])


def test_a_word_that_the_nearest_lack_counts_for_more():
    hits = [np.array([0]), np.array([0, 1]), np.array([0])]
    rare = np.log(1 + np.array([0.5 / 3.5, 2.5 / 1.5]))  # held by 3 of 3 and by 1 of 3
    weights = np.array([1.0, 3.0]) * (rare / rare[1]) ** 0.25
    short, long = (1 / (1 + 0.9 * (0.6 + 0.4 * dl / (4 / 3))) for dl in (1.0, 2.0))
    once = weights[0] * short / weights.sum()
    assert feature("new_words", hits=hits) == pytest.approx([once, long, once])


def test_rarity_is_counted_among_the_hundred_nearest():
    size = 120
    hits = [np.array([0, 1] if i < 100 else [1]) for i in range(size)]
    before = {"cosine": np.linspace(1.0, 0.0, size), "vectors": np.zeros((size, 2), np.float32)}
    before["document"] = np.arange(size)
    both, one = (feature("new_words", hits=hits, **before)[i] for i in (0, size - 1))
    # All of the nearest hold both terms: neither is rarer, so term 1 keeps 3/4 of the weight, but for its length.
    mean = (200 + 20) / 120
    sat = {dl: 1 / (1 + 0.9 * (0.6 + 0.4 * dl / mean)) for dl in (1, 2)}
    assert both == pytest.approx(sat[2])
    assert one == pytest.approx(0.75 * sat[1])


def test_cover_is_the_share_of_the_idf():
    assert feature("cover", hits=[np.array([1]), np.array([0, 0]), np.array([], int)]) == [0.75, 0.25, 0.0]


def test_near_and_adjacent():
    assert feature("near") == [1.0, 1.0, 0.0]  # in either order, three terms apart
    assert feature("adjacent") == [1.0, 0.0, 0.0]  # side by side, in the query's order
    far = np.array([0, -1, -1, -1, -1, -1, 1])
    assert feature("near", hits=[far, far[1:], far[::-1]]) == [0.0, 0.0, 0.0]
    assert feature("near", hits=[np.array([0, -1, -1, -1, -1, 1])] * 3) == [1.0, 1.0, 1.0]
    assert feature("near", pairs=[]) == [0.0, 0.0, 0.0]


def test_near_sees_past_repeats_of_one_term():
    assert feature("near", hits=[np.array([0, 0, 0, 0, 1])] * 3) == [1.0, 1.0, 1.0]


def test_neighbours_are_of_other_documents():
    words = feature("new_words")
    assert feature("near_cosine") == pytest.approx([0.8, 0.8, 0.35])
    assert feature("near_words") == pytest.approx([words[2], words[2], (words[0] + words[1]) / 2])
    assert feature("near_cosine", document=np.zeros(3, int)) == [0.0, 0.0, 0.0]


def test_only_the_ten_nearest_are_neighbours():
    angles = np.linspace(0.0, 1.5, 12)
    before = {"vectors": np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)}
    before |= {"hits": [np.array([0])] * 12, "document": np.arange(12)}
    found = feature("near_cosine", cosine=np.array([0.0] * 11 + [1.0]), **before)
    assert found[0] == 0.0  # the last is the farthest of its eleven others
    assert found[1] == 0.0
    assert found[10] == pytest.approx(0.1)


def test_kin_is_the_best_other_chunk_of_the_document():
    assert feature("kin_cosine") == pytest.approx([0.5, 0.5, 0.5])  # the mean is 0.5: 0.2 is below it, 0.5 is not
    assert feature("kin_cosine", cosine=np.array([0.9, 0.6, 0.0])) == pytest.approx([0.6, 0.9, 0.5])
    assert feature("kin_cosine", cosine=np.array([0.9, 0.9, 0.0])) == pytest.approx([0.9, 0.9, 0.6])


def test_cosine_passes_through():
    assert feature("cosine") == [0.5, 0.2, 0.8]


def test_a_query_without_terms_has_no_word_features():
    found = compute_features(pool(idf=np.empty(0), pairs=[], hits=[np.full(3, -1)] * 3))
    assert np.isfinite(found).all()
    assert not found[:, [NAMES.index(n) for n in ("new_words", "cover", "near", "adjacent")]].any()


@pytest.mark.parametrize("names", [(name,) for name in NAMES] + [("near_cosine", "new_words"), NAMES])
def test_only_what_is_asked_for_is_computed(names):
    columns = [NAMES.index(name) for name in names]
    assert compute_features(pool(), names).tobytes() == compute_features(pool())[:, columns].copy("C").tobytes()


def test_standard_scores():
    assert standardise(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist() == [[-1.0, 0.0], [1.0, 0.0]]


def test_interactions_are_products_of_standard_scores():
    words, cosine, both, long_query = compute_standard_features(pool(), ("new_words", "cosine", "both", "long_query")).T
    assert both.tolist() == (words * cosine).tolist()
    assert long_query == pytest.approx(words * np.log(2 / 6))  # the query has two terms
    assert words.tolist() == standardise(compute_features(pool()))[:, NAMES.index("new_words")].tolist()


def test_long_query_turns_its_sign_at_six_terms():
    def ratio(terms):
        many = pool(idf=np.ones(terms), hits=[np.array([0]), np.array([0, 1]), np.array([-1])])
        words, long_query = compute_standard_features(many, ("new_words", "long_query")).T
        return long_query / words

    assert ratio(6) == pytest.approx(0.0)
    assert ratio(12) == pytest.approx(np.log(2.0))
    assert ratio(3) == pytest.approx(-np.log(2.0))


@pytest.mark.parametrize("names", [(name,) for name in FEATURES] + [("long_query", "near"), FEATURES])
def test_a_feature_does_not_depend_on_what_else_is_asked_for(names):
    columns = [FEATURES.index(name) for name in names]
    assert compute_standard_features(pool(), names).tolist() == compute_standard_features(pool())[:, columns].tolist()


def test_a_query_without_terms_has_no_interactions():
    empty = pool(idf=np.empty(0), pairs=[], hits=[np.full(3, -1)] * 3)
    assert not compute_standard_features(empty, ("both", "long_query")).any()


def test_an_interaction_orders_candidates_and_is_a_part():
    weights = {"new_words": 1.0, "cosine": 1.0, "both": -0.1, "long_query": -0.2}
    before = ranking(np.linspace(0.9, 0.2, 8), [c.id for c in CHUNKS])
    after = Learned(weights=weights).apply(QUERIES[0], before, sample_snapshot())
    assert [part.name for part in after.parts[-4:]] == [f"learned.{name}" for name in weights]
    assert after.score.tolist() == fold(after.parts, 8).tolist()


def test_pool_reads_the_snapshot():
    chunks = (
        Chunk("a", "one", "the signing key", 3, meta={"title": "Signing key"}),
        Chunk("b", "two", "key signing", 2, meta={"title": "The door"}),
        Chunk("c", "one", "", 0),
    )
    snapshot = MemorySnapshot(chunks, np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.0]], np.float32))
    query = Query("signing key", vector=np.array([0.0, 1.0], np.float32))
    read = build_pool(query, Ranking.of(["a", "b", "c"], [Part("x", "add", np.ones(3))], "unit"), snapshot)
    weights = snapshot.term_weights("signing key")
    assert read.idf.tolist() == list(weights.values())
    number = {term: i for i, term in enumerate(weights)}
    key, sign = number[snapshot.terms("key")[0]], number[snapshot.terms("signing")[0]]
    assert list(read.pairs) == [(sign, key)]
    assert read.hits.lengths.tolist() == [5, 4, 0]
    assert read.hits.chunk.tolist() == [0, 0, 0, 0, 1, 1]
    assert read.hits.position.tolist() == [0, 1, 3, 4, 2, 3]
    assert read.hits.term.tolist() == [sign, key, sign, key, key, sign]
    assert read.cosine == pytest.approx([0.0, 0.8, 0.0])
    assert read.document.tolist() == [0, 1, 0]


def test_scores_span_what_was_given_in_the_order_of_the_sum():
    # One feature, cosines 1, 0.96 and 0.6 of keys-1, keys-2, keys-3: the given order is turned round.
    after = Learned(weights={"cosine": 2.0}).apply(QUERIES[0], ranking([0.2, 0.4, 0.6]), sample_snapshot())
    assert after.ids.tolist() == ["keys-1", "keys-2", "keys-3"]
    assert after.score == pytest.approx([0.6, 0.2 + 0.4 * 0.9, 0.2])
    assert [part.name for part in after.parts] == ["given", "learned", "learned.cosine"]
    assert after.score.tolist() == fold(after.parts, 3).tolist()


def test_equal_scores_are_spread_downwards():
    after = Learned(weights={"cosine": 1.0}).apply(QUERIES[0], ranking([0.8, 0.8, 0.8]), sample_snapshot())
    assert after.score == pytest.approx([0.8, 0.4 + 0.4 * 0.9, 0.4])


@pytest.mark.parametrize("scores", [[], [0.5], [0.0, 0.0]])
def test_nothing_to_rank_changes_nothing(scores):
    before = ranking(scores)
    assert Learned().apply(QUERIES[0], before, sample_snapshot()) is before


def test_no_weight_changes_nothing():
    before = ranking([0.9, 0.5, 0.1])
    assert Learned(weights={"cosine": 0.0}).apply(QUERIES[0], before, sample_snapshot()) is before


def test_the_order_of_arrival_does_not_matter():
    names = [c.id for c in CHUNKS]
    one = Learned().apply(QUERIES[0], ranking(np.linspace(0.9, 0.2, 8), names), sample_snapshot())
    other = Learned().apply(QUERIES[0], ranking(np.linspace(0.9, 0.2, 8), names[::-1]), sample_snapshot())
    assert one.ids.tolist() == other.ids.tolist()


def test_the_order_of_the_weights_changes_no_bit():
    """A receipt keeps settings by name, sorted: a replay must add what the run added, in the same order."""
    weights = dict(zip(NAMES, (0.1, 0.7, 0.3, 0.02, 0.9, 0.06, 0.011, 0.4, 0.05), strict=True))
    before = ranking(np.linspace(0.9, 0.2, 8), [c.id for c in CHUNKS])
    one, other = (
        Learned(weights=dict(order)).apply(QUERIES[0], before, sample_snapshot())
        for order in (weights.items(), sorted(weights.items(), reverse=True))
    )
    assert one.score.tobytes() == other.score.tobytes()
    assert [part.name for part in one.parts] == [part.name for part in other.parts]


@pytest.mark.parametrize("text", ["", "the of and", "\ud800\0 ( 🔑", "x " * 5_000, "签名"])
def test_hostile_queries(text):
    query = replace(QUERIES[0], text=text)
    after = Learned().apply(query, ranking(np.linspace(1.0, 0.1, 8)), sample_snapshot())
    assert sorted(after.ids.tolist()) == sorted(c.id for c in CHUNKS)
    assert np.isfinite(after.score).all()


@pytest.mark.parametrize("weights", [{"cosine": 1.0}, dict.fromkeys(FEATURES, -1.0), dict.fromkeys(FEATURES, 10.0)])
@pytest.mark.parametrize("within", [Range("unit", 0.0, 1.0), Range("unit", 0.5, 0.75)])
def test_laws(weights, within):
    check_stage(Learned(weights=weights), within)


def test_a_misspelt_feature_names_the_nearest():
    with pytest.raises(ConfigError, match="cosin") as refused:
        Learned(weights={"cosin": 1.0})
    assert "cosine" in refused.value.cure


@pytest.mark.parametrize("weight", [float("nan"), 11.0, True])
def test_a_weight_out_of_range_is_refused(weight):
    with pytest.raises(ConfigError, match=r"learned\.weights\.cosine"):
        Learned(weights={"cosine": weight})


def test_raw_scores_are_refused():
    with pytest.raises(ConfigError, match="unit"):
        Learned().gives(Range("raw", 0.0, 9.0))


def test_the_shipped_weights_say_where_they_come_from():
    assert set(load_shipped_model()["weights"]) == set(NAMES)
    assert all(len(digest) == 64 for digest in load_shipped_model()["sets"].values())
    assert not any(split.split()[-1].startswith("test") for split in load_shipped_model()["sets"])
    assert json.dumps(Learned().weights) == json.dumps(load_shipped_model()["weights"])
