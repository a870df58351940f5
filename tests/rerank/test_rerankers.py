"""Rerankers against values computed by hand, with a real (tiny) ONNX model where one is read."""

import hashlib
import math
import shutil

import numpy as np
import pytest

from assay.config.registry import digested_settings
from assay.embed import load
from assay.embed.bert import BertEncoder
from assay.embed.installed_models import find_model
from assay.embed.token_cache import CachedTokens
from assay.embed.token_codes import BITS, open_coder
from assay.errors import ConfigError
from assay.rerank import late_interaction
from assay.rerank.cosine import Cosine
from assay.rerank.cross_encoder import CrossEncoder
from assay.rerank.late_interaction import LateInteraction
from assay.rerank.pair_cache import open_pair_cache
from assay.rerank.pair_reader import load_pair_reader
from assay.rerank.standard_blend import blend, rescale
from assay.rerank.text_scorers import CrossEncoderScorer
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import CHUNKS, QUERIES, sample_snapshot
from assay.types import Chunk, Query, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
RAW = Range("raw", 0.0, 40.0)


def by_id(ranking):
    return dict(zip(ranking.ids.tolist(), ranking.score.tolist(), strict=True))


def texts(**texts):
    return MemorySnapshot([Chunk(name, "d", text, 1) for name, text in texts.items()])


# -- cosine


def test_cosine_of_002():
    """0.7 · score + 0.3 · cosine with (1, 0, 0): keys-1 has 1, keys-3 0.6, odd-2 -1, odd-1 no vector."""
    candidates = found({"keys-3": 0.9, "keys-1": 0.5, "odd-1": 0.3, "odd-2": 0.2})
    ranking = Cosine().apply(QUERIES[0], candidates, sample_snapshot())
    expected = {"keys-3": 0.63 + 0.18, "keys-1": 0.35 + 0.3, "odd-1": 0.3, "odd-2": 0.0}
    assert by_id(ranking) == pytest.approx(expected, abs=1e-7)
    assert [part.name for part in ranking.parts] == ["found", "cosine.keep", "cosine", "clamp"]


def test_cosine_without_a_query_vector():
    ranking = Cosine().apply(Query("key"), found({"keys-1": 0.5}), sample_snapshot())
    assert by_id(ranking) == {"keys-1": 0.5}
    assert ranking.notes[0].kind == "skipped"
    assert Cosine.needs == {"dense", "vector"}


# -- late interaction


def test_blend_by_hand():
    # Two values have z of +1 and -1, whatever they are; an unknown one is average.
    assert blend(np.array([0.9, 0.1]), np.array([5.0, 7.0]), 0.5).tolist() == pytest.approx([0.5, -0.5])
    assert blend(np.array([0.9, 0.1]), np.array([np.nan, 7.0]), 0.5).tolist() == pytest.approx([1.0, -1.0])
    assert blend(np.array([0.4, 0.4]), np.array([3.0, 3.0]), 0.5).tolist() == [0.0, 0.0]


def test_deal_by_hand():
    score = np.array([0.9, 0.6, 0.5])
    assert rescale(score, np.array([0.0, 1.0, 4.0]), 0.4).tolist() == pytest.approx([0.5, 0.6, 0.9])
    # The last one ties with the first outside: the worst gets the middle of .9 and .5.
    assert rescale(score, np.array([0.0, 1.0, 4.0]), 0.5).tolist() == pytest.approx([0.7, 0.75, 0.9])
    # Equal scores: the worst gets the middle of .8 and the first outside, or of .8 and 0.
    equal = np.array([0.8, 0.8])
    assert rescale(equal, np.array([0.0, 1.0]), 0.4).tolist() == pytest.approx([0.6, 0.8])
    assert rescale(equal, np.array([0.0, 1.0]), None).tolist() == pytest.approx([0.4, 0.8])
    assert rescale(score, np.zeros(3), 0.4).tolist() == score.tolist()


@pytest.fixture
def words(monkeypatch, tmp_path):
    """The real encoder class over a table of words instead of weights: equal words are equal vectors, others have
    cosine 0. The rows of a Hadamard matrix are such vectors, and lose nothing when only signs are kept."""
    from assay.text.wordpiece import encode_pieces

    table = np.ones((1, 1), np.float32)
    for _ in range(6):
        table = np.block([[table, table], [table, -table]])
    table /= 8.0
    known = {}

    def hidden(ids):
        return np.stack([table[known.setdefault(i, len(known) % 64)] for i in ids])

    tiny = BertEncoder("tiny", "tiny", 64, 64, 1, hidden)
    assert len(encode_pieces("alpha beta")) >= 2
    kept = {bits: CachedTokens(open_coder(tiny, bits), tmp_path / "t.sqlite") for bits in BITS}
    monkeypatch.setattr(late_interaction, "open_token_cache", lambda _, bits: kept[bits])


@pytest.mark.usefixtures("words")
def test_late_interaction_moves_what_matches_up_and_leaves_the_rest():
    snapshot = texts(a="blue", b="green", c="red car", d="red car too", e="red car")
    candidates = found({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5})
    ranking = LateInteraction(pool=3, weight=4.0).apply(Query("red car"), candidates, snapshot)
    assert ranking.ids.tolist() == ["c", "a", "b", "d", "e"]
    got = by_id(ranking)
    assert (got["c"], got["b"]) == pytest.approx((0.9, 0.7))  # the band of the pool, dealt out anew
    assert (got["d"], got["e"]) == (0.6, 0.5)  # outside the pool
    # z of .9 .8 .7 is ±1.2247 and 0; z of MaxSim 0 0 1 is -.7071 twice and 1.4142.
    low, mid, high = 4 * -math.sqrt(0.5), math.sqrt(1.5) - 4 * math.sqrt(0.5), 4 * math.sqrt(2) - math.sqrt(1.5)
    assert got["a"] == pytest.approx(0.7 + 0.2 * (mid - low) / (high - low))


@pytest.mark.usefixtures("words")
def test_late_interaction_blends_tier_by_tier():
    from dataclasses import replace

    snapshot = texts(a="blue", b="red", c="blue", d="red")
    candidates = replace(found({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}), tier=np.array([0, 0, 1, 1], np.int32))
    ranking = LateInteraction(weight=9.0).apply(Query("red"), candidates, snapshot)
    assert ranking.ids.tolist() == ["b", "a", "d", "c"]
    assert ranking.tier.tolist() == [0, 0, 1, 1]


@pytest.mark.usefixtures("words")
def test_late_interaction_both_ways():
    """Asked for "red", a text of nothing but red is like the query from both sides; from one side they are equal."""
    snapshot = texts(a="red and many other things", b="red")
    candidates = found({"a": 0.6, "b": 0.5})
    for match, order in (("query", ["a", "b"]), ("both", ["b", "a"])):
        assert LateInteraction(weight=9.0, match=match).apply(Query("red"), candidates, snapshot).ids.tolist() == order


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_late_interaction_cold_and_warm(tmp_path, monkeypatch):
    """To the bit, whether the vectors are made, read from the file or held in memory."""
    candidates = found({chunk.id: 0.9 - place / 10 for place, chunk in enumerate(CHUNKS)})
    seen = set()
    model = load("minilm")
    for memory in (0, 1 << 20):
        place = tmp_path / f"{memory}.sqlite"
        kept = {bits: CachedTokens(open_coder(model, bits), place, memory=memory) for bits in BITS}
        monkeypatch.setattr(late_interaction, "open_token_cache", lambda _, bits, kept=kept: kept[bits])
        for bits in (*BITS, *BITS):
            ranking = LateInteraction(bits=bits).apply(Query("rotate the key"), candidates, sample_snapshot())
            seen.add((bits, ranking.score.tobytes(), tuple(ranking.ids.tolist())))
        assert [tokens.disk_cache.bypassed for tokens in kept.values()] == [0, 0]
    assert len(seen) == 2


@pytest.mark.usefixtures("words")
def test_late_interaction_without_text():
    candidates = found({"odd-1": 0.9, "keys-1": 0.5})
    ranking = LateInteraction().apply(Query("  "), candidates, sample_snapshot())
    assert (by_id(ranking), ranking.notes[0].kind) == (by_id(candidates), "skipped")
    # odd-1 has no text to read: MaxSim is unknown for it, average for all.
    assert LateInteraction().apply(Query("key"), candidates, sample_snapshot()).ids.tolist() == ["odd-1", "keys-1"]


def _forget_models():
    late_interaction.open_token_cache.cache_clear()
    late_interaction._load_encoder.cache_clear()


def test_a_missing_model_is_on_the_record(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    _forget_models()
    candidates = found({"keys-1": 0.9, "keys-2": 0.5})
    for model, cure in (("minilm", "assay model install"), ("miniln", "did you mean 'minilm'"), ("none", "minilm")):
        ranking = LateInteraction(model=model).apply(Query("key"), candidates, sample_snapshot())
        assert by_id(ranking) == by_id(candidates)
        assert ranking.notes[0].kind == "degraded"
        assert cure in ranking.notes[0].cure
    _forget_models()


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_the_real_model_prefers_what_answers():
    snapshot = texts(
        a="The cafeteria serves lunch from noon until two.",
        b="Signing keys are rotated every ninety days by the security team.",
        c="Parking is free on weekends.",
    )
    candidates = found({"a": 0.52, "b": 0.51, "c": 0.5})
    ranking = LateInteraction(weight=2.0).apply(Query("how often do we rotate the signing key?"), candidates, snapshot)
    assert ranking.ids[0] == "b"
    assert ranking.notes == ()


# -- cross-encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A real cross-encoder whose logit is twice the number of "key" in query and text, minus three."""
    return build(tmp_path_factory.mktemp("encoder"), columns=1)


def build(path, columns):
    from onnx import TensorProto, helper, numpy_helper, save
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "key": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(path / "tokenizer.json"))
    constants = {"one": np.int64(1), "axis": np.array([1]), "two": np.float32(2), "three": np.float32(3)}
    nodes = [
        helper.make_node("Equal", ["input_ids", "one"], ["is_key"]),
        helper.make_node("Cast", ["is_key"], ["as_number"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["as_number", "axis"], ["count"], keepdims=1),
        helper.make_node("Mul", ["count", "two"], ["double"]),
        helper.make_node("Sub", ["double", "three"], ["logit"]),
    ]
    if columns == 1:
        nodes.append(helper.make_node("Identity", ["logit"], ["logits"]))
    else:
        nodes.append(helper.make_node("Neg", ["logit"], ["other"]))
        nodes.append(helper.make_node("Concat", ["other", "logit"] + ["logit"] * (columns - 2), ["logits"], axis=1))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "t"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, columns])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path / "model.onnx")
    return str(path)


SNAPSHOT = texts(none="no such thing", one="a key", two="key key", three="key key key")


def test_cross_encoder_of_002(folder):
    candidates = found({"none": 0.9, "one": 0.8, "two": 0.7, "three": 0.6})
    ranking = CrossEncoder(folder, pool=3).apply(Query("key"), candidates, SNAPSHOT)
    # logits -1, 1, 3 → sigmoid .268941, .731059, .952574; 60 % of it, 40 % of the score; unread: 80 % of the score.
    expected = {
        "two": 0.6 * 0.952574 + 0.28,
        "one": 0.6 * 0.731059 + 0.32,
        "none": 0.6 * 0.268941 + 0.36,
        "three": 0.48,
    }
    assert by_id(ranking) == pytest.approx(expected, abs=1e-6)
    assert ranking.ids.tolist() == ["two", "one", "none", "three"]


def test_cross_encoder_blends_standard_scores(folder):
    candidates = found({"none": 0.9, "one": 0.8, "two": 0.7, "three": 0.6})
    ranking = CrossEncoder(folder, pool=3, weight=2.0, blend="standard").apply(Query("key"), candidates, SNAPSHOT)
    # Scores .9 .8 .7 and logits -1 1 3: z = 1.2247, 0, -1.2247 and its opposite. z + 2z' = -1.2247, 0, 1.2247, mapped
    # onto the pool's own range .7 … .9; the fourth was not read and keeps its score.
    assert by_id(ranking) == pytest.approx({"two": 0.9, "one": 0.8, "none": 0.7, "three": 0.6})
    assert ranking.ids.tolist() == ["two", "one", "none", "three"]
    unread = CrossEncoder(folder, weight=2.0, blend="standard").apply(
        Query("key"), found({"one": 0.9, "two": 0.8, "elsewhere": 0.7}), SNAPSHOT
    )
    # A candidate without text counts as average: z' = -1, 1, 0 of the two logits that are known.
    assert unread.ids.tolist() == ["two", "one", "elsewhere"]
    assert CrossEncoder("x", blend="standard").gives(Range("unit", 0.5, 0.75)) == Range("unit", 0.25, 0.75)


def test_a_cross_encoder_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    step, candidates = CrossEncoder(model="tiny-ce"), found({"one": 0.5, "two": 0.4})
    (note,) = step.apply(Query("key"), candidates, SNAPSHOT).notes
    assert (note.kind, "cross_encoder.path" in note.cure) == ("degraded", True)
    home = tmp_path / "models" / "tiny-ce"
    home.mkdir(parents=True)
    ranking = step.apply(Query("key"), candidates, SNAPSHOT) if build(home, columns=1) else None
    assert ranking is not None
    assert ranking.notes == ()
    assert by_id(ranking) == by_id(CrossEncoder(str(home)).apply(Query("key"), candidates, SNAPSHOT))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs one of path and model"),
        ({"path": "a", "model": "b"}, "needs one of path and model"),
        ({"model": "../elsewhere"}, "is no name"),
        ({"path": "a", "weight": 2.0}, "weight"),
        ({"path": "a", "blend": "best"}, "blend"),
    ],
)
def test_bad_settings_of_a_cross_encoder(settings, message):
    with pytest.raises(ConfigError, match=message):
        CrossEncoder(**settings)


def test_later_settings_leave_older_digests_alone():
    assert set(digested_settings(CrossEncoder("x"))) == {"path", "weight", "pool", "unread", "max_tokens", "sha256"}
    changed = CrossEncoder(model="x", blend="standard", cache=True)
    assert {"model", "blend", "cache"} <= set(digested_settings(changed))


def test_a_model_is_loaded_before_the_question_that_first_needs_it(folder, monkeypatch):
    """Deadlines call `prepare` outside every cap. A model that is not there is told by the question, not here."""
    load_pair_reader.cache_clear()
    CrossEncoder(folder).prepare()
    assert load_pair_reader.cache_info().currsize == 1
    assert CrossEncoder(folder).apply(Query("key"), found({"one": 0.5}), SNAPSHOT).notes == ()
    assert load_pair_reader.cache_info().misses == 1
    CrossEncoder("nowhere").prepare()
    questions = []
    monkeypatch.setattr(late_interaction, "open_token_cache", lambda *what: questions.append(what))
    LateInteraction(bits=8).prepare()
    assert questions == [("minilm", 8)]
    monkeypatch.undo()
    LateInteraction(model="none").prepare()


def test_a_cached_cross_encoder_ranks_the_same_and_reads_a_pair_once(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    open_pair_cache.cache_clear()
    candidates = found({"one": 0.5, "none": 0.4})
    plain = CrossEncoder(folder).apply(Query("key"), candidates, SNAPSHOT)
    for _ in range(2):
        assert by_id(CrossEncoder(folder, cache=True).apply(Query("key"), candidates, SNAPSHOT)) == by_id(plain)
    cached = open_pair_cache(folder, "", 512)
    assert (cached.hits, cached.misses) == (2, 2)
    assert (tmp_path / "pairs.sqlite").exists()
    assert CrossEncoderScorer(folder).score("key", ["key key"]).shape == (1,)
    open_pair_cache.cache_clear()


def test_a_scorer_takes_the_name_of_an_installed_model(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    open_pair_cache.cache_clear()
    shutil.copytree(folder, tmp_path / "models" / "tiny")
    expected = CrossEncoderScorer(folder).score("key", ["key", "other"])
    assert CrossEncoderScorer("tiny").score("key", ["key", "other"]).tolist() == expected.tolist()
    open_pair_cache.cache_clear()


def test_cross_encoder_with_two_classes(tmp_path):
    """Second logit minus first is 2x, so x = -1 gives sigmoid(-2)."""
    ranking = CrossEncoder(build(tmp_path, columns=2), weight=1.0).apply(Query("key"), found({"none": 0.9}), SNAPSHOT)
    assert by_id(ranking) == pytest.approx({"none": 0.119203}, abs=1e-6)


def test_cross_encoder_cuts_long_pairs(folder):
    long = texts(long="key " * 10_000)
    ranking = CrossEncoder(folder, weight=1.0, max_tokens=8).apply(Query("x"), found({"long": 0.5}), long)
    assert by_id(ranking) == pytest.approx({"long": 1 / (1 + math.exp(-(2 * 7 - 3)))})


@pytest.mark.parametrize("text", ["\ud800 key", "\0", "🔑" * 50, "key " * 3000])
def test_cross_encoder_reads_any_query(folder, text):
    ranking = CrossEncoder(folder).apply(Query(text), found({"one": 0.5, "none": 0.4}), SNAPSHOT)
    assert ranking.notes == ()
    assert len(ranking) == 2


def test_cross_encoder_without_text(folder):
    ranking = CrossEncoder(folder).apply(Query(""), found({"one": 0.5}), SNAPSHOT)
    assert (by_id(ranking), ranking.notes[0].kind) == ({"one": 0.5}, "skipped")
    ranking = CrossEncoder(folder).apply(Query("key"), found({"one": 0.5, "elsewhere": 0.4}), SNAPSHOT)
    assert by_id(ranking)["elsewhere"] == pytest.approx(0.32)


def broken(tmp_path, how):
    path = tmp_path / how
    path.mkdir()
    if how == "no tokenizer":
        build(path, columns=1)
        (path / "tokenizer.json").unlink()
    elif how == "bad model":
        build(path, columns=1)
        (path / "model.onnx").write_bytes(b"not a model")
    elif how == "bad tokenizer":
        build(path, columns=1)
        (path / "tokenizer.json").write_text("{}")
    elif how == "three classes":
        build(path, columns=3)
    return str(path)


@pytest.mark.parametrize("how", ["empty", "no tokenizer", "bad model", "bad tokenizer", "three classes"])
def test_a_broken_cross_encoder_is_on_the_record(tmp_path, how):
    candidates = found({"one": 0.5, "none": 0.4})
    ranking = CrossEncoder(broken(tmp_path, how)).apply(Query("key"), candidates, SNAPSHOT)
    assert by_id(ranking) == by_id(candidates)
    (note,) = ranking.notes
    assert note.kind == "degraded"
    assert note.cure


def test_a_pinned_cross_encoder(folder):
    with open(f"{folder}/model.onnx", "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    candidates = found({"one": 0.5})
    assert CrossEncoder(folder, sha256=digest).apply(Query("key"), candidates, SNAPSHOT).notes == ()
    ranking = CrossEncoder(folder, sha256="0" * 64).apply(Query("key"), candidates, SNAPSHOT)
    assert "is not the file that cross_encoder.sha256 names" in ranking.notes[0].text


def test_cross_encoder_without_the_extra(folder, monkeypatch):
    import sys

    from assay.rerank.pair_reader import load_pair_reader

    load_pair_reader.cache_clear()
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    ranking = CrossEncoder(folder).apply(Query("key"), found({"one": 0.5}), SNAPSHOT)
    assert "pip install -e '.[onnx]'" in ranking.notes[0].cure


# -- all of them


@pytest.mark.parametrize("stage", [Cosine(), LateInteraction(), CrossEncoder("x")])
def test_raw_scores_are_refused(stage):
    with pytest.raises(ConfigError, match="needs unit scores"):
        stage.gives(RAW)
    assert stage.gives(UNIT) == UNIT
    assert len(stage.apply(QUERIES[0], Ranking.empty("unit"), sample_snapshot())) == 0


def test_ranges():
    assert Cosine(0.25).gives(Range("unit", 0.8, 0.9)) == Range("unit", pytest.approx(0.35), pytest.approx(0.925))
    assert LateInteraction().gives(Range("unit", 0.5, 0.75)) == Range("unit", 0.25, 0.75)
    assert CrossEncoder("x").gives(Range("unit", 0.5, 0.5)) == Range("unit", 0.2, pytest.approx(0.8))


@pytest.mark.parametrize(
    ("stage", "settings"),
    [
        (Cosine, {"weight": 1.5}),
        (LateInteraction, {"pool": 1}),
        (LateInteraction, {"weight": -1.0}),
        (LateInteraction, {"bits": 4}),
        (LateInteraction, {"match": "neither"}),
        (CrossEncoder, {"path": ""}),
        (CrossEncoder, {"path": "x", "unread": math.nan}),
        (CrossEncoder, {"path": "x", "max_tokens": 2}),
    ],
)
def test_impossible_settings(stage, settings):
    with pytest.raises(ConfigError, match=f"{list(settings)[-1]} = "):
        stage(**settings)
