"""The coverage packer: its objective by hand, its slots, and its sentence scorer."""

from pathlib import Path

import numpy as np
import pytest
from packing_cases import make_candidates, make_case, make_chunk

from assay.embed.installed_models import find_model
from assay.errors import ConfigError
from assay.select.context.candidates import make_pool
from assay.select.context.coverage import Coverage, standardise
from assay.select.context.scorers import SENTENCE_SCORERS
from assay.select.context.slots import _JOINS, QuerySlots
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.query.parse import parse_query
from assay.types import Query

PLAIN = {
    "scorer": "none",
    "words": 0.0,
    "sentence": 0.0,
    "terms": 0.0,
    "names": 0.0,
    "facets": 0.0,
    "hops": 0.0,
    "paths": 0.0,
}


def pack(query, chunks, tokens=400, scores=None, **settings):
    packer = Coverage(tokens=tokens, **{**PLAIN, **settings})
    return packer.pack(Query(query), make_candidates(chunks, scores), MemorySnapshot(chunks))


def slots_of(query, chunks):
    return QuerySlots(Query(query), make_pool(make_candidates(chunks)), MemorySnapshot(chunks))


def test_gains_by_hand():
    chunks = [make_chunk(1, "Rotate the key."), make_chunk(2, "Feed the cat.")]
    context = pack("rotate the key", chunks, scores=[0.9, 0.5], terms=4.0)
    # z of (.9, .5) is (1, -1); less the lowest and plus .01: 2.01 and .01. The first has both terms: all of the idf.
    assert [round(one.gain, 9) for one in context.sentences] == [6.01, 0.01]
    assert context.sentences[0].covers == ("key", "rotat")
    assert context.sentences[0].why() == f"+6.01 for {context.sentences[0].cost} tokens, covers key, rotat"
    assert context.sentences[1].covers == ()


def test_a_term_counts_once():
    chunks = [
        make_chunk(1, "Rotate the key."),
        make_chunk(2, "Rotate the key now."),
        make_chunk(3, "The vault is open."),
    ]
    tokens = pack("rotate key vault", chunks[::2], terms=4.0).tokens
    twice = pack("rotate key vault", chunks, tokens, scores=[0.5, 0.5, 0.5], terms=4.0)
    assert [one.citation for one in twice.sentences] == [1, 3], "the second sentence covers nothing new"
    naive = pack("rotate key vault", chunks, tokens, scores=[0.5, 0.4, 0.3])
    assert [one.citation for one in naive.sentences] == [1, 2]


def test_the_cost_scales_the_gain():
    chunks = [make_chunk(1, "A key " + "and a lock and a door " * 5 + "too."), make_chunk(2, "A key.")]
    greedy = pack("key", chunks, 60, scores=[0.51, 0.5], words=1.0, power=0.0)
    scaled = pack("key", chunks, 60, scores=[0.51, 0.5], terms=4.0, power=1.0)
    assert greedy.sentences[0].citation == 1
    order = sorted(scaled.sentences, key=lambda one: -len(one.covers))
    assert order[0].citation == 2, "the short one is taken first, and covers the term"


def test_the_best_single_sentence_wins_where_greedy_by_ratio_fails():
    long = make_chunk(1, "Rotate the signing key of the vault in Lisbon with both people of the security team there.")
    short = make_chunk(2, "Keys.")
    asked = "rotate signing key vault Lisbon security team people"
    tokens = pack(asked, [long]).tokens
    only_one = pack(asked, [long, short], tokens, scores=[0.4, 0.5], terms=4.0, power=1.0)
    (sentence,) = only_one.sentences
    assert (sentence.citation, sentence.covers) == (1, ("more than all others that fit together",))
    assert only_one.tokens == tokens


def test_slots_of_terms_read_the_header_too():
    slots = slots_of("signing key", [make_chunk(1, "Rotate it.", title="The signing key"), make_chunk(2, "A key.")])
    assert slots.term_names == ("key", "sign")
    assert slots.terms.tolist() == [[True, True], [True, False]]
    assert slots.overlap[0] == pytest.approx(1.0)
    assert slots.term_weights.sum() == pytest.approx(1.0)


def test_a_document_that_the_query_names():
    chunks = [make_chunk(1, "He was born.", title="Ed Wood (film)"), make_chunk(2, "So was he.", title="Wood")]
    slots = slots_of("who directed ed wood?", chunks)
    assert slots.names == ("Ed Wood", "Wood")
    assert slots_of("who is Ed Woodward?", chunks).names == (), "only between word boundaries"
    context = pack("who directed ed wood?", chunks, names=1.0)
    assert "the document 'Ed Wood'" in context.sentences[0].covers


def test_a_hop_follows_a_name_in_a_chosen_sentence():
    chunks = [
        make_chunk(1, "Corliss Archer was played by Shirley Temple.", title="Kiss and Tell", doc="film"),
        make_chunk(2, "Corliss Archer is a name.", title="Names", doc="names"),
        make_chunk(3, "She was Chief of Protocol.", title="Shirley Temple", doc="temple"),
    ]
    asked = "what position did the woman who played Corliss Archer hold?"
    slots = slots_of(asked, chunks)
    assert np.argwhere(slots.mentions).tolist() == [[0, 2]]
    with_hops = pack(asked, chunks, 36, scores=[0.9, 0.5, 0.4], hops=1.5)
    assert [one.citation for one in with_hops.sentences] == [1, 3]
    assert with_hops.sentences[1].covers == ("a document that [1] names",)
    without = pack(asked, chunks, 36, scores=[0.9, 0.5, 0.4])
    assert [one.citation for one in without.sentences] == [1, 2]


def test_a_common_title_is_no_hop():
    texts = [f"Security comes first, number {number}." for number in range(8)]
    chunks = [make_chunk(number, text, title=f"Page {number}") for number, text in enumerate(texts)]
    chunks.append(make_chunk(99, "The officer is Ada.", title="Security"))
    assert not slots_of("who is responsible?", chunks).mentions.any()
    assert slots_of("who is responsible?", [*chunks[:3], chunks[-1]]).mentions.any()


def test_facets_of_a_comparison():
    chunks = [make_chunk(1, "Berlin keeps it a year."), make_chunk(2, "Madrid keeps it two."), make_chunk(3, "A cat.")]
    asked = "compare the retention of Berlin and Madrid"
    slots = slots_of(asked, chunks)
    assert slots.facets == ("the retention of Berlin", "the retention of Madrid")
    assert slots.faceted.tolist() == [[True, False], [False, True], [False, False]]
    assert slots_of("how long is it kept?", chunks).faceted.shape == (3, 0)
    assert slots_of("changes between May 2024 and April 2020", chunks).facets == (), (
        "a bad range of dates has no facets"
    )


def test_a_query_without_a_joining_word_has_one_facet():
    table = Path(__file__).parents[1] / "text" / "query_labels.tsv"
    queries = [line.split("\t")[0] for line in table.read_text("utf-8").splitlines() if line and line[0] != "#"]
    assert len(queries) > 50
    for text in queries:
        if not _JOINS.search(text):
            assert len(parse_query(text, 1.7e9).facets) == 1, text


def test_standard_scores():
    assert standardise(np.array([1.0, 2.0, 3.0])).tolist() == pytest.approx([-1.2247449, 0.0, 1.2247449])
    assert standardise(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]
    assert standardise(np.array([])).tolist() == []


def test_without_a_model_words_decide_and_a_note_says_so():
    candidates, snapshot = make_case("Rotate the key.", "Feed the cat.")
    context = Coverage(model="nosuchmodel").pack(Query("rotate"), candidates, snapshot)
    (note,) = context.notes
    assert note.kind == "degraded"
    assert note.cure
    words = Coverage(scorer="none").pack(Query("rotate"), candidates, snapshot)
    assert (context.text, words.notes) == (words.text, ())
    assert "no text" in Coverage().pack(Query(""), candidates, snapshot).notes[0].text


@pytest.mark.parametrize(
    "settings", [{"scorer": "embeding"}, {"terms": -1.0}, {"power": 2.0}, {"pool": 0}, {"hops": float("nan")}]
)
def test_bad_settings(settings):
    with pytest.raises(ConfigError, match=f"coverage.{next(iter(settings))}") as caught:
        Coverage(**settings)
    assert caught.value.cure


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_the_model_finds_what_words_do_not():
    texts = ["The automobile must be refuelled.", "A cat sleeps on the roof."]
    scores = SENTENCE_SCORERS["embedding"](["put petrol into the car"], texts, "minilm")[0]
    assert scores[0] > scores[1] + 0.2
    assert np.abs(scores).max() <= 1.0 + 1e-6
    candidates, snapshot = make_case(texts[1], texts[0])
    context = Coverage(tokens=12, sentence=2.0).pack(Query("put petrol into the car"), candidates, snapshot)
    assert [one.citation for one in context.sentences] == [2]


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_of_many_sentences_the_most_promising_are_scored(monkeypatch):
    monkeypatch.setattr("assay.select.context.coverage.MOST_SCORED", 2)
    candidates, snapshot = make_case("Cats sleep.", "Rotate the key.", "Keys are rotated.", "Dogs bark.")
    pool = make_pool(make_candidates([one.chunk for one in candidates], [0.5] * 4))
    query = Query("rotate the key")
    scores = Coverage().score_sentences(query, pool, QuerySlots(query, pool, snapshot))[0].values
    texts = [sentence.text for sentence in pool.sentences]
    every = SENTENCE_SCORERS["embedding"]([query.text], texts, "minilm")[0]
    assert scores[1:3].tolist() == every[1:3].tolist()
    assert scores[0] == scores[3] == every[1:3].min()
