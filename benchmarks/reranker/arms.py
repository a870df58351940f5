"""The two arms, from lists to a trained model, an exported folder and a judgement. Needs torch."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from assay.util.atomic_files import atomic_path
from benchmarks.measure import describe_machine
from benchmarks.reranker.assembly import HEAD, write_trained
from benchmarks.reranker.candidates import POOL
from benchmarks.reranker.corpus import States, read_corpus
from benchmarks.reranker.encoder import LOWER, FrozenEncoder, name_weights
from benchmarks.reranker.joint import JointEncoder
from benchmarks.reranker.judging import PIECES, judge_all, score_set
from benchmarks.reranker.late import TokenProjection
from benchmarks.reranker.mining import read_lists
from benchmarks.reranker.scoring import ReadStates, score_pairs
from benchmarks.reranker.sources import LAB_SETS, TrainingError
from benchmarks.reranker.training import Plan, Run, is_held_out, measure_mrr, read_checkpoint, spread

Model = JointEncoder | TokenProjection


def plan_of(options: argparse.Namespace) -> Plan:
    if options.arm == "cross":
        return Plan(options.seed, options.steps, rate=options.rate or 5e-5, bf16=options.bf16, threads=options.threads)
    # 147,000 weights on states that do not change: larger batches, float32
    return Plan(options.seed, options.steps, lists=16, rate=options.rate or 3e-4, bf16=False, threads=options.threads)


def build_model(arm: str, weights: Mapping[str, Any]) -> Model:
    return JointEncoder(weights) if arm == "cross" else TokenProjection()


def reader_of(arm: str, states: States) -> ReadStates:
    """What the arm reads of a text: the states of the lower layers, or the last states without [CLS] and [SEP]."""
    return states.lower if arm == "cross" else lambda number: states.last(number)[1:-1]


def train(
    arm: str,
    work: Path,
    name: str,
    plan: Plan,
    lab_sets: Sequence[str],
    weights: Mapping[str, Any],
    report: Callable[[str], None],
    start: str = "",
) -> None:
    """Train a run to its last step, from its checkpoint if there is one; `start` names a run whose model it starts
    from instead of the encoder's."""
    lists = _lists(work, lab_sets)
    corpus = read_corpus(work)
    states = States(work / "states", len(corpus.texts))
    model = _start_model(arm, work, start, weights)
    data = f"{arm} {'+'.join(['shared', *sorted(lab_sets)])}{f' after {start}' if start else ''}"
    run = Run(work / name, model, model.groups(plan.rate), plan, data)
    if run.step:
        report(f"{name}: goes on at step {run.step}")
    run.train(lists, score_pairs(reader_of(arm, states), plan.bf16), report)


def _start_model(arm: str, work: Path, start: str, weights: Mapping[str, Any]) -> Model:
    if not start:
        return build_model(arm, weights)
    model, content = load_run(work, start, weights)
    if (other := content["identity"]["data"].partition(" ")[0]) != arm:
        raise TrainingError(f"the run {start} is of the arm {other}, not of {arm}", "start from a run of the same arm")
    return model


def load_run(work: Path, name: str, weights: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
    """The model of a run as its last checkpoint has it, and the checkpoint."""
    content = read_checkpoint(work / name)
    model = build_model(content["identity"]["data"].partition(" ")[0], weights)
    model.load_state_dict(content["model"])
    return model.eval(), content


def export_cross(work: Path, name: str, folder: Path, weights: Mapping[str, Any]) -> dict[str, Any]:
    """Write the trained part of a run of the arm cross; the logit is calibrated on the held-out lists."""
    model, content = load_run(work, name, weights)
    assert isinstance(model, JointEncoder)
    scale, shift = calibrate(*_held_out_logits(work, model, content))
    head = {part: getattr(model, part).detach().numpy() for part in HEAD if hasattr(model, part)}
    head |= {"scale": np.array(scale, np.float32), "shift": np.array(shift, np.float32)}
    facts = {
        "run": content["identity"],
        "step": content["step"],
        "lengths": content["lengths"],
        "curve": content["curve"],
        "calibration": {"scale": round(scale, 4), "shift": round(shift, 4)},
        "questions": dict(read_corpus(work).settings),
    }
    return write_trained(folder, {**name_weights(model.layers, LOWER), **head}, facts)


def calibrate(logits: np.ndarray, answers: np.ndarray) -> tuple[float, float]:
    """Scale and shift with which sigmoid(scale · logit + shift) is the probability of an answer, answers and others
    weighted alike (Platt); by Newton's method on the log loss."""
    design = np.stack([logits - logits.mean(), np.ones(len(logits))], axis=1)
    weights = np.where(answers, 0.5 / max(answers.sum(), 1), 0.5 / max((~answers).sum(), 1))
    theta = np.array([1.0 / max(float(logits.std()), 1e-6), 0.0])
    for _ in range(50):
        share = 1.0 / (1.0 + np.exp(-design @ theta))
        gradient = design.T @ (weights * (share - answers)) + 1e-4 * theta
        curvature = (design * (weights * share * (1.0 - share))[:, None]).T @ design + 1e-4 * np.eye(2)
        theta = theta - np.linalg.solve(curvature, gradient)
    return float(theta[0]), float(theta[1] - theta[0] * logits.mean())


def _held_out_logits(work: Path, model: Model, content: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    lists = [one for one in read_lists(work) if is_held_out(one) and one["source"] not in LAB_SETS]
    states = States(work / "states", len(read_corpus(work).texts))
    score = score_pairs(states.lower, content["identity"]["bf16"])
    pairs = [(one["query"], n) for one in lists for n in (one["positives"][0], *one["negatives"])]
    answers = [n == one["positives"][0] for one in lists for n in (one["positives"][0], *one["negatives"])]
    with torch.inference_mode():
        return score(model, pairs).numpy().astype(float), np.array(answers)


def _lists(work: Path, lab_sets: Sequence[str]) -> list[dict[str, Any]]:
    return [one for one in read_lists(work) if one["source"] not in LAB_SETS or one["source"] in lab_sets]


def judge(
    work: Path, folder: Path, options: argparse.Namespace, weights: Mapping[str, Any], report: Callable[[str], None]
) -> dict[str, Any]:
    """Score the candidates of all sets with every run, and with late interaction as it is today."""
    rerankers = {"late-interaction": _scorer("late", TokenProjection(), False)}
    runs: dict[str, Any] = {}
    for arm, names in (("late", options.late), ("cross", options.cross)):
        for name in names:
            model, content = load_run(work, name, weights)
            rerankers[name] = _scorer(arm, model, content["identity"]["bf16"])
            runs[name] = {
                "arm": arm,
                "settings": content["identity"],
                "lengths": content["lengths"],
                "seconds": round(content["seconds"]),
                "parameters": sum(p.numel() for p in model.parameters()),
                "held_out_mrr_untrained": _untrained_mrr(arm, work, content["identity"], weights),
                "curve": content["curve"],
            }
    encoder = FrozenEncoder(weights)
    for name in options.sets:
        splits = (options.dev, options.test)
        score_set(folder, name, splits, rerankers, partial(encoder.states, bf16=options.bf16), report)
    judged = judge_all(folder, options.sets, options.dev, options.test, [*rerankers])
    questions = read_corpus(work)
    data = {"settings": questions.settings, "questions": len(questions.questions), "passages": questions.passages}
    return {"pool": POOL, "pieces": PIECES, "data": data, "runs": runs, **judged}


def _untrained_mrr(arm: str, work: Path, identity: Mapping[str, Any], weights: Mapping[str, Any]) -> float:
    """The reciprocal rank on the run's held-out lists before the first step."""
    labs = [name for name in LAB_SETS if name in identity["data"]]
    held_out = spread([one for one in _lists(work, labs) if is_held_out(one)], identity["check_lists"])
    states = States(work / "states", len(read_corpus(work).texts))
    score = score_pairs(reader_of(arm, states), identity["bf16"])
    return round(measure_mrr(build_model(arm, weights), held_out, score), 4)


def _scorer(arm: str, model: nn.Module, bf16: bool) -> Callable[[States, list[tuple[int, int]]], np.ndarray]:
    def score(states: States, pairs: list[tuple[int, int]]) -> np.ndarray:
        with torch.inference_mode():
            logits: np.ndarray = score_pairs(reader_of(arm, states), bf16)(model, pairs).float().numpy()
            return logits

    return score


def update_receipt(path: Path, measured: Mapping[str, Any]) -> None:
    """Write the judgement into the receipt; what another step measured stays."""
    earlier = json.loads(path.read_text("utf-8"))["measured"] if path.exists() else {}
    content = {"machine": describe_machine(), "measured": {**earlier, **measured}}
    with atomic_path(path) as target:
        Path(target).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
