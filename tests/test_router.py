"""Specification 000 as fixtures: both fusions, all four levels of the tie-break, empty and skipped stages, and that
neither the order of inputs nor hash seeds nor threads change anything."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import from_dict, load, to_config
from assay.errors import ConfigError
from assay.fuse.append_fill import AppendFill
from assay.fuse.rrf import Rrf
from assay.fuse.weighted_merge import WeightedMerge
from assay.order import as_source
from assay.preflight import preflight
from assay.testing.build import found
from assay.testing.sample import sample_snapshot
from assay.testing.strategies import leg_rankings
from assay.types import Part, Query, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
MODES = {"append_fill": {}, "rrf": {"c": 60.0}, "weighted_merge": {}}
FUSED = (AppendFill(), Rrf(60.0), WeightedMerge())


def report(path: Path, rows: dict[str, tuple[list[str], list[float], float]]) -> str:
    results = [
        {"question_id": name, "retrieved_session_ids": ids, "retrieved_scores": scores, "latency_ms": ms}
        for name, (ids, scores, ms) in rows.items()
    ]
    path.write_text(json.dumps({"results": results}))
    return str(path)


def router(tmp_path: Path, first, second, fusion="append_fill", **plan):
    """Both stages recorded: how 000 itself runs."""
    legs = {
        "first": {"source": {"use": "recorded", "path": report(tmp_path / "1.json", first), "scale": "unit"}, "k": 20},
        "second": {
            "source": {"use": "recorded", "path": report(tmp_path / "2.json", second), "scale": "unit"},
            "k": 20,
            "priority": 1,
            "when": {"use": "fewer_than", "count": 3},
            "cap_ms": 600,
            **plan,
        },
    }
    config = {"k": 10, "budget_ms": 1500, "legs": legs, "fuse": {"use": fusion, **MODES[fusion]}}
    if fusion == "append_fill":
        config["fuse"]["max_fill"] = 10
    return from_dict(config)


def asked(pipeline, name="q"):
    return pipeline.run(Query(name, id=name), sample_snapshot())


def ids(answer):
    return answer.chosen.ids.tolist()


def test_the_preset_has_the_numbers_of_000():
    pipeline = load("router")
    first, second = pipeline.legs
    assert (pipeline.k, pipeline.budget_ms) == (10, 1500.0)
    assert (first.k, second.k, first.priority, second.priority) == (20, 20, 0, 1)
    assert (second.when.count, second.cap_ms) == (3, 600.0)
    assert (pipeline.fuser.by, pipeline.fuser.inner.max_fill) == ("session_id", 10)
    assert [plan.name for plan in first.leg.pipeline.legs] == ["bm25", "dense"]
    assert pipeline.steps == (), "no rerank"
    assert from_dict(to_config(pipeline)).digest == pipeline.digest


def test_append_fill_keeps_stage_1_and_fills(tmp_path):
    rows = {"q": (["s2", "s1"], [0.4, 0.3], 20)}
    more = {"q": (["s9", "s1", "s8"], [0.99, 0.98, 0.1], 40)}
    answer = asked(router(tmp_path, rows, more))
    assert ids(answer) == ["s2", "s1", "s9", "s8"]
    assert answer.chosen.score.tolist() == [0.4, 0.3, 0.99, 0.1]
    assert answer.chosen.priority.tolist() == [0, 0, 1, 1]


def test_rrf_by_hand(tmp_path):
    answer = asked(router(tmp_path, {"q": (["a", "b"], [], 0)}, {"q": (["b", "c"], [], 0)}, "rrf"))
    # a: 1/61; b: 1/62 + 1/61; c: 1/62. The undivided sums are the folds before "normalise".
    assert ids(answer) == ["b", "a", "c"]
    sums = sum(part.column for part in answer.chosen.parts if part.op == "add")
    assert sums.tolist() == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62], abs=1e-12)


def test_weighted_merge_by_hand(tmp_path):
    first, second = {"q": (["a", "b"], [0.8, 0.4], 0)}, {"q": (["b", "c"], [1.0, 0.6], 0)}
    answer = asked(router(tmp_path, first, second, "weighted_merge"))
    assert dict(zip(ids(answer), answer.chosen.score.tolist(), strict=True)) == pytest.approx(
        {"b": 0.7, "a": 0.4, "c": 0.3}
    )


@pytest.mark.parametrize("fusion", sorted(MODES))
@pytest.mark.parametrize(
    ("first", "second", "want"),
    [
        ((["a"], [0.9]), ([], []), ["a"]),
        (([], []), (["b", "c"], [0.9, 0.5]), ["b", "c"]),
        (([], []), ([], []), []),
        ((["a", "a"], [0.9, 0.9]), (["a", "b", "b"], [0.9, 0.5, 0.4]), ["a", "b"]),
    ],
    ids=["empty second", "empty first", "both empty", "duplicates inside a list"],
)
def test_empty_stages_and_duplicates(tmp_path, fusion, first, second, want):
    answer = asked(router(tmp_path, {"q": (*first, 0)}, {"q": (*second, 0)}, fusion))
    assert ids(answer) == want
    assert not answer.verdict.degraded


@pytest.mark.parametrize("fusion", sorted(MODES))
def test_a_skipped_stage_leaves_stage_1_alone_on_the_record(tmp_path, fusion):
    slow = {"q": (["b"], [0.9], 601)}
    answer = asked(router(tmp_path, {"q": (["a"], [0.5], 20)}, slow, fusion))
    assert ids(answer) == ["a"]
    assert answer.verdict.degraded == ("second skipped: it would cost 601 ms, and its cap is 600 ms",)
    full = asked(router(tmp_path, {"q": (["a", "b", "c"], [], 20)}, slow, fusion))
    assert {s.name: s.fate for s in full.trace}["second"] == "not_triggered"
    assert not full.verdict.degraded


def test_the_whole_budget_counts_what_stage_1_cost(tmp_path):
    pipeline = router(tmp_path, {"q": (["a"], [], 1000)}, {"q": (["b"], [], 550)})
    assert asked(pipeline).verdict.degraded == ("second skipped: it would cost 550 ms, and 500 of 1500 ms are left",)


def column(names, scores, priority, ranks=None):
    made = Ranking.of(names, [Part("f", "add", np.array(scores, np.float64))], "unit")
    stamped = as_source(made, priority)
    if ranks is None:
        return stamped
    from dataclasses import replace

    return replace(stamped, source_rank=np.array(ranks, np.int32))


def test_the_tie_break_level_by_level():
    view = sample_snapshot()

    def fused(**legs):
        return WeightedMerge().fuse(Query("q"), legs, view).ids.tolist()

    # 1: the fused score; 2: the stage's priority; 3: the rank in its source; 4: the id.
    assert fused(one=column(["z"], [0.5], 0), two=column(["a"], [0.6], 1)) == ["a", "z"]
    assert fused(one=column(["z"], [0.5], 0), two=column(["a"], [0.5], 1)) == ["z", "a"]
    assert fused(one=column(["z"], [0.5], 0, [1]), two=column(["a"], [0.5], 0, [2])) == ["z", "a"]
    assert fused(one=column(["z"], [0.5], 0, [1]), two=column(["a"], [0.5], 0, [1])) == ["a", "z"]


def test_a_tie_of_rrf_goes_to_the_rank_in_the_must_first_stage():
    # a: 1/61 + 1/63, b: 1/63 + 1/61: equal, both found by stage 1, where a stands first.
    first = found({"a": 0.9, "x": 0.8, "b": 0.7})
    second = found({"b": 0.9, "y": 0.8, "a": 0.7}, priority=1)
    fused = Rrf(60.0).fuse(Query("q"), {"first": first, "second": second}, sample_snapshot())
    assert fused.ids.tolist()[:2] == ["a", "b"]
    assert fused.score[0] == fused.score[1]


@pytest.mark.parametrize("fusion", sorted(MODES))
def test_identical_scores_everywhere(tmp_path, fusion):
    first, second = (["c", "a"], [0.5, 0.5], 0), (["d", "b"], [0.5, 0.5], 0)
    answer = asked(router(tmp_path, {"q": first}, {"q": second}, fusion))
    want = ["c", "d", "a", "b"] if fusion == "rrf" else ["c", "a", "d", "b"]
    assert ids(answer) == want, "each source keeps its order; between them the stage decides"


@given(leg_rankings({"first": UNIT, "second": UNIT}), st.sampled_from(FUSED))
def test_permuting_the_stages_changes_nothing(legs, fuser):
    view = sample_snapshot()
    one = fuser.fuse(Query("q"), legs, view)
    two = fuser.fuse(Query("q"), dict(reversed(legs.items())), view)
    assert one.ids.tolist() == two.ids.tolist()
    assert one.score.tobytes() == two.score.tobytes()


@given(st.permutations(range(8)), st.lists(st.sampled_from([0.2, 0.5, 0.9]), min_size=8, max_size=8))
def test_permuting_rows_of_equal_facts_changes_nothing(order, scores):
    """A leg's columns in any order are one ranking."""
    names = [f"s{i}" for i in range(8)]
    plain = found(dict(zip(names, scores, strict=True)))
    mixed = found({names[i]: scores[i] for i in order})
    assert plain.ids.tolist() == mixed.ids.tolist()


SCRIPT = """
import sys
from pathlib import Path
from assay.config import loads
from assay.testing.sample import QUERIES, sample_snapshot
text = Path(sys.argv[1]).read_text()
print([loads(text).run(query, sample_snapshot()).digest for query in QUERIES])
"""


def test_hash_seeds_and_threads_change_nothing(tmp_path):
    pipeline = router(
        tmp_path, {"signing key": (["b", "a"], [0.5, 0.5], 1)}, {"signing key": (["d", "c"], [], 1)}, "rrf"
    )
    file = tmp_path / "router.toml"
    from assay.cli.toml import resolved_toml

    file.write_text(resolved_toml(pipeline))
    seen = set()
    for seed in ("0", "1", "4242"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(file)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(run.stdout)
    assert len(seen) == 1
    alone = asked(pipeline, "signing key").digest
    for threads in (1, 2, 8):
        with ThreadPoolExecutor(threads) as pool:
            assert set(pool.map(lambda _: asked(pipeline, "signing key").digest, range(16))) == {alone}


def test_stage_3_reads_the_merged_candidates_only(tmp_path):
    config = to_config(router(tmp_path, {"q": (["keys-1"], [0.5], 0)}, {"q": (["keys-2", "s1"], [0.9, 0.1], 0)}))
    reranked = from_dict({**config, "step": [{"use": "title_match", "cap_ms": 100, "cost_ms": 20}]})
    plain, again = asked(from_dict(config)), asked(reranked)
    assert sorted(ids(plain)) == sorted(ids(again))
    assert from_dict(to_config(reranked)).digest == reranked.digest
    late = from_dict({**config, "step": [{"use": "title_match", "cap_ms": 100, "cost_ms": 200}]})
    assert asked(late).verdict.degraded == ("title_match skipped: it would cost 200 ms, and its cap is 100 ms",)
    assert ids(asked(late)) == ids(plain)


@pytest.mark.parametrize(
    ("change", "said", "cure"),
    [
        ({"cap_ms": 0}, r"legs\.second\.cap_ms = 0", "0.001"),
        ({"cap_ms": -5}, r"legs\.second\.cap_ms = -5", "0.001"),
        ({"cost_ms": "fast"}, r"legs\.second\.cost_ms = 'fast'", "number"),
        ({"required": 1}, "required = 1", "got int"),
        ({"capms": 5}, "no setting 'capms'", ""),
        ({"use": "dense"}, "both 'use' and 'source'", "one place"),
        ({"when": {"use": "fewer_thn"}}, "no trigger called 'fewer_thn'", "did you mean 'fewer_than'"),
    ],
)
def test_bad_plans_say_what_and_cure(tmp_path, change, said, cure):
    config = to_config(router(tmp_path, {}, {}))
    config["legs"]["second"].update(change)
    with pytest.raises(ConfigError, match=said) as caught:
        from_dict(config)
    assert cure in caught.value.cure


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"budget_ms": 0}, "budget_ms = 0"),
        ({"budget": 5}, "no setting 'budget'"),
        ({"fuse": {"use": "append_fil"}}, "no fuser called 'append_fil'"),
        ({"fuse": {"use": "rrf_fusion"}}, "no fuser called 'rrf_fusion'"),
    ],
)
def test_bad_modes_and_budgets(tmp_path, config, said):
    with pytest.raises(ConfigError, match=said) as caught:
        from_dict({**to_config(router(tmp_path, {}, {})), **config})
    assert caught.value.cure


def test_a_first_stage_shallower_than_k_is_said_and_works(tmp_path):
    config = to_config(router(tmp_path, {"q": (["a", "b", "c", "d", "e"], [], 0)}, {"q": (["x", "y"], [], 0)}))
    config["legs"]["first"]["k"] = 4
    pipeline = from_dict(config)
    (finding,) = [f for f in preflight(pipeline) if f.where == "legs.first"]
    assert finding.text == "looks 4 deep, but an answer has k = 10: when no other leg is triggered, the answer is short"
    assert ids(asked(pipeline)) == ["a", "b", "c", "d"]
    config["legs"]["second"]["when"] = {"use": "fill_to_k"}
    assert ids(asked(from_dict(config))) == ["a", "b", "c", "d", "x", "y"]


def test_preflight_knows_times(tmp_path):
    config = to_config(router(tmp_path, {}, {}))
    config["legs"]["second"].update(cost_ms=700)
    config["legs"]["first"].update(cap_ms=1600)
    said = {f.where: f.text for f in preflight(from_dict(config)) if "ms" in f.text}
    assert said["legs.second"] == "is expected to cost 700 ms, above its cap of 600: it is skipped"
    assert said["legs.first"] == "its cap of 1600 ms is above the whole budget of 1500"


def test_what_is_said_inside_a_leg_is_kept():
    inner = {"legs": {"bm25": {}, "dense": {}}, "fuse": {"use": "convex"}, "complete": True}
    pipeline = from_dict({"legs": {"first": inner}})
    assert pipeline.legs[0].leg.pipeline.complete
    again = from_dict(to_config(pipeline))
    assert again == pipeline
    assert again.digest == pipeline.digest


def test_a_leg_that_is_a_pipeline():
    config = {
        "legs": {
            "first": {"k": 3, "legs": {"bm25": {}, "dense": {}}, "fuse": {"use": "rrf"}},
            "exact": {"priority": 1},
        },
        "fuse": {"use": "append_fill"},
    }
    pipeline = from_dict(config)
    assert from_dict(to_config(pipeline)) == pipeline
    query = Query("signing key", vector=np.array([1, 0, 0], np.float32))
    alone = from_dict({"k": 3, "legs": {"bm25": {}, "dense": {}}, "fuse": {"use": "rrf"}}).run(query, sample_snapshot())
    answer = pipeline.run(query, sample_snapshot())
    assert ids(answer)[:3] == ids(alone)
    assert answer.trace[0].gave.score.tolist() == alone.chosen.score.tolist()
    bare = pipeline.run(Query("signing key"), sample_snapshot())
    assert bare.verdict.degraded == ("first: dense skipped: no embedding model is loaded; cure: assay model install",)


@pytest.mark.parametrize(
    ("leg", "said"),
    [
        ({"legs": {"bm25": {"cap_ms": 5}}}, "bm25 has cap_ms, inside a leg"),
        ({"legs": {"bm25": {}, "dense": {}}}, "2 legs and no"),
        ({"legs": {}}, "has no legs"),
        ({"use": "bm25", "legs": {"bm25": {}}}, "both 'use' and 'legs'"),
        ({"legs": {"bm25": {}}, "norm": "ideal"}, "no setting 'norm'"),
    ],
)
def test_bad_pipelines_inside_a_leg(leg, said):
    with pytest.raises(ConfigError, match=said):
        from_dict({"legs": {"first": leg}})
