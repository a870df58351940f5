"""The grid of the cascade: rows, gates, doubts, pages."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from assay.bench.gates.rules import RuleSet, load_rules
from assay.bench.gates.verdicts import judge_receipt
from assay.bench.receipt import Receipt, read
from assay.bench.stats.latency import latency_interval
from assay.bench.systems import make_system
from assay.cascade import service as cascade
from assay.cascade.bank.bank import write_bank
from assay.cascade.bank.index import BankIndex
from assay.cascade.bank.sequences import Pairs, open_sequences, write_sequences
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation import runs
from assay.cascade.evaluation.baselines import GUESSES, rank_baselines
from assay.cascade.evaluation.doubts import chance_level, find_doubts
from assay.cascade.evaluation.evaluate import EvaluationJob, evaluate
from assay.cascade.evaluation.grid import Axes, CascadeCell, run_grid
from assay.cascade.evaluation.leakage import measure_leakage
from assay.cascade.evaluation.offline import evaluate_offline
from assay.cascade.evaluation.questions import (
    NextVectorQuestion,
    code_agreement,
    find_twins,
    make_questions,
    split_by_domain,
)
from assay.cascade.evaluation.report import TITLE, headline, to_markdown
from assay.cascade.evaluation.runs import score_ranks
from assay.cascade.lvm.model import NORMALISATION, NextVectorModel
from assay.cascade.service import CascadeQuery
from assay.errors import ConfigError
from assay.score.tmd_layout import LAYOUTS
from tests.cascade.bank.sample_bank import bank_of, pair_file, unit
from tests.cascade.planted_bank import open_planted, planted_folder, planted_sequences

SMALL = Axes(k0=(100,), weight=(0.7,), nprobe=(8, 16))


def test_scores_by_hand():
    found = score_ranks(np.array([1, 5, 6, 10, 0]))
    assert found["Success@1"].tolist() == [1, 0, 0, 0, 0]
    assert found["Success@5"].tolist() == [1, 1, 0, 0, 0]
    assert found["Success@10"].tolist() == [1, 1, 1, 1, 0]
    assert found["RR@10"].tolist() == [1.0, 0.2, 1 / 6, 0.1, 0.0]


def test_a_twin_of_the_answer_is_the_answer(tmp_path):
    vectors = unit(6)
    vectors[4] = vectors[1]
    bank = write_bank(tmp_path / "b.npz", vectors, np.arange(10, 16), np.zeros(6, "u2"), np.zeros(6, "i2"))
    found = find_twins(bank)
    assert {row: rows.tolist() for row, rows in found.items()} == {1: [1, 4], 4: [1, 4]}
    question = NextVectorQuestion("q", CascadeQuery(vectors[0]), frozenset({11, 14}), 0)
    assert question.rank([10, 14, 11]) == 2
    assert question.rank([10]) == 0


def test_a_question_by_hand(tmp_path):
    """13 → 11 after 12; 14 is a twin of 11. Code, lane and domain asked for are 13's own."""
    vectors = unit(6)
    vectors[4] = vectors[1]
    bank = bank_of(tmp_path, vectors=vectors)
    snapshot = BankSnapshot(bank, BankIndex(tmp_path, bank, {"kind": "exact", "nprobe": 1}))
    (found,) = make_questions(snapshot, Pairs(np.array([13]), np.array([11]), np.array([[-1, 12]])))
    assert found.answers == {11, 14}
    assert found.domain == 3
    assert (found.request.tmd_bits, found.request.lane) == (int(bank.tmd_bits[3]), int(bank.lanes[3]))
    assert (found.request.exclude_ids, found.request.context_ids) == ((13,), (12,))
    assert np.array_equal(found.request.vector, vectors[3])
    weighted = vectors[3] + 0.5 * vectors[2]
    assert np.allclose(GUESSES["context"](snapshot, found), weighted / np.linalg.norm(weighted), atol=1e-6)
    assert np.array_equal(GUESSES["oracle"](snapshot, found), vectors[1])
    assert np.array_equal(GUESSES["identity"](snapshot, found), vectors[3])


def test_a_lot_finds_what_chance_does():
    questions = make_questions(open_planted().snapshot, planted_sequences().val)
    ranks = rank_baselines(open_planted().snapshot, questions)["random"]
    assert len(ranks) == len(questions)
    assert ((ranks >= 0) & (ranks <= 10)).all()
    assert (ranks > 0).mean() <= chance_level(4_096, len(questions))


@pytest.mark.parametrize(("cosine", "near"), [(0.995, 1), (0.985, 0)])
def test_an_answer_that_was_learned_in_other_words_is_counted(tmp_path, cosine, near):
    """14, to be found, lies at this cosine of 11, which was learned."""
    vectors = unit(6)
    scratch = vectors[0] - (vectors[0] @ vectors[1]) * vectors[1]
    vectors[4] = cosine * vectors[1] + np.sqrt(1 - cosine**2) * scratch / np.linalg.norm(scratch)
    bank = bank_of(tmp_path, vectors=vectors)
    found = measure_leakage(bank, open_sequences(pair_file(tmp_path), bank))
    assert (found["targets_near_a_learned_vector"], found["targets_looked_at"]) == (near, 1)
    assert found["twins_in_the_bank"] == 0
    vectors[4] = vectors[1]
    twin = measure_leakage(*_opened(tmp_path / "twin", vectors))
    assert (twin["twins_in_the_bank"], twin["targets_near_a_learned_vector"]) == (2, 1)


def _opened(folder_, vectors):
    folder_.mkdir()
    bank = bank_of(folder_, vectors=vectors)
    return bank, open_sequences(pair_file(folder_), bank)


def _cell(k0, nprobe, weight, hit5, rank):
    payload = {"aggregates": {"all": {"Success@5": hit5, "RR@10": rank}}}
    return CascadeCell(k0, nprobe, weight, run=None, receipt=Receipt("run", payload))


def test_of_several_that_pass_the_best_then_the_cheapest_is_chosen():
    cells = [
        _cell(500, 16, 0.7, 0.90, 0.60),  # the better Hit@5
        _cell(500, 16, 0.7, 0.80, 0.70),  # then the better reciprocal rank
        _cell(100, 16, 0.8, 0.80, 0.60),  # then the smaller K0
        _cell(500, 8, 0.8, 0.80, 0.60),  # then fewer lists
        _cell(500, 16, 0.6, 0.80, 0.60),  # then the smaller λ
        _cell(500, 16, 0.7, 0.80, 0.60),
    ]
    shuffled = [cells[place] for place in (3, 5, 1, 4, 0, 2)]
    assert sorted(shuffled, key=lambda cell: cell.preference) == cells


def test_answers_that_cannot_be_told_from_others_are_doubted():
    rows = {"identity": 0.1, "oracle": 0.9}
    (payload,) = find_doubts(0.5, 0.01, rows, open_planted().snapshot, planted_sequences())
    assert payload.startswith("the oracle finds 0.9000")
    assert find_doubts(0.5, 0.01, {**rows, "oracle": 1.0}, open_planted().snapshot, planted_sequences()) == []


def test_an_evaluation_without_a_model_says_so():
    bare = cascade.make_cascade(BankSnapshot(open_planted().snapshot.bank, open_planted().snapshot.index))
    assert "no next-vector model" in evaluate_offline(bare, planted_sequences(), 5, baselines=False)["degraded"]


def test_a_lane_of_few_questions_is_not_measured():
    questions = [
        NextVectorQuestion(str(i), CascadeQuery(np.ones(1, np.float32)), frozenset(), 3 if i < 30 else 5)
        for i in range(59)
    ]
    measured, few = split_by_domain(questions)
    assert {name: len(places) for name, places in measured.items()} == {"domain=03": 30}
    assert few == {"domain=05": 29}


@pytest.fixture(scope="module")
def grid():
    return run_grid(open_planted(), planted_sequences(), SMALL, name="planted", most=400)


def test_the_planted_bank_is_promoted(grid):
    assert [(cell.k0, cell.nprobe) for cell in grid.alone] == [(100, 8), (100, 16)]
    assert len(grid.cells) == 2
    gates = {one["name"]: one["verdict"] for one in grid.cells[0].gate.canonical["gates"]}
    assert gates == {"uplift": "pass", "no lane worse": "pass"}
    lanes_judged = grid.cells[0].gate.canonical["gates"][1]["findings"]
    assert lanes_judged
    assert all(one["scope"].startswith("domain=") and one["n"] >= 30 for one in lanes_judged)
    assert grid.goal.canonical["gates"][0]["verdict"] == "pass"
    assert grid.receipt.canonical["doubts"] == []


def test_every_report_has_the_rows_that_expose_nonsense(grid):
    assert {"random", "identity", "context", "oracle", "faiss-only nprobe 8", "faiss-only nprobe 16"} == set(
        grid.baselines
    )
    page = to_markdown(grid)
    for row in grid.baselines:
        assert f"| {row} |" in page
    assert "lvm-only" in page
    assert page.startswith(f"# {TITLE}")
    assert "Goal Hit@5 ≥ 0.78: pass" in page


def test_lists_that_hold_fewer_than_k0_are_told():
    """4,096 vectors in 64 lists: 8 lists hold some 512, so K0 1000 reads 32, and whoever is promoted is named so."""
    axes = Axes(k0=(100, 1000), weight=(0.7,), nprobe=(8,))
    found = run_grid(open_planted(), planted_sequences(), axes, most=400)
    probed = {(cell.k0, cell.weight): cell.run.probed for cell in [*found.alone, *found.cells]}
    assert set(probed[100, 0.7]) == {8}
    assert min(probed[1000, 0.7]) > 8
    assert probed[1000, 0.7] == probed[1000, 1.0]
    rows = {(row["k0"], row["lambda"]): row["nprobe_used"] for row in found.receipt.canonical["cells"]}
    assert rows[1000, 0.7] == {str(lists): count for lists, count in probed[1000, 0.7].items()}
    wide = found.cells[1]
    assert (wide.k0, wide.nprobe) == (1000, 8)
    assert f"| 1000 | 8 | {wide.nprobe_used} | 0.7 |" in to_markdown(found)
    named = headline(dataclasses.replace(found, chosen=wide))
    assert named == f"Chosen: K0 = 1000, λ = 0.7, nprobe = 8 (used {wide.nprobe_used})."


def test_the_canonical_half_is_the_same_on_every_run(grid):
    again = run_grid(open_planted(), planted_sequences(), SMALL, name="planted", most=400)
    assert again.receipt.digest == grid.receipt.digest


def test_lvm_only_is_lambda_1_at_the_same_k0(grid):
    for cell in grid.alone:
        spec = cell.receipt.canonical["system"]["spec"]
        assert [one["use"] for one in spec["step"]] == ["lvm", "top_k"], "it does not pay for the stage of the codes"
        assert set(cell.run.ms) == {"total", "ivf", "lvm", "k1"}
        assert spec["legs"]["ivf"]["k"] == cell.k0
        weighed = open_planted().pipeline(cascade.CascadeSettings(cell.k0, 50, 10, 1.0))
        for question in make_questions(open_planted().snapshot, planted_sequences().val, 25):
            query = dataclasses.replace(question.request, nprobe=cell.nprobe).to_query()
            one, other = (p.run(query, open_planted().snapshot) for p in (weighed, cell.run.system.pipeline))
            assert one.chosen.ids.tolist() == other.chosen.ids.tolist(), "at λ = 1 the codes change nothing"


def test_no_configuration_passes_is_said(grid):
    """Under a code that says the wrong thing agreement hurts, and nothing is promoted."""
    made = open_planted()
    bank = made.snapshot.bank
    codes = np.random.default_rng(5).permutation(np.asarray(bank.tmd_bits))
    wrong = dataclasses.replace(bank, tmd_bits=codes, lanes=made.snapshot.layout.lanes(codes))
    other = cascade.make_cascade(BankSnapshot(wrong, made.snapshot.index, made.snapshot.model))
    failed = run_grid(other, planted_sequences(), dataclasses.replace(SMALL, nprobe=(16,)), most=60)
    assert failed.chosen is None
    assert headline(failed) == "No configuration passes."
    assert "**fail**" in to_markdown(failed)
    assert failed.receipt.measured["verdict"] == "fail"
    assert failed.goal.canonical["gates"][0]["verdict"] == "fail"


class Nowhere:
    """A model that points away from everything: what searching with a bare step looked like."""

    def steps(self, current, context):
        return -2.0 * current


def test_a_model_that_finds_nothing_is_doubted():
    made = open_planted()
    manifest = {"name": "nowhere", "dim": 32, "context": 4, "normalisation": dict(NORMALISATION)}
    away = cascade.make_cascade(
        BankSnapshot(made.snapshot.bank, made.snapshot.index, NextVectorModel(Nowhere(), manifest))
    )
    found = run_grid(away, planted_sequences(), Axes(k0=(500,), weight=(0.7,), nprobe=(16,)), most=60)
    payload = " ".join(found.receipt.canonical["doubts"])
    assert "drawn at random" in payload
    assert "staying put" in payload


def test_where_no_lane_has_enough_questions_nothing_is_promoted():
    """No lane is worse, for want of lanes: that is not measured, and what was not measured never passes."""
    found = run_grid(open_planted(), planted_sequences(), Axes(k0=(100,), weight=(0.7,), nprobe=(16,)), most=60)
    (gate,) = [one for one in found.cells[0].gate.canonical["gates"] if one["name"] == "no lane worse"]
    assert gate["verdict"] == "not_measured"
    assert "fewer than min_n = 30" in gate["why"]
    assert found.chosen is None
    assert "| not measured |" in to_markdown(found)


def test_a_model_of_other_sequences_is_doubted(tmp_path):
    """The same bank, split otherwise: the model may have learned what it is asked here."""
    made = open_planted()
    bank, own = made.snapshot.bank, planted_sequences()
    pairs = [Pairs(*(getattr(own.train, n)[s] for n in ("current", "following", "context"))) for s in _TWO]
    other = write_sequences(tmp_path / "other.npz", *pairs, bank)
    axes = Axes(k0=(100,), weight=(0.7,), nprobe=(16,))
    found = run_grid(made, other, axes, most=30).receipt.canonical["doubts"]
    assert any("learned from other sequences" in text for text in found)
    away = NextVectorModel(made.snapshot.model._steps, {**made.snapshot.model.manifest, "training": {"by": "others"}})
    found = run_grid(cascade.make_cascade(BankSnapshot(bank, made.snapshot.index, away)), own, axes, most=30)
    assert any("nobody knows what" in text for text in found.receipt.canonical["doubts"])


_TWO = (slice(0, 28 * 56), slice(28 * 56, 32 * 56))
"""Whole paths of the training half: 56 pairs each."""


def test_codes_read_in_another_layout_are_doubted():
    """A bank made with the layout `wide` under the preset, which reads `spec`: every domain and task is another's."""
    made = open_planted()
    held, wide = made.snapshot.bank, LAYOUTS["wide"]
    codes = wide.pack(*LAYOUTS["spec"].unpack(held.tmd_bits))
    bank = dataclasses.replace(held, tmd_bits=codes, lanes=wide.lanes(codes))
    axes = Axes(k0=(100,), weight=(0.7,), nprobe=(16,))
    (wrong, right, own) = (
        BankSnapshot(*given) for given in ((bank, made.snapshot.index), (bank, made.snapshot.index, None, "wide"),
                                           (dataclasses.replace(held, lanes=held.lanes * 0 + 9), made.snapshot.index))
    )  # fmt: skip
    assert (right.layout_warning, own.layout_warning, made.snapshot.layout_warning) == ("", "", "")
    assert 'layout = "wide"' in wrong.layout_warning
    payload = run_grid(cascade.make_cascade(wrong), planted_sequences(), axes, most=20)
    assert wrong.layout_warning in payload.receipt.canonical["doubts"]
    assert evaluate_offline(cascade.make_cascade(wrong), planted_sequences(), 20, baselines=False)["doubts"] == [
        wrong.layout_warning
    ]


def test_answers_in_their_own_context_are_counted(tmp_path):
    bank = bank_of(tmp_path)
    context = np.array([[14, 15], [-1, 15]])
    path = pair_file(
        tmp_path, val_curr_ids=np.array([13, 13]), val_next_ids=np.array([14, 14]), val_context_ids=context
    )
    found = measure_leakage(bank, open_sequences(path, bank))
    assert found["answers_in_their_own_context"] == 1
    assert found["repeated_pairs"] == 1


def test_how_often_codes_agree_by_hand(tmp_path):
    bits = LAYOUTS["spec"].pack([1, 1, 1, 2, 2, 3], [5, 5, 6, 6, 7, 7], [0, 0, 0, 0, 0, 0])
    bank = bank_of(tmp_path, tmd_bits=bits, lane_indices=LAYOUTS["spec"].lanes(bits))
    snapshot = BankSnapshot(bank, BankIndex(tmp_path, bank, {"kind": "exact", "nprobe": 1}))
    ids = np.arange(10, 15)
    found = code_agreement(snapshot, Pairs(ids, ids + 1, np.empty((5, 0), np.int64)))
    # 1,5 → 1,5 → 1,6 → 2,6 → 2,7 → 3,7
    assert found == {"lane": 0.2, "domain": 0.6, "task": 0.6}


def timed_receipt(name, ms):
    """A run of ten questions at these times."""
    queries = [str(place) for place in range(10)]
    canonical = {
        "system": {"name": name, "digest": name, "spec": {}},
        "dataset": {"name": "d", "split": "val", "digest": "d"},
        "status": "measured",
        "queries": queries,
        "strata": {},
        "scores": {"Success@5": [1.0] * 10},
    }
    p50, p95, p99 = np.percentile(ms, [50, 95, 99]).tolist()
    latency = {"total": {"p50": p50, "p95": p95, "p99": p99}}
    return Receipt(
        "run", canonical, {"run": "one", "latency_ms": latency, "latency_samples": {"total": list(map(float, ms))}}
    )


def judge_times(a, b):
    rules = RuleSet("latency", tuple(rule for rule in load_rules("cascade").rules if rule.timed))
    (gate,) = judge_receipt(timed_receipt("b", b), rules, timed_receipt("a", a)).measured["gates"]
    return gate["verdict"], gate["why"]


def test_noise_neither_passes_nor_fails_a_latency_gate():
    """Two identical pipelines on a busy machine: a tenth of the questions of one was hit, at six times the time."""
    quiet, rng = np.full(200, 1.0), np.random.default_rng(3)
    busy = np.where(rng.random(200) < 0.05, 6.0, 1.0)
    verdict, why = judge_times(quiet, busy)
    assert verdict == "not_measured"
    assert "too noisy to tell" in why
    assert judge_times(quiet, quiet * 1.1) == ("pass", "latency.p95 ratio 1.10 is <= 1.2 (95 %: 1.10 to 1.10)")
    assert judge_times(quiet, quiet * 1.3)[0] == "fail"


def test_the_interval_of_a_ratio_by_hand():
    """Of two questions at 1 and 3 ms a resample has both, or one twice; the p50 of the other system is always 1."""
    low, high = latency_interval(np.array([1.0, 1.0]), np.array([1.0, 3.0]), 50.0)
    assert (low, high) == (1.0, 3.0)
    same = np.random.default_rng(0).lognormal(size=50)
    assert latency_interval(same, 2.0 * same, 95.0) == pytest.approx((2.0, 2.0))


def test_a_grid_on_a_busy_machine_is_open_not_failed(monkeypatch):
    """Every look at the clock is later by anything between nothing and a lot; the pipelines cost the same."""
    ticks = iter(np.cumsum(np.random.default_rng(1).pareto(0.6, 200_000)).tolist())
    timed = runs.time_systems
    monkeypatch.setattr(runs, "time_systems", lambda *given: timed(*given[:4], clock=ticks.__next__))
    monkeypatch.setattr(runs, "_ROUNDS", 1)
    found = run_grid(open_planted(), planted_sequences(), SMALL, most=400)
    assert {cell.verdict for cell in found.cells} == {"not_measured"}
    assert found.receipt.measured["verdict"] == "not_measured"
    assert headline(found) == "No configuration passes. 2 could not be measured."


def test_lanes_are_measured_whatever_the_limit():
    """200 questions over 16 lanes are twelve each; every lane that has thirty in the held-out half gets thirty."""
    snapshot, pairs = open_planted().snapshot, planted_sequences().val
    domains = snapshot.layout.domain.of(snapshot.bank.tmd_bits[snapshot.bank.rows(pairs.current)])
    enough = {f"domain={name:02d}" for name in np.unique(domains) if (domains == name).sum() >= 30}
    assert enough
    found = evaluate_offline(open_planted(), planted_sequences(), 40, baselines=False)
    assert set(found["lanes"]) == enough
    assert all(lane["questions"] >= 30 for lane in found["lanes"].values())
    assert found["questions"] == 40
    assert found["questions_added_for_lanes"] > 0
    plain = make_questions(snapshot, pairs, 40)
    (run,) = runs.run_systems([make_system(open_planted().base)], snapshot, plain)
    assert found["hit@5"] == pytest.approx(float(score_ranks(run.ranks)["Success@5"].mean())), (
        "over the even ones alone"
    )
    assert sum(found["nprobe_used"].values()) == 40 + found["questions_added_for_lanes"]


def test_chance_by_hand():
    # 10 of 1,000 are ten; 0.01 + 3 √(0.01 · 0.99 / 100)
    assert chance_level(1_000, 100) == pytest.approx(0.01 + 3 * 0.00994987, abs=1e-6)
    assert chance_level(5, 100) == 1.0


def test_without_a_model_nothing_is_measured():
    made = open_planted()
    bare = cascade.make_cascade(BankSnapshot(made.snapshot.bank, made.snapshot.index))
    found = run_grid(bare, planted_sequences(), Axes(k0=(100,), weight=(0.7,), nprobe=(16,)), most=40)
    assert found.cells[0].receipt.canonical["status"] == "not_measured"
    assert found.chosen is None
    assert "Goal Hit@5 ≥ 0.78: not measured (" in to_markdown(found)


@pytest.mark.parametrize(
    "wrong", [{"k0": ()}, {"k0": (20,)}, {"k": 60}, {"weight": (1.0,)}, {"weight": (-0.1,)}, {"k": 0}], ids=str
)
def test_axes_that_make_no_grid(wrong):
    with pytest.raises(ConfigError):
        Axes(**wrong)


def test_the_rules_say_what_001_says():
    rules = {rule.name: rule for rule in load_rules("cascade").rules}
    assert (rules["uplift"].op, rules["uplift"].threshold, rules["uplift"].relative) == (">=", 0.02, True)
    latency, lane = rules["latency"], rules["no lane worse"]
    assert (latency.metric, latency.op, latency.threshold, latency.relative) == ("latency.p95", "<=", 1.2, True)
    assert (lane.metric, lane.op, lane.threshold, lane.min_n) == ("Success@5", ">=", -0.03, 30)
    assert (lane.scope, lane.relative) == ("each stratum", True)
    (goal,) = load_rules("cascade-goal").rules
    assert (goal.metric, goal.threshold, goal.relative) == ("Success@5", 0.78, False)


def test_an_evaluation_writes_json_markdown_and_the_results_page(tmp_path):
    job = EvaluationJob(bank=planted_folder() / "bank.npz", most=60)
    payload = evaluate(job, dataclasses.replace(SMALL, k0=(100,), nprobe=(16,)), tmp_path / "evals" / "grid.json")
    assert "Goal" in payload
    receipt = read(tmp_path / "evals" / "grid.json")
    assert receipt.kind == "grid"
    assert receipt.canonical["questions"] == 60
    assert (tmp_path / "evals" / "grid.md").read_text() == (tmp_path / "evals" / f"{TITLE}.md").read_text()


def test_what_an_evaluation_made_is_taken_again_for_the_same_halves_only(tmp_path):
    axes = dataclasses.replace(SMALL, k0=(100,), nprobe=(16,))
    bank = open_planted().snapshot.bank
    out = tmp_path / "evals" / "grid.json"
    own, seen = planted_sequences().train, []
    for halves in (_TWO, _TWO, _TWO[::-1]):
        pairs = [Pairs(*(getattr(own, n)[s] for n in ("current", "following", "context"))) for s in halves]
        write_sequences(tmp_path / "other.npz", *pairs, bank)
        evaluate(EvaluationJob(bank=bank.path, val=tmp_path / "other.npz", most=30), axes, out)
        payload = read(out).canonical
        assert not any("learned" in text for text in payload["doubts"])
        files = out.parent / "eval_lvm" / "ridge.npy", out.parent / "eval_index" / "index.faiss"
        seen.append((payload["model"]["training"]["sequences"], *(file.stat().st_mtime_ns for file in files)))
    (model, made, index), again, other = seen
    assert again == (model, made, index)
    assert other[0] != model
    assert other[1] != made
    assert other[2] == index


def test_jobs_that_cannot_be():
    with pytest.raises(ConfigError, match="queries"):
        EvaluationJob(most=-1)
    with pytest.raises(ConfigError, match="json"):
        evaluate(EvaluationJob(), SMALL, Path("grid.md"))


def test_a_file_without_a_training_half_needs_a_model(tmp_path):
    val = planted_sequences().val
    np.savez(tmp_path / "val.npz", val_curr_ids=val.current, val_next_ids=val.following)
    job = EvaluationJob(bank=planted_folder() / "bank.npz", val=tmp_path / "val.npz", most=20)
    axes = dataclasses.replace(SMALL, nprobe=(16,))
    with pytest.raises(ConfigError, match="no half to train") as raised:
        evaluate(job, axes, tmp_path / "grid.json")
    assert "--model" in raised.value.cure
    assert "Goal" in evaluate(dataclasses.replace(job, model=planted_folder() / "lvm"), axes, tmp_path / "grid.json")


def test_questions_are_spread_and_exact_search_is_the_identity_row():
    made = open_planted()
    questions = make_questions(made.snapshot, planted_sequences().val, 25)
    assert len(questions) == 25
    whole = BankIndex(planted_folder(), made.snapshot.bank, {"kind": "exact", "nprobe": 1})
    ranks = rank_baselines(made.snapshot, questions)["identity"]
    for question, rank in zip(questions, ranks.tolist(), strict=True):
        ids = made.snapshot.bank.ids[whole.nearest(question.request.vector, 11)[0]].tolist()
        assert question.rank([one for one in ids if one not in question.request.exclude_ids][:10]) == rank
