"""Specification 000 as fixtures: both fusions, all four levels of the tie-break, empty and skipped stages, and that
neither the order of inputs nor hash seeds nor threads change anything."""

import json
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config.load import from_dict, load, loads, to_config
from assay.config.preflight import preflight
from assay.engine.deadline_executor import Deadlines
from assay.engine.order import stamp_ranks
from assay.errors import ConfigError
from assay.fuse.append_fill import AppendFill
from assay.fuse.grouped import Grouped
from assay.fuse.rrf import Rrf
from assay.fuse.weighted_merge import WeightedMerge
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import sample_snapshot
from assay.testing.strategies import IDS, leg_rankings
from assay.types import Chunk, Part, Query, Range, Ranking

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
    assert (pipeline.fuser.by, pipeline.fuser.inner.max_fill) == (("session_id", "doc_id"), 10)
    assert first.leg.pipeline.fuser.by == ("session_id", "doc_id"), "its legs count the same"
    assert [plan.name for plan in first.leg.pipeline.legs] == ["bm25", "dense"]
    assert pipeline.steps == (), "no rerank"
    assert from_dict(to_config(pipeline)).digest == pipeline.digest


def test_every_pipeline_of_the_document_can_be_built():
    text = (Path(__file__).parents[1] / "docs" / "router.md").read_text("utf-8")
    blocks = [loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]
    assert len(blocks) == 3
    assert blocks[0].digest == load("router").digest, "the first is the preset"


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
    assert not answer.status.degraded


@pytest.mark.parametrize("fusion", sorted(MODES))
def test_a_skipped_stage_leaves_stage_1_alone_on_the_record(tmp_path, fusion):
    slow = {"q": (["b"], [0.9], 601)}
    answer = asked(router(tmp_path, {"q": (["a"], [0.5], 20)}, slow, fusion))
    assert ids(answer) == ["a"]
    assert answer.status.degraded == ("second skipped: it would cost 601 ms, and its cap is 600 ms",)
    full = asked(router(tmp_path, {"q": (["a", "b", "c"], [], 20)}, slow, fusion))
    assert {s.name: s.outcome for s in full.trace}["second"] == "not_triggered"
    assert not full.status.degraded


def test_the_whole_budget_counts_what_stage_1_cost(tmp_path):
    pipeline = router(tmp_path, {"q": (["a"], [], 1000)}, {"q": (["b"], [], 550)})
    assert asked(pipeline).status.degraded == ("second skipped: it would cost 550 ms, and 500 of 1500 ms are left",)


@pytest.mark.parametrize("fusion", sorted(MODES))
def test_stage_1_is_never_dropped_for_the_whole_budget(tmp_path, fusion):
    """Must-first: past the budget it is late, and stage 2 is what is left out."""
    rows, more = {"q": (["a"], [0.5], 1600)}, {"q": (["b"], [0.9], 10)}
    answer = asked(router(tmp_path, rows, more, fusion))
    assert ids(answer) == ["a"]
    assert [span.outcome for span in answer.trace if span.kind == "leg"] == ["ran", "out_of_time"]
    assert [note.text for note in answer.trace[0].notes] == ["late: 1600 ms are spent, and the budget is 1500 ms"]
    assert answer.status.degraded == ("second skipped: it would cost 10 ms, and 0 of 1500 ms are left",)


def test_a_served_stage_1_is_waited_for_past_the_budget(tmp_path):
    pipeline = router(tmp_path, {"q": (["a"], [0.5], 1600)}, {"q": (["b"], [0.9], 10)})
    with Deadlines(iter(range(1_000)).__next__) as deadlines:  # every look at the clock is a second later
        answer = pipeline.run(Query("q", id="q"), sample_snapshot(), executor=deadlines.executor("p", 1500.0))
    assert ids(answer) == ["a"]
    assert answer.trace[0].notes[0].text.startswith("late: ")
    assert answer.status.degraded == ("second skipped: the budget of 1500 ms is used up",)


def test_a_cap_of_its_own_still_holds_for_stage_1(tmp_path):
    config = to_config(router(tmp_path, {"q": (["a"], [0.5], 700)}, {"q": (["b"], [0.9], 10)}))
    config["legs"]["first"]["cap_ms"] = 600
    answer = asked(from_dict(config))
    assert ids(answer) == ["b"]
    assert answer.status.degraded == ("first skipped: it would cost 700 ms, and its cap is 600 ms",)


def column(names, scores, priority, ranks=None):
    made = Ranking.of(names, [Part("f", "add", np.array(scores, np.float64))], "unit")
    stamped = stamp_ranks(made, priority)
    if ranks is None:
        return stamped
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


CHUNKS = [
    Chunk(name, f"doc-{place % 7}", "t", 1, meta={"session_id": f"s{place % 5}"}) for place, name in enumerate(IDS)
]


@given(
    leg_rankings({"first": UNIT, "second": UNIT}),
    st.permutations(range(len(IDS))),
    st.sampled_from(FUSED),
    st.sampled_from(["", "session_id", "doc_id"]),
)
def test_neither_the_order_of_stages_nor_of_the_store_changes_anything(legs, order, fuser, by):
    """Plain and by groups: the stages in another order, over a store whose chunks lie in another order."""
    fuser = Grouped(fuser, by) if by else fuser
    found = {name: replace(ranking, rows=None) for name, ranking in legs.items()}
    one = fuser.fuse(Query("q"), found, MemorySnapshot(CHUNKS))
    two = fuser.fuse(Query("q"), dict(reversed(found.items())), MemorySnapshot([CHUNKS[place] for place in order]))
    assert said(one) == said(two)


def said(ranking):
    """All that a ranking says but its rows, which belong to one order of the store."""
    columns = (ranking.score, ranking.tier, ranking.priority, ranking.source_rank)
    parts = [(part.name, part.op, part.column.tolist()) for part in ranking.parts]
    return ranking.ids.tolist(), [column.tolist() for column in columns], parts, ranking.notes


@given(st.permutations(range(8)), st.lists(st.sampled_from([0.2, 0.5, 0.9]), min_size=8, max_size=8))
def test_permuting_rows_of_equal_facts_changes_nothing(order, scores):
    """A leg's columns in any order are one ranking."""
    names = [f"s{i}" for i in range(8)]
    plain = found(dict(zip(names, scores, strict=True)))
    mixed = found({names[i]: scores[i] for i in order})
    assert plain.ids.tolist() == mixed.ids.tolist()


TIED = """
import json, sys
import numpy as np
from assay.config.load import from_dict
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import Chunk, Query

config = json.loads(sys.argv[1])
words = ["signing key", "a key", "key of the house", "signing", "lunch"]
chunks = [
    Chunk(f"c{i}", f"d{i % 4}", words[i % 5], 2, meta={} if i % 6 == 5 else {"session_id": f"s{i % 4}"})
    for i in range(12)
]
view = MemorySnapshot(chunks, np.eye(3, dtype=np.float32)[[i % 3 for i in range(12)]])
query = Query("signing key", vector=np.array([1, 0, 0], np.float32), id="q")
for fusion in config.pop("fusions"):
    answer = from_dict({**config, "fuse": fusion}).run(query, view)
    print(json.dumps(answer.to_json(), ensure_ascii=False))
print("control", [name for name in {chunk.id for chunk in chunks}])
"""
"""Three stages' worth of ties: equal words, equal vectors, equal recorded scores, sessions that both stages know."""


def tied_router(tmp_path: Path):
    recorded = report(tmp_path / "2.json", {"q": (["s3", "x", "s0", "c5", "s9"], [0.5] * 5, 10)})
    config = {
        "k": 6,
        "budget_ms": 1500,
        "legs": {
            "first": {"k": 12, "legs": {"bm25": {}, "dense": {}}, "fuse": {"use": "rrf"}},
            "second": {
                "source": {"use": "recorded", "path": recorded, "scale": "unit"},
                "priority": 1,
                "when": {
                    "use": "any_of",
                    "of": [{"use": "margin_below"}, {"use": "term_coverage_below", "share": 1.0}],
                },
            },
        },
    }
    fusions = [{"use": use, "by": "session_id", **MODES[use]} for use in sorted(MODES)]
    return config, fusions


def test_hash_seeds_and_thread_counts_change_nothing(tmp_path):
    config, fusions = tied_router(tmp_path)
    seen, control = set(), set()
    for seed, threads in (("0", "1"), ("1", "2"), ("4242", "8")):
        counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), threads)
        run = subprocess.run(
            [sys.executable, "-c", TIED, json.dumps({**config, "fusions": fusions})],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path), "PATH": "", **counts},
            capture_output=True,
            text=True,
            check=True,
        )
        answers, _, last = run.stdout.rpartition("control")
        seen.add(answers)
        control.add(last)
    assert len(seen) == 1
    assert len(control) > 1, "the seeds do change what a set gives, so a set in the way would be seen"
    for answer in map(json.loads, seen.pop().splitlines()):
        second = next(step for step in answer["trace"] if step["step"] == "second")
        assert (second["outcome"], second["trigger"]["name"], second["candidates_out"]) == ("ran", "margin_below", 5)
        assert len(answer["hits"]) == 6
        assert answer["status"]["degraded"] == []


def test_any_number_of_threads_serves_the_same_answer(tmp_path):
    """Served from threads, each leg under a deadline in a thread of its own, all at once: what the lab computes."""
    config, fusions = tied_router(tmp_path)
    view = MemorySnapshot(
        [Chunk(f"c{i}", "d", f"signing key {i % 2}", 2, meta={"session_id": f"s{i % 4}"}) for i in range(12)],
        np.eye(3, dtype=np.float32)[[i % 3 for i in range(12)]],
    )
    query = Query("signing key", vector=np.array([1, 0, 0], np.float32), id="q")
    for fusion in fusions:
        pipeline = from_dict({**config, "fuse": fusion})
        planned = json.dumps(pipeline.run(query, view).to_json())
        for threads in (1, 2, 8):
            with Deadlines(time.monotonic) as deadlines, ThreadPoolExecutor(threads) as pool:

                def served(_, pipeline=pipeline, deadlines=deadlines):
                    return pipeline.run(query, view, executor=deadlines.executor(pipeline.digest, 600_000.0)).to_json()

                assert {json.dumps(answer) for answer in pool.map(served, range(16))} == {planned}


def test_triggers_count_what_the_fuser_counts():
    """Five chunks of one session are one candidate: 000 counts sessions, and one of them does not fill k = 2."""
    chunks = [Chunk(f"c{i}", "d", "signing key", 2, meta={"session_id": "one"}) for i in range(5)]
    view = MemorySnapshot([*chunks, Chunk("far", "d", "something else", 2, meta={"session_id": "two"})])
    for when, plain, by_session in (
        ({"use": "fewer_than", "count": 3}, 5.0, 1.0),
        ({"use": "fill_to_k"}, 5.0, 1.0),
        ({"use": "margin_below", "margin": 0.001}, 0.0, 1 / 2.2),  # alone: tf 1 at the average length, k1 = 1.2
    ):
        for fuse, observed in (({}, plain), ({"by": "session_id"}, by_session)):
            config = {
                "k": 2,
                "legs": {
                    "first": {"use": "bm25", "norm": "ideal"},
                    "second": {"use": "exact", "priority": 1, "when": when},
                },
                "fuse": {"use": "append_fill", **fuse},
            }
            trace = from_dict(config).run(Query("signing key"), view).trace
            fired = next(span.trigger for span in trace if span.name == "second")
            assert fired.observed == pytest.approx(observed), (when, fuse)


def test_stage_3_moves_nothing_past_the_must_first_stage(tmp_path):
    """append_fill keeps the stages apart, so what rescores works within each; after rrf it works across them."""
    # Of importance 0, 1 and 1: with base 0 the first of stage 1 loses everything.
    first, second = {"q": (["keys-3", "keys-1"], [0.5, 0.4], 0)}, {"q": (["food-2"], [0.9], 0)}
    for fusion, want in (
        ("append_fill", ["keys-1", "keys-3", "food-2"]),
        ("rrf", ["food-2", "keys-1", "keys-3"]),
    ):
        config = to_config(router(tmp_path, first, second, fusion))
        assert ids(asked(from_dict({**config, "step": [{"use": "importance", "base": 0.0}]}))) == want


def test_stage_3_reads_the_merged_candidates_only(tmp_path):
    config = to_config(router(tmp_path, {"q": (["keys-1"], [0.5], 0)}, {"q": (["keys-2", "s1"], [0.9, 0.1], 0)}))
    reranked = from_dict({**config, "step": [{"use": "title_match", "cap_ms": 100, "cost_ms": 20}]})
    plain, again = asked(from_dict(config)), asked(reranked)
    assert sorted(ids(plain)) == sorted(ids(again))
    assert from_dict(to_config(reranked)).digest == reranked.digest
    late = from_dict({**config, "step": [{"use": "title_match", "cap_ms": 100, "cost_ms": 200}]})
    assert asked(late).status.degraded == ("title_match skipped: it would cost 200 ms, and its cap is 100 ms",)
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
        ({"budget_ms": -1500}, "budget_ms = -1500"),
        ({"fuse": {"use": "append_fil"}}, "no fuser called 'append_fil'"),
        ({"fuse": {"use": "rrf_fusion"}}, "no fuser called 'rrf_fusion'"),
        ({"fuse": {"use": "weighted_mrege"}}, "no fuser called 'weighted_mrege'"),
    ],
)
def test_bad_modes_and_budgets(tmp_path, config, said):
    with pytest.raises(ConfigError, match=said) as caught:
        from_dict({**to_config(router(tmp_path, {}, {})), **config})
    nearest = {"append_fil": "append_fill", "rrf_fusion": "rrf", "weighted_mrege": "weighted_merge"}
    named = nearest.get(config.get("fuse", {}).get("use"), "")
    assert f"did you mean {named!r}?" in caught.value.cure if named else caught.value.cure


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
    assert answer.trace[0].ranking.score.tolist() == alone.chosen.score.tolist()
    bare = pipeline.run(Query("signing key"), sample_snapshot())
    assert bare.status.degraded == ("first: dense skipped: no embedding model is loaded; cure: assay model install",)
    empty = pipeline.run(Query(" "), sample_snapshot())
    assert empty.status.degraded == ("first: dense skipped: the query is empty",), "no model would cure that"


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
