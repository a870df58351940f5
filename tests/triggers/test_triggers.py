"""Triggers: hand-computed decisions, what is refused when a pipeline is built, and the contract over every one."""

import math

import numpy as np
import pytest

from assay.config.load import from_dict, loads, to_config, to_dict
from assay.config.plans import read_trigger
from assay.errors import ConfigError
from assay.testing.build import found
from assay.testing.contracts import check_trigger
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import QUERIES, sample_snapshot
from assay.triggers import TRIGGERS
from assay.triggers.combine import AllOf, AnyOf
from assay.triggers.counts import Always, FewerThan, FillToK
from assay.triggers.coverage import TermCoverageBelow
from assay.triggers.scores import MarginBelow, TopScoreBelow
from assay.types import Chunk, Query, Range, Ranking

UNIT, RAW = Range("unit", 0.0, 1.0), Range("raw", 0.0, math.inf)
EVERY = {
    "any_of": {"of": [{"use": "fewer_than"}, {"use": "margin_below"}]},
    "all_of": {"of": [{"use": "fill_to_k"}, {"use": "top_score_below"}]},
}


def fires(what, k=10, snapshot=None, text="q", **legs):
    return what.fires(Query(text), legs, snapshot or sample_snapshot(), k)


@pytest.mark.parametrize("name", sorted(TRIGGERS))
def test_the_contract_and_the_round_trip(name):
    made = read_trigger({"use": name, **EVERY.get(name, {})}, "when")
    check_trigger(made)
    config = {
        "legs": {"bm25": {"norm": "ideal"}, "dense": {"priority": 1, "when": {"use": name, **EVERY.get(name, {})}}},
        "fuse": {"use": "append_fill"},
    }
    pipeline = from_dict(config)
    again = from_dict(to_config(pipeline))
    assert again == pipeline
    assert again.digest == pipeline.digest
    assert to_dict(again) == to_dict(pipeline)


def test_counts():
    two, none = found({"a": 0.9, "b": 0.5}), Ranking.empty("unit")
    assert fires(FewerThan(3), first=two).yes
    assert not fires(FewerThan(2), first=two).yes
    assert fires(FewerThan(3), first=two, other=found({"b": 1.0})).observed == 2.0, "an id counts once"
    assert not fires(FewerThan(3), first=two, other=found({"c": 1.0})).yes
    assert fires(FewerThan(1), first=none).why == "fewer_than 1, found 0"
    assert fires(FillToK(), k=3, first=two).yes
    assert not fires(FillToK(), k=2, first=two).yes
    assert fires(Always(), first=two).yes
    assert fires(Always(), first=two).observed == 2.0, "it, too, says what it saw"


def test_scores():
    two, one, none = found({"a": 0.62, "b": 0.6}), found({"a": 0.62}), Ranking.empty("unit")
    assert fires(TopScoreBelow(0.7), first=two).why == "top_score_below 0.7, first scored 0.62"
    assert not fires(TopScoreBelow(0.62), first=two).yes, "below is below"
    assert fires(TopScoreBelow(0.01), first=none).yes
    assert fires(TopScoreBelow(0.7, leg="other"), first=two, other=found({"z": 0.9})).observed == 0.9
    assert fires(MarginBelow(0.05), first=two).observed == pytest.approx(0.02)
    assert not fires(MarginBelow(0.01), first=two).yes
    assert fires(MarginBelow(0.7), first=one).observed == 0.62, "alone it leads by its whole score"
    assert fires(MarginBelow(0.01), first=none).observed == 0.0


def test_term_coverage_by_hand():
    # Three chunks: "cat" is in one (idf ln(1 + 2.5/1.5)), "dog" in two (ln(1 + 1.5/2.5)), "unicorn" in none.
    view = MemorySnapshot([Chunk(f"c{i}", "d", text, 1) for i, text in enumerate(["cat dog", "dog", "fish"])])
    cat, dog, none = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5), math.log(1 + 3.5 / 0.5)
    first = found({"c1": 0.9, "c0": 0.5, "c2": 0.1})
    seen = fires(TermCoverageBelow(0.5, top=1), snapshot=view, text="cat dog", first=first)
    assert seen.observed == pytest.approx(dog / (cat + dog))
    assert seen.yes
    assert fires(TermCoverageBelow(0.5, top=2), snapshot=view, text="cat dog", first=first).observed == 1.0
    rare = fires(TermCoverageBelow(0.5, top=3), snapshot=view, text="dog unicorn", first=first)
    assert rare.observed == pytest.approx(dog / (dog + none)), "a word nobody has weighs the most"
    assert fires(TermCoverageBelow(1.0), snapshot=view, text="", first=first).observed == 1.0
    assert fires(TermCoverageBelow(0.5), snapshot=view, text="cat", first=Ranking.empty("unit")).observed == 0.0


def test_what_is_not_said():
    """The settings that docs/router.md names; the router policy's own is min_must_count = 3."""
    assert FewerThan() == FewerThan(count=3)
    assert TopScoreBelow() == TopScoreBelow(score=0.5, leg="")
    assert MarginBelow() == MarginBelow(margin=0.05, leg="")
    assert TermCoverageBelow() == TermCoverageBelow(share=0.5, top=3, leg="")


def test_at_its_threshold_a_trigger_does_not_fire():
    view = MemorySnapshot([Chunk("c0", "d", "cat dog", 1), Chunk("c1", "d", "bird", 1)])
    first = found({"c0": 0.75, "c1": 0.5})
    assert not fires(MarginBelow(0.25), first=first).yes
    assert not fires(TopScoreBelow(0.75), first=first).yes
    assert not fires(TermCoverageBelow(0.5, top=1), snapshot=view, text="dog bird", first=first).yes, "half is covered"
    assert not fires(FillToK(), k=2, first=first).yes


def test_combined():
    two = found({"a": 0.62, "b": 0.6})
    either = AnyOf((FewerThan(1), MarginBelow(0.05), TopScoreBelow(0.7)))
    got = fires(either, first=two)
    assert (got.yes, got.name) == (True, "margin_below")
    assert got.why == "margin_below 0.05, first leads by 0.02; top_score_below 0.7, first scored 0.62"
    both = fires(AllOf((FewerThan(1), MarginBelow(0.05))), first=two)
    assert (both.yes, both.name, both.why) == (False, "fewer_than", "fewer_than 1, found 2")
    assert fires(AllOf((FewerThan(3), MarginBelow(0.05))), first=two).yes
    with pytest.raises(ConfigError, match=r"any_of\.of is empty"):
        AnyOf(())


def test_thresholds_on_raw_scores_are_refused_when_the_pipeline_is_built():
    for use in ("top_score_below", "margin_below"):
        with pytest.raises(ConfigError, match=rf"{use} \(leg 'bm25'\) needs unit scores"):
            loads(f'[legs.bm25]\n[legs.dense]\nwhen = {{ use = "{use}" }}\n[fuse]\nuse = "rrf"')
    with pytest.raises(ConfigError, match="needs unit scores"):
        AnyOf((Always(), MarginBelow())).check({"first": RAW})
    MarginBelow(leg="second").check({"first": RAW, "second": UNIT})


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ('{ use = "fewer_then" }', "did you mean 'fewer_than'"),
        ('{ use = "fewer_than", cuont = 3 }', "did you mean 'count'"),
        ('{ use = "fewer_than", count = 0 }', "from 1 upwards"),
        ('{ use = "top_score_below", score = 2.0 }', "from 0 to 1"),
        ('{ use = "margin_below", leg = "bm52" }', "did you mean 'bm25'"),
        ('{ use = "any_of", of = [{ use = "alwyas" }] }', "did you mean 'always'"),
        ('{ use = "any_of", of = 3 }', "of = ["),
        ('{ use = "any_of", off = [] }', "of = ["),
        ("{ count = 3 }", 'add use = "…"'),
        ('"always"', "write [legs.dense.when]"),
    ],
)
def test_bad_triggers_name_their_cure(when, said):
    with pytest.raises(ConfigError) as caught:
        loads(f'[legs.bm25]\nnorm = "ideal"\n[legs.dense]\nwhen = {when}\n[fuse]\nuse = "rrf"')
    assert said in caught.value.cure


@pytest.mark.parametrize("use", sorted(set(TRIGGERS) - {"always", "any_of", "all_of"}))
def test_the_first_leg_has_nothing_to_read(use):
    with pytest.raises(ConfigError, match=f"{use} reads what an earlier leg found, and none stands before this one"):
        loads(f'[legs.bm25]\nnorm = "ideal"\nwhen = {{ use = "{use}" }}')


def test_the_trace_says_which_fired_with_the_value_seen():
    text = '[legs.bm25]\nnorm = "ideal"\n[legs.dense]\nwhen = %s\n[fuse]\nuse = "append_fill"'
    many = '{ use = "any_of", of = [{ use = "fewer_than", count = 1 }, { use = "fill_to_k" }] }'
    spans = {s.name: s for s in loads(text % many).run(QUERIES[0], sample_snapshot()).trace}
    dense = spans["dense"]
    assert (dense.outcome, dense.trigger.name, dense.trigger.observed) == ("ran", "fill_to_k", 4.0)
    assert "triggered: fill_to_k 10, found 4" in [note.text for note in dense.notes]
    quiet = loads(text % '{ use = "fewer_than", count = 2 }').run(QUERIES[0], sample_snapshot())
    last = {s.name: s for s in quiet.trace}["dense"]
    assert (last.outcome, last.skipped) == ("not_triggered", "not triggered: fewer_than 2, found 4")
    assert quiet.status.word == "answered"


def test_triggers_read_the_configs_k_never_the_callers():
    text = 'k = 3\n[legs.bm25]\n[legs.dense]\nwhen = { use = "fill_to_k" }\n[fuse]\nuse = "append_fill"'
    pipeline = loads(text)
    for k in (1, 3, 50):
        answer = pipeline.run(QUERIES[0], sample_snapshot(), k=k)
        assert {s.name: s.outcome for s in answer.trace}["dense"] == "not_triggered"


def test_a_trigger_sees_only_the_legs_before_it():
    text = (
        'k = 3\n[legs.exact]\n[legs.bm25]\nwhen = { use = "fewer_than", count = 1 }\n[legs.dense]\n[fuse]\nuse = "rrf"'
    )
    answer = loads(text).run(Query("signing key", vector=np.array([1, 0, 0], np.float32)), sample_snapshot())
    assert {s.name: s.outcome for s in answer.trace} == {"exact": "ran", "bm25": "ran", "dense": "ran", "fuse": "ran"}
