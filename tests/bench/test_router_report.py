"""The report of 000 on a corpus that can be scored in one's head, both stages real or recorded."""

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hand_made import dataset

from assay.bench.datasets import load
from assay.bench.gates.rules import load_rules as load_rules
from assay.bench.receipt import ReceiptError, read
from assay.bench.router_report import build_arms, measure_router, render_router_report, write_lance_table
from assay.bench.router_report.arms import describe_config
from assay.bench.router_report.assemble import describe_longmemeval
from assay.bench.router_report.table_writer import _build_row, _field_types
from assay.bench.workspace import IndexSettings, prepare
from assay.config.load import from_dict, to_config
from assay.config.load import load as load_pipeline
from assay.embed import default_spec
from assay.errors import ConfigError, StoreError
from assay.sources.lance_table import LanceTable
from assay.sources.listing import SourceHit, build_result
from assay.sources.open_cache import close_all
from assay.sources.recorded import Recorded
from assay.types import Chunk

SECOND = {
    "results": [
        {
            "question_id": "q1",
            "retrieved_session_ids": ["keys", "bug"],
            "retrieved_scores": [0.9, 0.8],
            "latency_ms": 100,
        },
        {"question_id": "q2", "retrieved_session_ids": ["tea"], "retrieved_scores": [0.7], "latency_ms": 700},
        {
            "question_id": "q3",
            "retrieved_session_ids": ["leave", "tea"],
            "retrieved_scores": [0.6, 0.5],
            "latency_ms": 200,
        },
    ]
}


@pytest.fixture
def second(tmp_path: Path) -> str:
    path = tmp_path / "second.json"
    path.write_text(json.dumps(SECOND))
    yield str(path)
    close_all()


def router(second: str, when=None, **plan):
    return from_dict(
        {
            "k": 10,
            "budget_ms": 1500,
            "legs": {
                "first": {"use": "bm25", "k": 20, "norm": "ideal"},
                "second": {
                    "source": {"use": "recorded", "path": second, "scale": "unit"},
                    "k": 20,
                    "priority": 1,
                    "cap_ms": 600,
                    "when": when or {"use": "fewer_than", "count": 2},
                    **plan,
                },
            },
            "fuse": {"use": "append_fill", "by": "doc_id", "max_fill": 10},
        },
        "router",
    )


def measured(words, pipeline, out=None, clock=lambda: 0.0):
    return measure_router(dataset(), build_arms(pipeline), words, load_rules("router"), out=out, clock=clock)


def test_every_question_says_what_became_of_it(words, second):
    # q1: words find "keys" and "bug", two are enough; q2: one hit, the second would cost 700 ms; q3: one hit, it fills.
    report = measured(words, router(second)).report
    rows = {row["question_id"]: row for row in report["results"]}
    assert report["counters"] == {
        "stage2_used": 1,
        "stage2_skipped_budget": 1,
        "stage2_not_triggered": 1,
        "stage2_failed": 0,
    }
    assert {name: row["retrieved_session_ids"] for name, row in rows.items()} == {
        "q1": ["keys", "bug"],
        "q2": ["bug"],
        "q3": ["tea", "leave"],
    }
    one, two, three = (rows[name]["two_stage"] for name in ("q1", "q2", "q3"))
    assert (one["stage2_should_trigger"], one["stage2_used"], one["stage2_skipped_budget"]) == (False, False, False)
    assert one["trigger"] == {"name": "fewer_than", "observed": 2.0, "why": "fewer_than 2, found 2"}
    assert (two["stage2_should_trigger"], two["stage2_used"], two["stage2_skipped_budget"]) == (True, False, True)
    assert two["stage2_skip_reason"] == "it would cost 700 ms, and its cap is 600 ms"
    assert (three["stage2_used"], three["stage2_candidates_considered"], three["stage2_added_count"]) == (True, 2, 1)
    assert [rows[name]["latency_ms"] for name in ("q1", "q2", "q3")] == [0.0, 0.0, 200.0], "what was recorded"
    assert (three["stage1_latency_ms"], three["stage2_latency_ms"]) == (0.0, 200.0)
    assert report["latency"]["stage2_ms_p50"] == 100.0, "of the two that asked, one was skipped"


def test_config_metrics_and_comparisons(words, second):
    done = measured(words, router(second))
    config, summary = done.report["config"], done.report["summary"]
    assert config["mode"] == "must_count_gate"
    assert (config["min_must_count"], config["fusion_mode"], config["stage2_max_ms"]) == (2, "append_fill", 600.0)
    assert config["tie_break_order"][0] == "fused_score_desc"
    assert config["stage_priority"] == {"first": 0, "second": 1}
    assert summary["questions_total"] == 3
    assert summary["questions_without_answer"] == 1, "the abstention set is said, never scored"
    assert summary["recall_at_k"] == summary["recall_all_at_k"] == summary["hit_at_k"] == 1.0
    assert summary["precision_at_k"] == pytest.approx((2 + 1 + 1) / 30)
    against = {(row["against"], row["metric"]): row["difference"] for row in done.report["compared"]}
    # the second alone finds keys and bug for q1, nothing for q2, tea for q3: recall 2/3
    assert against["router second", "R@10"] == pytest.approx(1 / 3)
    assert against["router first", "R@10"] == 0.0
    assert done.gate.measured["verdict"] == "pass"


def test_every_metric_by_hand(words, second, tmp_path):
    """q1 wants keys (2) and bug (1), q2 bug, q3 tea; tea was judged 0 for q2, so nobody wants it there."""
    found = {"q1": ["tea", "leave", "keys"], "q2": ["leave"], "q3": ["tea"]}
    rows = [{"question_id": name, "retrieved_session_ids": ids, "latency_ms": 10} for name, ids in found.items()]
    (tmp_path / "first.json").write_text(json.dumps({"results": rows}))
    config = to_config(router(second, {"use": "fewer_than", "count": 1}))
    config["legs"]["first"] = {"source": {"use": "recorded", "path": str(tmp_path / "first.json")}}
    report = measured(words, from_dict(config, "router")).report
    one, two, three = report["results"]
    # q1: the grade 2 at rank 3, of at best 2 at rank 1 and 1 at rank 2
    ndcg = (2 / math.log2(4)) / (2 + 1 / math.log2(3))
    assert one["metrics"] == pytest.approx(
        {
            "hit_at_k": 1.0,
            "precision_at_k": 0.1,
            "recall_at_k": 0.5,
            "recall_all_at_k": 0.0,
            "mrr": 1 / 3,
            "ndcg_at_k": ndcg,
        }
    )
    assert set(two["metrics"].values()) == {0.0}
    assert report["summary"]["mrr"] == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert report["summary"]["ndcg_at_k"] == pytest.approx((ndcg + 0 + 1) / 3)
    assert [row["relevant_session_ids"] for row in (one, two, three)] == [["bug", "keys"], ["bug"], ["tea"]]
    assert [row["strata"] for row in (one, two)] == [["kind=fact"], ["kind=identifier"]]
    assert one["two_stage"]["must_retrieved_count"] == 3


def test_a_router_that_is_too_slow_fails_its_gate(words, tmp_path):
    """What was recorded counts: 1,600 ms for every question, within a cap that allows it."""
    slow = {"results": [{**row, "latency_ms": 1600} for row in SECOND["results"]]}
    (tmp_path / "slow.json").write_text(json.dumps(slow))
    config = to_config(router(str(tmp_path / "slow.json"), {"use": "always"}, cap_ms=2000))
    done = measured(words, from_dict({**config, "budget_ms": 2000}, "router"))
    assert done.receipts["router"].measured["latency_ms"]["total"] == {"p50": 1600.0, "p95": 1600.0, "p99": 1600.0}
    assert (done.gate.canonical["verdict"], done.gate.measured["verdict"]) == ("pass", "fail")
    assert (done.report["verdict"]["verdict"], done.report["verdict"]["exit_code"]) == ("fail", 1)
    assert "verdict" not in done.report["gates"], "one verdict, in one place"
    assert "**Verdict: fail** (exit code 1)." in render_router_report(done.report)
    assert "- fail: p95 within the budget: latency.p95 1600" in render_router_report(done.report)


@dataclass(frozen=True)
class Fickle(Recorded):
    """A source that says something else every time."""

    queries: list[str] = field(default_factory=list)

    def find(self, query, snapshot, k, seeds=None):
        self.queries.append(query.id)
        name = f"s{len(self.queries)}"
        return build_result("fickle", [SourceHit(Chunk(name, name, "", 0), 0.5)], "unit", k)


def test_a_report_stands_on_the_very_rankings_that_were_scored(words, second):
    pipeline = router(second, {"use": "always"}, cap_ms=900)
    first, plan = pipeline.legs
    with pytest.raises(ReceiptError, match="query q1 was answered differently the second time"):
        measured(words, replace(pipeline, legs=(first, replace(plan, leg=Fickle(second, "unit")))))


@pytest.mark.parametrize("by", [{}, {"by": "doc_id"}], ids=["chunks", "groups"])
@pytest.mark.parametrize("use", ["rrf", "weighted_merge"])
def test_every_fusion_is_measured_with_weights_and_all(words, second, use, by):
    """Alone a source has no other beside it to be weighed against."""
    fuse = {"use": use, "weights": {"first": 0.7, "second": 0.3}, **by}
    done = measured(words, from_dict({**to_config(router(second)), "fuse": fuse}, "router"))
    config = done.report["config"]
    assert config["fusion_mode"] == {"rrf": "rrf_fusion"}.get(use, use)
    assert config["weights"] == {"first": 0.7, "second": 0.3}
    assert config["k_rrf"] == (60.0 if use == "rrf" else None)
    assert config["dedupe_by"] == by.get("by")
    assert not [row for row in done.report["compared"] if "not_measured" in row]


def test_a_second_source_that_sees_what_the_first_found_is_measured_alone_too(words):
    second = {"use": "graph", "priority": 1, "after": ["first"], "when": {"use": "fill_to_k"}}
    config = {"legs": {"first": {"use": "bm25"}, "second": second}, "fuse": {"use": "append_fill"}}
    alone = build_arms(from_dict(config)).second.pipeline
    assert [(plan.name, plan.after) for plan in alone.legs] == [("second", ())]


def test_two_runs_agree_byte_for_byte(words, second):
    one, two = (measured(words, router(second)) for _ in range(2))
    assert json.dumps(one.report, sort_keys=True) == json.dumps(two.report, sort_keys=True)
    slow = measured(words, router(second), clock=iter(range(10_000)).__next__)
    assert slow.report["digest"] == one.report["digest"], "the clock is outside the digest"
    assert slow.report["latency"] != one.report["latency"]
    other = measured(words, router(second, {"use": "always"}))
    assert other.report["digest"] != one.report["digest"]
    assert other.report["config"]["mode"] == "always"
    both = {"use": "any_of", "of": [{"use": "fill_to_k"}, {"use": "margin_below", "margin": 0.1}]}
    text = render_router_report(measured(words, router(second, both)).report)
    assert "stage 2 is asked by any_of (fill_to_k, margin_below (margin = 0.1)), merged by append_fill. 1 more" in text


def test_receipts_reports_and_gates_are_written_and_hold_no_text(words, second, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    done = measured(words, router(second), out)
    names = sorted(path.name for path in out.glob("*.json"))
    assert names == [f"hand.test.router{arm}.json" for arm in ("-always", "-first", "-second", "")]
    assert read(out / "hand.test.router.json").digest == done.report["receipt"]
    assert "signing" not in json.dumps(done.report)


def test_a_report_is_a_recorded_source(words, second, tmp_path):
    done = measured(words, router(second))
    path = tmp_path / "whole.json"
    path.write_text(json.dumps(done.report))
    again = measured(words, router(str(path), {"use": "always"}))
    assert again.report["counters"]["stage2_used"] == 3


def lossy(tmp_path: Path, ms: float = 700.0):
    """A router whose first source finds something for q1 only, and takes `ms`; alone the second finds everything."""
    better = {"results": [{**row, "retrieved_session_ids": ["keys", "bug", "tea"]} for row in SECOND["results"]]}
    path = tmp_path / "better.json"
    path.write_text(json.dumps(better))
    (tmp_path / "none.json").write_text(
        json.dumps(
            {
                "results": [
                    {**row, "retrieved_session_ids": ["keys"] if row["question_id"] == "q1" else [], "latency_ms": ms}
                    for row in SECOND["results"]
                ]
            }
        )
    )
    config = to_config(router(str(path), {"use": "fewer_than", "count": 1}, cap_ms=150))
    config["legs"]["first"] = {"source": {"use": "recorded", "path": str(tmp_path / "none.json")}, "k": 20}
    return config


def test_a_loss_of_recall_that_is_quantified_is_an_outcome_of_its_own(words, tmp_path):
    """The router policy accepts it; anything else that fails, or is not measured, is no such outcome."""
    done = measured(words, from_dict(lossy(tmp_path), "router"))
    assert (done.report["verdict"]["verdict"], done.report["verdict"]["exit_code"]) == ("recall_loss", 6)
    assert "**Verdict: recall loss: " in render_router_report(done.report)
    small = measured(words, from_dict({**lossy(tmp_path), "k": 2}, "router")).report
    assert small["verdict"]["exit_code"] == 6, "the recall that the rule reads is compared, whatever k is"
    slow = measured(words, from_dict(lossy(tmp_path, 1600.0), "router")).report
    assert (slow["verdict"]["verdict"], slow["verdict"]["exit_code"]) == ("fail", 1)
    assert [gate["verdict"] for gate in slow["verdict"]["gates"]] == ["fail", "fail"]
    assert slow["summary"]["stage1_late"] == 3
    assert "Stage 1 was past the budget for 3 questions." in render_router_report(slow)
    missing = measured(words, router(str(tmp_path / "none at all.json"))).report
    assert (missing["verdict"]["verdict"], missing["verdict"]["exit_code"]) == ("not_measured", 2)
    close_all()


def test_the_report_says_what_a_candidate_is(words, second):
    report = measured(words, router(second)).report
    assert (report["config"]["dedupe_by"], report["candidates"]) == ("doc_id", {"doc_id": 6, "": 0})
    assert "Deduplicated by doc_id: 6 of 6 candidates by doc_id." in render_router_report(report)
    config = to_config(router(second))
    config["fuse"]["by"] = "session_id"
    off = measured(words, from_dict(config, "router")).report
    assert off["candidates"] == {"session_id": 2, "": 4}, "a recorded find is a session, our own documents are not"
    text = render_router_report(off)
    assert "2 of 6 candidates by session_id, 4 have none of them and stand for themselves." in text
    config["fuse"]["by"] = ["session_id", "doc_id"]
    both = measured(words, from_dict(config, "router")).report
    assert both["candidates"] == {"session_id": 2, "doc_id": 4, "": 0}
    assert both["results"] == report["results"]
    del config["fuse"]["by"]
    plain = measured(words, from_dict(config, "router")).report
    assert "Every chunk is a candidate; nothing is deduplicated." in render_router_report(plain)


def test_a_lost_recall_fails_and_is_quantified(words, tmp_path):
    better = {"results": [{**row, "retrieved_session_ids": ["keys", "bug", "tea"]} for row in SECOND["results"]]}
    path = tmp_path / "better.json"
    path.write_text(json.dumps(better))
    config = to_config(router(str(path), cap_ms=900))
    config["legs"]["first"] = {"use": "exact", "k": 20}
    config["legs"]["second"]["when"] = {"use": "fewer_than", "count": 1}
    config["legs"]["second"]["cap_ms"] = 150
    done = measured(words, from_dict(config, "router"))
    assert done.gate.canonical["verdict"] == "fail"
    text = render_router_report(done.report)
    assert "- fail: recall kept: R@10 difference -" in text
    assert "R@10 lost against the second source alone: -" in text
    close_all()


def test_a_required_source_that_is_not_there_fails_its_questions(words, tmp_path):
    missing = router(str(tmp_path / "none.json"), required=True)
    done = measured(words, missing)
    assert done.report["counters"] == {
        "stage2_used": 0,
        "stage2_skipped_budget": 0,
        "stage2_not_triggered": 1,
        "stage2_failed": 2,
    }
    assert [row["question_id"] for row in done.report["failures"]] == ["q2", "q3"]
    assert "StoreError: the report" in done.report["failures"][0]["error"]
    assert [row["question_id"] for row in done.report["results"]] == ["q1"], "a failure is no empty answer"
    slow = measured(words, missing, clock=iter(range(10_000)).__next__)
    assert slow.report["latency"]["search_ms_p50"] >= 1000.0, "nor one that took no time"
    open_ = measured(words, router(str(tmp_path / "none.json")))
    assert open_.report["counters"]["stage2_failed"] == 2
    assert open_.report["failures"] == [], "fail-open: stage 1 answers alone, on the record"
    assert "cannot be read" in open_.report["results"][1]["two_stage"]["stage2_skip_reason"]


def test_a_first_source_that_is_not_there_is_no_failure_of_the_second(words, second, tmp_path):
    config = to_config(router(second))
    config["legs"]["first"] = {"source": {"use": "recorded", "path": str(tmp_path / "none.json")}, "required": True}
    done = measured(words, from_dict(config, "router"))
    assert set(done.report["counters"].values()) == {0}, "stage 2 was never reached"
    assert done.report["summary"]["questions_failed"] == 3
    assert [row["question_id"] for row in done.report["failures"]] == ["q1", "q2", "q3"]
    text = render_router_report(done.report)
    assert "merged by append_fill. 3 failed. 1 more have no answer." in text
    assert "| stage2_failed | 0 |" in text


@dataclass(frozen=True)
class Buggy(Recorded):
    """Somebody's source with a bug."""

    def find(self, query, snapshot, k, seeds=None):
        raise ZeroDivisionError("their bug")


def test_a_plug_ins_bug_costs_its_questions_never_the_run(words, second):
    pipeline = router(second, {"use": "fewer_than", "count": 2}, cap_ms=900)
    first, plan = pipeline.legs
    done = measured(words, replace(pipeline, legs=(first, replace(plan, leg=Buggy(second, "unit")))))
    assert done.report["counters"]["stage2_failed"] == 2
    assert done.report["failures"][0] == {"question_id": "q2", "error": "ZeroDivisionError: their bug"}


def test_a_second_source_that_is_not_there_lets_no_gate_pass(words, tmp_path):
    """Alone it finds nothing for any question, which anybody beats; but it was not there, so nothing was measured."""
    other = tmp_path / "another set.json"
    other.write_text(json.dumps({"results": [{"question_id": "q99", "retrieved_session_ids": []}]}))
    done = measured(words, router(str(other)))
    assert done.report["counters"]["stage2_failed"] == 2
    recall = next(gate for gate in done.report["gates"]["gates"] if gate["name"] == "recall kept")
    assert recall["verdict"] == "not_measured"
    assert "every query failed, the first with: StoreError" in recall["why"]
    assert "not measured" in render_router_report(done.report)


def test_the_gate_reads_recall_at_ten_whatever_k_is(words, second):
    config = {**to_config(router(second)), "k": 2}
    report = measured(words, from_dict(config, "router")).report
    assert report["top_k"] == 2
    assert report["verdict"]["verdict"] == "pass"
    assert all(len(row["retrieved_session_ids"]) <= 2 for row in report["results"])
    one = measured(words, from_dict({**config, "k": 1}, "router")).report["results"][0]
    assert (one["retrieved_session_ids"], len(one["retrieved_scores"])) == (["keys"], 1)


def test_a_stage_that_nobody_asked_took_no_time_that_could_be_told(words, second):
    report = measured(words, router(second, {"use": "fewer_than", "count": 1})).report
    assert report["counters"]["stage2_not_triggered"] == 3
    assert report["latency"]["stage2_ms_p95"] is None
    assert "| stage2 | – | – | – |" in render_router_report(report)


def test_what_was_added_is_what_stage_1_had_not_found(words, second):
    """Also where both stages have one priority."""
    report = measured(words, router(second, {"use": "always"}, priority=0, cap_ms=900)).report
    added = {row["question_id"]: row["two_stage"]["stage2_added_count"] for row in report["results"]}
    assert added == {"q1": 0, "q2": 1, "q3": 1}


def test_a_second_source_without_a_trigger_is_always_to_be_asked(words, second):
    config = to_config(router(second, cap_ms=650))
    config["legs"]["second"]["when"] = None
    plain = {key: value for key, value in config["legs"]["second"].items() if value is not None}
    report = measured(words, from_dict({**config, "legs": {**config["legs"], "second": plain}}, "router")).report
    stages = [row["two_stage"] for row in report["results"]]
    assert [stage["stage2_should_trigger"] for stage in stages] == [True, True, True]
    assert [stage["stage2_used"] for stage in stages] == [True, False, True], "q2 would take 700 ms"
    assert [stage["trigger"] for stage in stages] == [None, None, None]
    assert (report["config"]["mode"], report["config"]["min_must_count"]) == ("always", None)


def test_a_second_source_that_this_store_cannot_ask_has_failed(words):
    config = to_config(router("unread"))
    config["legs"]["second"] = {"use": "dense", "priority": 1, "when": {"use": "fewer_than", "count": 2}}
    report = measured(words, from_dict(config, "router")).report
    assert report["counters"]["stage2_failed"] == 2
    assert "embedding" in report["results"][1]["two_stage"]["stage2_skip_reason"]


def test_the_must_count_is_of_sessions(words, second):
    config = to_config(router(second))
    config["fuse"]["by"] = "title"
    report = measured(words, from_dict(config, "router")).report
    assert [row["two_stage"]["must_retrieved_count"] for row in report["results"]] == [2, 1, 1]


def test_the_summary_for_people(words, second):
    done = measured(words, router(second))
    text = render_router_report(done.report)
    assert "stage 2 is asked by fewer_than (count = 2), merged by append_fill" in text
    for line in ("| stage2_used | 1 | 33.3% |", "| stage2_skipped_budget | 1 |", "| recall_at_k | 1.0000 |"):
        assert line in text
    assert "stage1_late" not in text, "a count is no metric"
    assert "| search | 0.00 | 180.00 |" in text
    assert "LongMemEval-50 was not measured" in text
    assert "assay bench router longmemeval:longmemeval_s.json --split all~50" in text
    assert done.report["digest"] in text


def test_the_arms_differ_from_the_router_in_what_they_are_called_after(second):
    """Alone: every question, no clock, no excuse. Always: as the router, but for its trigger."""
    pipeline = router(second)
    found = build_arms(pipeline)
    assert [system.name for system in found] == ["router", "router first", "router second", "router always"]
    assert found.router.pipeline == pipeline
    for system, plan in zip((found.first, found.second), pipeline.legs, strict=True):
        alone = replace(plan, when=None, cap_ms=None, required=True)
        assert system.pipeline == replace(pipeline, legs=(alone,), budget_ms=None)
        assert system.pipeline.digest != pipeline.digest
    first, second = pipeline.legs
    assert found.always.pipeline == replace(pipeline, legs=(first, replace(second, when=None)))
    assert found.always.pipeline.budget_ms == 1500.0


def test_the_config_of_the_preset_in_the_words_of_000():
    preset = load_pipeline("router")
    reranked = from_dict({**to_config(preset), "step": [{"use": "late_interaction"}]})
    assert describe_config(reranked) == {
        "mode": "must_count_gate",
        "trigger": {"use": "fewer_than", "count": 3},
        "min_must_count": 3,
        "fusion_mode": "append_fill",
        "k_rrf": None,
        "weights": None,
        "dedupe_by": ["session_id", "doc_id"],
        "top_k": 10,
        "stage1_budget": 20,
        "stage2_budget": 20,
        "stage2_max_additional": 10,
        "stage1_max_ms": None,
        "stage2_max_ms": 600.0,
        "budget_ms": 1500.0,
        "tie_break_order": ["fused_score_desc", "stage_priority_asc", "source_rank_asc", "id_asc"],
        "stage_priority": {"first": 0, "second": 1},
        "rerank": ["late_interaction"],
        "pipeline": reranked.digest,
    }
    other = from_dict(
        {**to_config(preset), "legs": {**to_config(preset)["legs"], "first": {"use": "bm25", "k": 7, "cap_ms": 50}}}
    )
    config = describe_config(other)
    assert (config["stage1_budget"], config["stage1_max_ms"], config["rerank"]) == (7, 50.0, [])


def test_a_router_has_two_legs():
    with pytest.raises(ConfigError, match="has 1 legs"):
        build_arms(from_dict({"legs": {"bm25": {}}}))


TYPES = ("single-session-user", "multi-session", "temporal-reasoning", "knowledge-update")


def longmem(tmp_path: Path, count: int) -> str:
    """A LongMemEval file with questions of four types and some that have no answer."""
    items = []
    for n in range(count):
        name = f"q{n:03d}" + ("_abs" if n % 10 == 9 else "")
        talk = [{"role": "user", "content": f"My word number {n} is w{n:03d}x.", "has_answer": True}]
        items.append(
            {
                "question_id": name,
                "question_type": TYPES[n % 4],
                "question": f"What about w{n:03d}x?",
                "answer": "it",
                "question_date": "2023/06/30 (Fri) 10:00",
                "haystack_session_ids": [f"s{n:03d}"],
                "haystack_dates": ["2023/05/20 (Sat) 11:17"],
                "haystack_sessions": [talk],
                "answer_session_ids": [f"s{n:03d}"],
            }
        )
    path = tmp_path / "lme.json"
    path.write_text(json.dumps(items))
    return f"longmemeval:{path}"


def test_longmemeval_50_is_sampled_by_type_and_measured_where_it_is(tmp_path):
    found = load(longmem(tmp_path, 80), "all~50")
    kinds = [found.topics[name].meta["type"] for name in (*found.scored, *found.abstain)]
    assert len(kinds) == 50
    assert set(kinds) == set(TYPES), "never the first fifty rows"
    assert {kinds.count(kind) for kind in TYPES} <= {12, 13}
    sample = describe_longmemeval(found)
    assert sample["measured"]
    assert sample["why"].startswith("This is a 50-question sample of longmemeval:"), "any file may have fifty questions"
    assert "not known to be the same 50" in sample["why"]
    whole = describe_longmemeval(load(longmem(tmp_path, 80), "all"))
    assert not whole["measured"]
    assert "this is lme-session/all with 80 questions, not a sample of 50" in whole["why"]
    config = {
        "legs": {
            "first": {"use": "bm25", "k": 20},
            "second": {"use": "exact", "priority": 1, "when": {"use": "fill_to_k"}},
        },
        "fuse": {"use": "append_fill", "by": "doc_id"},
    }
    with prepare(found, IndexSettings("none"), cache=tmp_path / "cache") as workspace:
        done = measure_router(found, build_arms(from_dict(config, "router")), workspace, load_rules("router"))
    assert done.report["longmemeval_50"]["measured"]
    assert done.report["summary"]["recall_at_k"] == 1.0
    assert "was not measured" not in render_router_report(done.report).split("Receipt")[0].split("p |")[-1]


MODEL = pytest.mark.skipif(default_spec() == "none", reason="no embedding model is installed")


def interrupted(*_):
    raise KeyboardInterrupt


@MODEL
def test_longmemeval_50_through_the_preset_is_one_command(tmp_path, monkeypatch):
    """The second stage is a table made of the dataset: dated, filtered and grouped by session as here."""
    pytest.importorskip("lancedb")
    monkeypatch.chdir(tmp_path)
    found = load(longmem(tmp_path, 60), "all~50")
    pipeline = load_pipeline("router")
    with prepare(found, IndexSettings(), cache=tmp_path / "cache") as workspace:
        with pytest.raises(KeyboardInterrupt):  # no half of a table is left behind
            write_lance_table(workspace, pipeline, interrupted)
        assert write_lance_table(workspace, pipeline) == 60
        done = measure_router(found, build_arms(pipeline), workspace, load_rules("router"))
        with pytest.raises(StoreError, match="has a table 'chunks' already, of 60 rows; this would have 60"):
            write_lance_table(workspace, pipeline)
        chunk = workspace.snapshot.chunks(workspace.snapshot.live_rows(None)[:1])[0]
    assert chunk.meta["session_id"] == chunk.doc_id
    assert done.report["longmemeval_50"]["measured"]
    assert done.report["counters"]["stage2_failed"] == 0
    second = next(row for row in done.report["compared"] if row["against"] == "router second")
    assert "not_measured" not in second
    assert done.gate.measured["verdict"] == "pass"


def test_an_undated_chunk_has_no_moment_in_the_table():
    """NaN would be no moment that a question asked at one could let pass; a missing value is."""
    source = LanceTable("t", doc="doc_id", created="created")
    undated = Chunk("c", "d", "text", 1, meta={"n": 1, "session_id": "s", "tags": ["x"]})
    kinds = _field_types([undated])
    assert _build_row(undated, source, kinds) == {"id": "c", "doc_id": "d", "text": "text", "n": 1.0, "session_id": "s"}
    assert _build_row(replace(undated, created=5.0), source, kinds)["created"] == 5.0


def test_a_table_is_made_for_a_pipeline_that_reads_one(words, second, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"legs\.second is no lance_table"):
        write_lance_table(words, router(second))
    pytest.importorskip("lancedb")
    with pytest.raises(StoreError, match="needs a model"):
        write_lance_table(words, load_pipeline("router"))
