"""Every scorer against values computed by hand, most of them the memory pipeline's own table."""

import math

import numpy as np
import pytest

from assay.errors import ConfigError, QueryError
from assay.score.decay import Decay
from assay.score.exact_bonus import ExactBonus
from assay.score.field_boost import FieldBoost
from assay.score.importance import Importance
from assay.score.length import Length
from assay.score.recency import Recency
from assay.score.title_match import TitleMatch
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import CHUNKS, NOW, sample_snapshot
from assay.types import DAY, Chunk, Query, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
RAW = Range("raw", 0.0, math.inf)
COSINE = Range("raw", -1.0, 1.0)
DATED = Query("signing key", at=NOW)


def aged(**days):
    """A snapshot of chunks of these ages in days; None is undated."""
    return MemorySnapshot(
        [Chunk(name, "doc", "text", 1, math.nan if age is None else NOW - age * DAY) for name, age in days.items()]
    )


def after(stage, scores, snapshot, query=DATED):
    return stage.apply(query, found(scores), snapshot)


def by_id(ranking):
    return dict(zip(ranking.ids.tolist(), ranking.score.tolist(), strict=True))


def test_recency_of_002():
    """exp(-age/14) · 0.1: +0.1 today, +0.0368 at 14 days, +0.0135 at 28; undated +0."""
    ranking = after(Recency(), dict.fromkeys("abcd", 0.5), aged(a=0, b=14, c=28, d=None))
    assert by_id(ranking) == pytest.approx({"a": 0.6, "b": 0.536788, "c": 0.513534, "d": 0.5}, abs=1e-6)


def test_recency_with_a_true_half_life():
    """The table of the memory pipeline: +0.10, +0.05, +0.025."""
    ranking = after(Recency(half_life_days=14.0), dict.fromkeys("abc", 0.5), aged(a=0, b=14, c=28))
    assert by_id(ranking) == pytest.approx({"a": 0.6, "b": 0.55, "c": 0.525})


def test_recency_reorders_and_holds_to_one():
    ranking = after(Recency(weight=0.5), {"old": 0.7, "new": 0.6}, aged(old=1000, new=0))
    assert ranking.ids.tolist() == ["new", "old"]
    assert by_id(ranking) == pytest.approx({"new": 1.0, "old": 0.7})
    clamp = ranking.parts[-1]
    assert (clamp.name, clamp.op, clamp.column[0]) == ("clamp", "set", 1.0)
    assert np.isnan(clamp.column[1])


def test_a_chunk_from_the_future_counts_as_new():
    assert by_id(after(Recency(), {"a": 0.5}, aged(a=-3))) == pytest.approx({"a": 0.6})
    assert by_id(after(Decay(), {"a": 0.5}, aged(a=-3))) == pytest.approx({"a": 0.5})


def test_decay_of_002():
    """0.5 + 0.5 · exp(-age/60): .684, .568, .509 at 60, 120, 240 days; undated keeps its score."""
    ranking = after(Decay(), dict.fromkeys("abcde", 1.0), aged(a=0, b=60, c=120, d=240, e=None))
    expected = {"a": 1.0, "e": 1.0, "b": 0.683940, "c": 0.567668, "d": 0.509158}
    assert by_id(ranking) == pytest.approx(expected, abs=1e-6)


def test_decay_with_a_true_half_life_and_floor():
    ranking = after(Decay(half_life_days=30.0, floor=0.2), {"a": 1.0, "b": 0.5}, aged(a=30, b=60))
    assert by_id(ranking) == pytest.approx({"a": 0.2 + 0.8 * 0.5, "b": 0.5 * (0.2 + 0.8 * 0.25)})


@pytest.mark.parametrize("stage", [Recency(), Decay()])
def test_age_needs_a_moment(stage):
    ranking = after(stage, {"a": 0.5}, aged(a=1), Query("q"))
    assert by_id(ranking) == {"a": 0.5}
    assert [note.kind for note in ranking.notes] == ["skipped"]
    assert "--at" in ranking.notes[0].cure


@pytest.mark.parametrize(
    "stage",
    [Recency(tau_days=0.0), Recency(half_life_days=0.0), Decay(tau_days=0.0), Length(anchor=0.0), Recency(weight=0.0)],
)
def test_zero_switches_off(stage):
    for query in (DATED, Query("q")):
        ranking = after(stage, {"a": 0.5}, aged(a=900), query)
        assert by_id(ranking) == {"a": 0.5}
        assert ranking.notes == ()
        assert len(ranking.parts) == 1


@pytest.mark.parametrize("stage", [Recency, Decay])
def test_one_curve_only(stage):
    assert stage(half_life_days=7.0).tau_days is None
    assert stage().tau_days == {Recency: 14.0, Decay: 60.0}[stage]
    with pytest.raises(ConfigError, match="two different curves"):
        stage(tau_days=1.0, half_life_days=1.0)
    with pytest.raises(ConfigError, match=r"half_life_days = -1\.0"):
        stage(half_life_days=-1.0)
    with pytest.raises(ConfigError, match="tau_days = nan"):
        stage(tau_days=math.nan)


def test_importance_of_002():
    snapshot = MemorySnapshot(
        [Chunk(n, "d", "t", 1, importance=i) for n, i in {"a": 1, "b": 0.7, "c": 0.5, "d": 0}.items()]
    )
    ranking = after(Importance(), dict.fromkeys("abcd", 1.0), snapshot)
    assert by_id(ranking) == pytest.approx({"a": 1.0, "b": 0.91, "c": 0.85, "d": 0.7})


def test_importance_of_a_broken_record_stays_a_prior():
    snapshot = MemorySnapshot(
        [Chunk(n, "d", "t", 1, importance=i) for n, i in {"a": 5.0, "b": -5.0, "c": math.nan}.items()]
    )
    assert by_id(after(Importance(), dict.fromkeys("abc", 1.0), snapshot)) == {"a": 1.0, "b": 0.7, "c": 1.0}


def test_length_of_002():
    lengths = {"a": 100, "b": 500, "c": 800, "d": 1000, "e": 2000}
    snapshot = MemorySnapshot([Chunk(n, "d", "x" * size, 1) for n, size in lengths.items()])
    ranking = after(Length(), dict.fromkeys(lengths, 1.0), snapshot)
    assert by_id(ranking) == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.746806, "d": 2 / 3, "e": 0.5}, abs=1e-6)


def test_field_boost():
    ranking = after(
        FieldBoost('lang = "en"', factor=1.5), {"keys-1": 0.4, "keys-2": 0.5, "food-1": 0.9}, sample_snapshot()
    )
    assert by_id(ranking) == pytest.approx({"food-1": 1.0, "keys-1": 0.6, "keys-2": 0.5})
    assert ranking.parts[-1].name == "clamp"
    demoted = after(FieldBoost('lang = "en"', factor=0.5), {"keys-1": 0.4, "keys-2": 0.3}, sample_snapshot())
    assert demoted.ids.tolist() == ["keys-2", "keys-1"]


def test_raw_scores_are_not_clamped():
    candidates = found({"keys-1": 4.0, "keys-2": 5.0}, "raw")
    ranking = FieldBoost('lang = "en"', factor=1.5).apply(DATED, candidates, sample_snapshot())
    assert by_id(ranking) == {"keys-1": 6.0, "keys-2": 5.0}


def test_field_boost_says_what_is_wrong_with_its_filter():
    with pytest.raises(ConfigError, match=r"field_boost\.where = 'lang ='"):
        FieldBoost("lang =")
    with pytest.raises(QueryError, match="langg"):
        after(FieldBoost('langg = "en"'), {"keys-1": 0.4}, sample_snapshot())


def test_title_match_weighs_terms_by_idf():
    """Query "signing keys": title Keys holds one of its two terms."""
    snapshot = sample_snapshot()
    weights = snapshot.term_weights("signing keys")
    assert len(weights) == 2
    share = weights[snapshot.terms("keys")[0]] / sum(weights.values())
    assert 0 < share < 1
    ranking = after(TitleMatch(weight=0.2), {"keys-1": 0.5, "long-1": 0.5}, snapshot, Query("signing keys"))
    assert by_id(ranking) == pytest.approx({"keys-1": 0.5 + 0.2 * share, "long-1": 0.5})


def test_title_match_counts_a_term_once():
    twice = Chunk("a", "d", "text", 1, meta={"title": "Keys", "section": "Keys > More keys"})
    got = after(TitleMatch(weight=0.2), {"a": 0.5}, MemorySnapshot([twice]), Query("keys"))
    assert by_id(got) == pytest.approx({"a": 0.7})


@pytest.mark.parametrize("text", ["", "?!", "🔑" * 3])
def test_title_match_without_terms(text):
    got = by_id(after(TitleMatch(), {"keys-1": 0.5, "odd-1": 0.4}, sample_snapshot(), Query(text)))
    assert got["odd-1"] == 0.4


def test_exact_bonus():
    """keys-2 holds the identifier; nobody else does, and nobody is added."""
    ranking = after(
        ExactBonus(bonus=0.1), {"keys-1": 0.5, "keys-2": 0.45}, sample_snapshot(), Query("where is JINA_API_KEY")
    )
    assert by_id(ranking) == pytest.approx({"keys-2": 0.55, "keys-1": 0.5})
    assert ranking.ids.tolist() == ["keys-2", "keys-1"]


def test_exact_bonus_by_share():
    """Of two identifiers, a chunk that holds one gets the weight of that one."""
    snapshot = MemorySnapshot([Chunk("a", "d", "use API_KEY", 3), Chunk("b", "d", "API_KEY and DB_HOST", 4)])
    query = Query("API_KEY DB_HOST")
    (key, host) = snapshot.exact(query, 10).parts
    share = float(key.column[1])
    assert 0 < share < 0.5 < float(host.column[0])  # API_KEY is everywhere, DB_HOST is rare
    got = by_id(after(ExactBonus(bonus=0.1), {"a": 0.5, "b": 0.4}, snapshot, query))
    assert got == pytest.approx({"a": 0.5 + 0.1 * share, "b": 0.5})


def test_exact_bonus_for_codes_alone():
    # A code is one word with a digit or an underscore; the phrase and the name with inner capitals count for nothing.
    chunks = [Chunk(n, "d", t, 3) for n, t in (("a", "CVE-2024-1234 fixed"), ("b", "TechCrunch on a zero day"))]
    query = Query('TechCrunch "zero day" CVE-2024-1234 sha256')
    got = by_id(after(ExactBonus(bonus=0.1, keys="codes"), {"a": 0.5, "b": 0.4}, MemorySnapshot(chunks), query))
    assert got == pytest.approx({"a": 0.6, "b": 0.4})  # nobody holds sha256, so it takes no share
    nobody, unchanged = Query('TechCrunch "zero day"'), {"a": 0.5, "b": 0.4}
    assert by_id(after(ExactBonus(keys="codes"), unchanged, MemorySnapshot(chunks), nobody)) == unchanged

    class Untouched(MemorySnapshot):
        def exact(self, query, k):
            raise AssertionError("a name or a phrase was looked up, which reads every text that holds its words")

    assert by_id(after(ExactBonus(keys="codes"), unchanged, Untouched(chunks), nobody)) == unchanged
    with pytest.raises(ConfigError, match="did you mean 'codes'"):
        ExactBonus(keys="code")  # type: ignore[arg-type]


def test_exact_bonus_reads_so_deep():
    snapshot = MemorySnapshot([Chunk(name, "d", "use API_KEY", 3) for name in "ab"])
    got = by_id(after(ExactBonus(bonus=0.1, depth=1), {"a": 0.5, "b": 0.5}, snapshot, Query("API_KEY")))
    assert got == pytest.approx({"a": 0.6, "b": 0.5})


def test_exact_bonus_without_anything_exact():
    scores = {"keys-1": 0.5, "keys-2": 0.45}
    assert by_id(after(ExactBonus(), scores, sample_snapshot(), Query("rotate"))) == scores


@pytest.mark.parametrize(
    "stage",
    [Recency(), Decay(), Importance(), Length(), FieldBoost('lang = "en"'), TitleMatch(), ExactBonus()],
    ids=lambda stage: type(stage).__name__,
)
def test_a_candidate_from_elsewhere_changes_nothing(stage):
    ranking = after(stage, {"keys-1": 0.5, "not here": 0.4}, sample_snapshot())
    assert by_id(ranking)["not here"] == 0.4
    assert len(stage.apply(DATED, Ranking.empty("unit"), sample_snapshot())) == 0


@pytest.mark.parametrize("stage", [Recency(), TitleMatch(), ExactBonus()])
def test_boosts_refuse_raw_scores(stage):
    with pytest.raises(ConfigError, match="needs unit scores, but is given raw scores from 0 to inf"):
        stage.gives(RAW)


@pytest.mark.parametrize("stage", [Decay(), Importance(), Length(), FieldBoost('lang = "en"')])
def test_priors_refuse_negative_scores_only(stage):
    assert stage.gives(RAW).scale == "raw"
    with pytest.raises(ConfigError, match="may be negative"):
        stage.gives(COSINE)


def test_ranges():
    assert Recency().gives(Range("unit", 0.2, 0.5)) == Range("unit", 0.2, 0.6)
    assert Recency().gives(UNIT) == UNIT
    assert Decay().gives(Range("unit", 0.2, 0.5)) == Range("unit", 0.1, 0.5)
    assert Importance().gives(Range("raw", 1.0, 9.0)) == Range("raw", 0.7, 9.0)
    assert Length().gives(Range("unit", 0.5, 1.0)) == UNIT
    assert Length(anchor=0).gives(Range("unit", 0.5, 1.0)) == Range("unit", 0.5, 1.0)
    assert FieldBoost('a = "b"', factor=2.0).gives(Range("unit", 0.1, 0.9)) == Range("unit", 0.1, 1.0)
    assert FieldBoost('a = "b"', factor=2.0).gives(Range("raw", 0.1, 0.9)) == Range("raw", 0.1, 1.8)


@pytest.mark.parametrize(
    ("stage", "settings"),
    [
        (Recency, {"weight": 2.0}),
        (Decay, {"floor": -0.1}),
        (Importance, {"base": 1.1}),
        (Length, {"anchor": -1.0}),
        (TitleMatch, {"weight": math.inf}),
        (ExactBonus, {"bonus": True}),
        (ExactBonus, {"depth": 0}),
        (FieldBoost, {"where": 'a = "b"', "factor": -1.0}),
    ],
)
def test_impossible_settings(stage, settings):
    (field,) = set(settings) - {"where"}
    with pytest.raises(ConfigError, match=rf"{field} = .* is out of range\n  cure: give a"):
        stage(**settings)


def test_the_sample_has_what_these_tests_read():
    assert {chunk.id for chunk in CHUNKS} >= {"keys-1", "keys-2", "food-1", "long-1", "odd-1"}
