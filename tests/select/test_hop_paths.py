"""Hop paths: names, rewritten queries, and the bonus by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packing_cases import make_candidates, make_chunk

from assay.select.context.candidates import make_pool
from assay.select.context.coverage import Coverage, SentenceScores
from assay.select.context.hop_paths import TEMPERATURE, HopBonus, find_hop_names, rewrite_query, score_hops
from assay.select.context.slots import QuerySlots
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.names import find_names, fold_words
from assay.types import Query

CHUNKS = [
    make_chunk(1, "Outside help for Project Tall Verge comes from Corvid Biometrics.", title="Project Tall Verge"),
    make_chunk(2, "The deal is signed. It runs as CTR-64678.", title="Corvid Biometrics fact sheet"),
    make_chunk(3, "Our contact is Ada Holm.", title="Corvid Biometrics fact sheet", section="Operations"),
    make_chunk(4, "She sits at desk 7.", title="Who is who", section="Ada Holm"),
    make_chunk(5, "A cat sleeps.", title="Cats"),
]
ASKED = "What is the contract code of the subcontractor on Project Tall Verge?"


def make_scorer(table, least=0.0):
    """A scorer that gives a sentence what the table says, whatever the query."""

    def score(queries, sentences):
        return np.array([[table.get(sentence, least) for sentence in sentences] for _ in queries])

    return score


def test_names_by_their_shape():
    assert find_names("In May, Corvid Biometrics met sable-loader about TKT-5320.") == [
        "corvid biometrics",
        "tkt5320",
        "sable-loader",
        "tkt-5320",
    ]
    assert find_names("Legal keeps it.") == [], "one capitalised word at the start of a sentence"
    assert fold_words("Who is who: Fleet › Ada Holm") == " who is who fleet ada holm "


def test_names_lead_on_in_two_hops():
    own, start, names = find_hop_names(ASKED, make_pool(make_candidates(CHUNKS)))
    assert own == ["project tall verge"]
    assert start == [0]
    assert [(one.name, one.sources, one.targets, one.before) for one in names] == [
        ("corvid biometrics", (0,), (1, 2, 3), -1),
        ("ada holm", (3,), (4,), 0),
    ]


def test_paths_are_off_by_default():
    pool = make_pool(make_candidates(CHUNKS))
    slots = QuerySlots(Query(ASKED), pool, MemorySnapshot(CHUNKS))
    assert Coverage().paths == 0.0
    assert Coverage(scorer="none", paths=6.0).score_sentences(Query(ASKED), pool, slots)[0].hops is None


def test_a_query_without_names_has_no_paths():
    pool = make_pool(make_candidates(CHUNKS))
    assert find_hop_names("what does it cost?", pool) == ([], [], [])
    assert score_hops("what does it cost?", pool, np.zeros(len(pool)), make_scorer({})) is None


def test_the_query_is_written_with_the_name():
    assert rewrite_query(ASKED, ["project tall verge"], "corvid biometrics") == (
        "what is the contract code of the subcontractor on corvid biometrics?"
    )
    assert rewrite_query("who owns it?", ["larch-engine"], "ada holm") == "ada holm who owns it?"


def test_the_bonus_by_hand():
    pool = make_pool(make_candidates(CHUNKS))
    direct = np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    table = {"It runs as CTR-64678.": 0.6, "The deal is signed.": 0.52, "She sits at desk 7.": 0.44}
    bonus = score_hops(ASKED, pool, direct, make_scorer(table))
    # The best target is .2 above the best source: the need is 1. Distances of .08 are one temperature.
    assert TEMPERATURE == 0.08
    assert bonus.values[2] == pytest.approx(1.0)
    assert bonus.values[1] == pytest.approx(np.exp(-1.0))
    assert bonus.values[4] == pytest.approx(np.exp(-2.0)), "behind two hops"
    assert bonus.values[0] == pytest.approx(1.0), "the source has the bonus of its best path"
    assert bonus.values[5] == 0.0
    assert bonus.names[2] == bonus.names[0] == "corvid biometrics"


@pytest.mark.parametrize(("direct", "need"), [(0.6, 0.5), (0.62, 0.3), (0.64, 0.1)])
def test_a_direct_answer_needs_no_hop(direct, need):
    pool = make_pool(make_candidates(CHUNKS))
    scores = np.array([direct, 0.0, 0.0, 0.0, 0.0, 0.0])
    bonus = score_hops(ASKED, pool, scores, make_scorer({"It runs as CTR-64678.": 0.6}))
    assert bonus.values.max() == pytest.approx(need)
    assert score_hops(ASKED, pool, scores + 0.1, make_scorer({"It runs as CTR-64678.": 0.6})) is None


def test_the_packer_takes_what_is_on_a_path_and_says_so():
    candidates, snapshot = make_candidates(CHUNKS, [0.9, 0.2, 0.2, 0.2, 0.6]), MemorySnapshot(CHUNKS)
    pool = make_pool(candidates)
    slots = QuerySlots(Query(ASKED), pool, snapshot)
    bonus = HopBonus(np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0]), ("", "", "corvid biometrics", "", "", ""))
    packer = Coverage(tokens=42, paths=6.0, words=0.0, sentence=0.0, terms=0.0, names=0.0, hops=0.0)
    with_paths = packer.choose(candidates, pool, slots, SentenceScores(np.zeros(6), bonus))
    assert "CTR-64678" in with_paths.text
    assert "a path over 'corvid biometrics'" in [cover for one in with_paths.sentences for cover in one.covers]
    without = packer.choose(candidates, pool, slots, SentenceScores(np.zeros(6)))
    assert "CTR-64678" not in without.text


@given(
    st.integers(1, 120),
    st.lists(st.floats(0.0, 1.0, allow_nan=False), min_size=6, max_size=6),
    st.floats(0.0, 100.0, allow_nan=False),
)
def test_paths_never_break_the_budget(tokens, values, weight):
    candidates, snapshot = make_candidates(CHUNKS), MemorySnapshot(CHUNKS)
    pool = make_pool(candidates)
    slots = QuerySlots(Query(ASKED), pool, snapshot)
    scores = SentenceScores(np.zeros(6), HopBonus(np.array(values), ("x",) * 6))
    context = Coverage(tokens=tokens, paths=weight).choose(candidates, pool, slots, scores)
    assert context.tokens <= tokens
