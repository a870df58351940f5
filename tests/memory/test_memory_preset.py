"""The preset `memory` from end to end over eight memories, every number computed by hand.

The query is "lisbon" with the vector (1, 0, 0), at NOW. Every memory has four words, so each is of average length
and BM25 over its ideal is  tf / (tf + 1.2 · (0.25 + 0.75 · 1)) = tf / (tf + 1.2):  1/2.2 = 0.4545 for one "lisbon",
4/5.2 = 0.7692 for four.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.config.load import from_dict, load
from assay.config.preflight import preflight
from assay.memory.config import convert
from assay.rerank import late_interaction
from assay.rerank.providers.table import PROVIDERS
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import DAY, Chunk, Query

NOW = 20_000 * DAY
LONG = "lisbon harbour crane permit".ljust(1000)

MEMORIES = (
    # id, text, vector, age in days, importance
    ("fresh", "lisbon office lease signed", (0.8, 0.6, 0.0), 0, 1.0),
    ("aging", "porto warehouse rent paid", (0.6, 0.0, 0.8), 14, 0.5),
    ("twin", "lisbon office lease renewed", (0.6, 0.8, 0.0), 0, 1.0),
    ("exact", "lisbon lisbon lisbon lisbon", (0.0, 0.0, 0.0), 0, 1.0),
    ("faded", "tram map lisbon centre", (0.0, 0.0, 0.0), 60, 0.7),
    ("weak", "bicycle tyre pump stolen", (0.25, -0.968246, 0.0), 0, 1.0),
    ("asked", "do you remember lisbon", (0.96, -0.28, 0.0), 0, 1.0),
    ("long", LONG, (0.8, -0.36, -0.48), 0, 1.0),
)
VECTORS = np.array([vector for _, _, vector, _, _ in MEMORIES], np.float32)
CHUNKS = [Chunk(name, name, text, 4, NOW - age * DAY, importance) for name, text, _, age, importance in MEMORIES]
QUERY = Query("lisbon", vector=np.array([1.0, 0.0, 0.0], np.float32), at=NOW)
LIGHT = from_dict(convert({"rerank": "lightweight"}).pipeline, "memory")


class Snapshot(MemorySnapshot):
    """A store that may lack one of its indexes."""

    lacking = ""

    @property
    def capabilities(self):
        return super().capabilities - {self.lacking}

    def lacks(self, capability):
        return f"there is no {capability} index" if capability == self.lacking else super().lacks(capability)


def snapshot(lacking=""):
    built = Snapshot(CHUNKS, VECTORS)
    built.lacking = lacking
    return built


def scores(answer, step):
    (span,) = [span for span in answer.trace if span.name == step]
    return dict(zip(span.ranking.ids.tolist(), span.ranking.score.tolist(), strict=True))


def near(expected):
    return pytest.approx(expected, abs=1e-6)


def test_every_memory_has_four_words():
    built = snapshot()
    assert {len(built.terms(chunk.text)) for chunk in CHUNKS} == {4}
    assert len(LONG) == 1000


ANSWER = LIGHT.run(QUERY, snapshot())


def test_legs():
    # max(0, cos) with the query; the two without a vector are not found.
    assert scores(ANSWER, "dense") == near(
        {"asked": 0.96, "fresh": 0.8, "long": 0.8, "aging": 0.6, "twin": 0.6, "weak": 0.25}
    )
    # tf / (tf + 1.2)
    assert scores(ANSWER, "bm25") == near(
        {"exact": 4 / 5.2, "asked": 1 / 2.2, "faded": 1 / 2.2, "fresh": 1 / 2.2, "long": 1 / 2.2, "twin": 1 / 2.2}
    )


FUSED = {
    "asked": 1.0,  # 0.96 · 1.15 = 1.104, held to 1
    "fresh": 0.92,  # 0.8 · 1.15
    "long": 0.92,  # 0.8 · 1.15
    "exact": 0.769231,  # words alone, above the floor
    "twin": 0.69,  # 0.6 · 1.15
    "aging": 0.6,  # meaning alone
    "faded": 0.5,  # words alone: max(0.4545, 0.5)
    "weak": 0.25,  # meaning alone
}


def test_fusion():
    assert scores(ANSWER, "fuse") == near(FUSED)


def test_minimum_before_the_rerank():
    assert scores(ANSWER, "minimum") == near({name: score for name, score in FUSED.items() if name != "weak"})


RERANKED = {
    "asked": 0.988,  # 0.7 · 1 + 0.3 · 0.96
    "fresh": 0.884,  # 0.7 · 0.92 + 0.3 · 0.8 = 0.644 + 0.24
    "long": 0.884,
    "exact": 0.769231,  # no vector: the score stays
    "twin": 0.663,  # 0.7 · 0.69 + 0.3 · 0.6 = 0.483 + 0.18
    "aging": 0.6,  # 0.7 · 0.6 + 0.3 · 0.6
    "faded": 0.5,
}


def test_lightweight_rerank():
    assert scores(ANSWER, "rerank") == near(RERANKED)


RECENT = {
    "asked": 1.0,  # 1.088, held to 1
    "fresh": 0.984,  # + 0.1 · exp(0)
    "long": 0.984,
    "exact": 0.869231,
    "twin": 0.763,
    "aging": 0.636788,  # + 0.1 · exp(−14/14) = 0.1 · 0.367879
    "faded": 0.501376,  # + 0.1 · exp(−60/14) = 0.1 · 0.013764
}


def test_recency():
    assert scores(ANSWER, "recency") == near(RECENT)


WEIGHED = RECENT | {
    "aging": 0.541270,  # × (0.7 + 0.3 · 0.5) = 0.85
    "faded": 0.456253,  # × (0.7 + 0.3 · 0.7) = 0.91
}


def test_importance():
    assert scores(ANSWER, "importance") == near(WEIGHED)


MEASURED = WEIGHED | {"long": 0.656}  # 1000 characters: × 1 / (1 + 0.5 · log2(2)) = 2/3


def test_length():
    assert scores(ANSWER, "length") == near(MEASURED)


DECAYED = MEASURED | {
    "aging": 0.484948,  # × (0.5 + 0.5 · exp(−14/60)) = 0.5 + 0.5 · 0.791890 = 0.895945
    "faded": 0.312050,  # × (0.5 + 0.5 · exp(−60/60)) = 0.5 + 0.5 · 0.367879 = 0.683940
}


def test_decay():
    assert scores(ANSWER, "decay") == near(DECAYED)


def test_hard_minimum_noise_and_deferral():
    cached = {name: score for name, score in DECAYED.items() if name != "faded"}
    assert scores(ANSWER, "hard_minimum") == near(cached)
    cached.pop("asked")
    assert scores(ANSWER, "noise") == near(cached)
    # cos(fresh, twin) = 0.8 · 0.6 + 0.6 · 0.8 = 0.96 > 0.85: the twin goes to the end, with the score it has.
    # cos(fresh, long) = 0.64 − 0.216 = 0.424, cos(long, aging) = 0.48 − 0.384 = 0.096: they stay.
    assert [(hit.id, hit.score) for hit in ANSWER] == [
        ("fresh", pytest.approx(0.984)),
        ("exact", near(0.869231)),
        ("long", pytest.approx(0.656)),
        ("aging", near(0.484948)),
        ("twin", pytest.approx(0.763)),
    ]
    assert ANSWER.status.word == "answered"


def test_whoever_is_not_there_has_a_reason():
    def last(name):
        return ANSWER.chunk_steps(name)[-1]

    assert (last("weak").step, last("weak").why) == ("minimum", "dropped: score below 0.3")
    assert (last("faded").step, last("faded").why) == ("hard_minimum", "dropped: score below 0.35")
    assert (last("asked").step, last("asked").why) == ("noise", "dropped: noise: meta_question")


def test_the_waterfall_tells_the_same():
    (aging,) = [hit for hit in ANSWER if hit.id == "aging"]
    assert [(line.name, round(line.score, 4)) for line in aging.waterfall] == [
        ("dense", 0.6),
        ("cosine.keep", 0.42),
        ("cosine", 0.6),
        ("recency", 0.6368),
        ("importance", 0.5413),
        ("decay", 0.4849),
    ]


def test_vector_mode():
    answer = from_dict(convert({"mode": "vector", "rerank": "none"}).pipeline).run(QUERY, snapshot())
    assert [span.name for span in answer.trace if span.kind in ("leg", "fuse")] == ["dense"]
    # Cosines alone: long 0.8 + 0.1, × 2/3 = 0.6; twin 0.6 + 0.1, deferred; aging as above without its rerank.
    assert [(hit.id, hit.score) for hit in answer] == [
        ("fresh", near(0.9)),
        ("long", near(0.6)),
        ("aging", near(0.484948)),
        ("twin", near(0.7)),
    ]
    assert answer.status.degraded == ()


def test_without_a_word_index_it_is_vector_mode_on_the_record():
    answer = LIGHT.run(QUERY, snapshot("lexical"))
    assert answer.status.degraded == ("bm25 skipped: there is no lexical index",)
    vector = from_dict(convert({"mode": "vector", "rerank": "lightweight"}).pipeline).run(QUERY, snapshot())
    assert [(hit.id, hit.score) for hit in answer] == [(hit.id, hit.score) for hit in vector]


def test_without_vectors_words_are_left_on_the_record():
    answer = LIGHT.run(replace(QUERY, vector=None), snapshot("dense"))
    assert [message.split(" skipped")[0] for message in answer.status.degraded] == ["dense", "rerank", "defer"]
    # Words alone: max(bm25, 0.5) + 0.1; faded as above; long × 2/3 = 0.4.
    assert [(hit.id, hit.score) for hit in answer] == [
        ("exact", near(0.869231)),
        ("fresh", near(0.6)),
        ("twin", near(0.6)),
        ("long", near(0.4)),
    ]


def test_without_a_moment_ages_are_skipped_on_the_record():
    answer = LIGHT.run(replace(QUERY, at=None), snapshot())
    assert [message.split(":")[0] for message in answer.status.degraded] == ["recency", "decay"]


def _forget_models():
    late_interaction.open_token_cache.cache_clear()
    late_interaction._load_encoder.cache_clear()


def test_the_preset_without_key_and_local_model_is_the_lightweight_one(monkeypatch, tmp_path):
    monkeypatch.delenv(PROVIDERS["jina"].key_env, raising=False)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    _forget_models()  # an earlier test of this process may have loaded one
    answer = load("memory").run(QUERY, snapshot())
    _forget_models()
    assert [(hit.id, hit.score) for hit in answer] == [(hit.id, hit.score) for hit in ANSWER]
    assert "late_interaction did not run" in answer.status.degraded[0]
    (rerank,) = (span for span in answer.trace if span.name == "rerank")
    assert PROVIDERS["jina"].key_env in rerank.notes[0].text


@pytest.mark.parametrize("given", [{}, {"mode": "vector"}, {"rerank": "lightweight"}, {"rerank": "none"}])
def test_preflight_has_nothing_to_say(given):
    assert preflight(from_dict(convert(given).pipeline)) == []
    assert preflight(load("memory")) == []


def test_asking_for_fewer_gives_a_prefix():
    most = [hit.id for hit in LIGHT.run(QUERY, snapshot(), k=10)]
    for k in range(1, 6):
        assert [hit.id for hit in LIGHT.run(QUERY, snapshot(), k=k)] == most[:k]


def test_every_score_stays_in_the_unit_interval():
    for span in ANSWER.trace:
        assert all(0.0 <= score <= 1.0 and math.isfinite(score) for score in span.ranking.score.tolist())
