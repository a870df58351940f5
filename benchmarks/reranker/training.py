"""Training loop: seeded, listwise, with checkpoints. An interrupted run continues where its last checkpoint was.

    loss = Σ weight · −log softmax(logits of a list)[answer] / Σ weight        a list: one answer and some negatives

The lists of step n are drawn by a generator seeded with (seed, n), and a checkpoint holds model, optimiser, step and
curve, so a run that was killed and resumed makes the same steps as one that was not.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from assay.util.atomic_files import atomic_path
from benchmarks.reranker.sources import TrainingError

Score = Callable[[nn.Module, Sequence[tuple[int, int]]], Tensor]  # (query, passage) numbers → logits


@dataclass(frozen=True)
class Plan:
    """How a run trains. `lists` questions a step, each with one answer and `negatives` negatives."""

    seed: int = 0
    steps: int = 1_000
    lists: int = 8
    negatives: int = 4
    rate: float = 5e-5
    warm_up: float = 0.06  # share of the steps
    bf16: bool = True
    threads: int = 2
    check_every: int = 200  # steps between two checks on held-out lists
    check_lists: int = 120  # held-out lists of a check
    save_every: float = 60.0  # seconds between two checkpoints

    def rate_at(self, step: int) -> float:
        """Share of the full rate: a linear warm-up, then a cosine down to zero."""
        warm = max(1, round(self.warm_up * self.steps))
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1.0 + math.cos(math.pi * (step - warm) / max(1, self.steps - warm)))

    def identity(self) -> dict[str, Any]:
        """The settings that decide the result and stay as they are; how often it is saved is not one, and `steps` may
        change when a run goes on."""
        return {name: value for name, value in asdict(self).items() if name not in ("save_every", "steps")}


def spread(items: Sequence[Any], size: int) -> list[Any]:
    """`size` of the items, equally far apart: lists are ordered by source, and each should have its share."""
    return [items[place] for place in np.linspace(0, len(items) - 1, min(size, len(items))).astype(int)]


def is_held_out(question: Mapping[str, Any]) -> bool:
    """Every twentieth question is for checks; by its number, so all runs hold out the same."""
    return int(question["query"]) % 20 == 7


class Run:
    """One training run in a folder: checkpoint.pt, curve.json, and model.pt when it is done."""

    def __init__(self, folder: Path, model: nn.Module, groups: list[dict[str, Any]], plan: Plan, data: str) -> None:
        self.folder, self.model, self.plan = folder, model, plan
        self.identity = {**plan.identity(), "data": data}
        self._optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        self._rates = [group["lr"] for group in self._optimiser.param_groups]
        self.step = 0
        self.lengths = [(0, plan.steps)]
        """(step, steps): from which step on the run was planned to have how many steps."""
        self.curve: list[dict[str, Any]] = []
        self.seconds = 0.0
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "checkpoint.pt").exists():
            self._resume()

    def train(self, lists: Sequence[Mapping[str, Any]], score: Score, report: Callable[[str], None]) -> None:
        """Train up to the last step; may be killed at any time."""
        torch.set_num_threads(self.plan.threads)
        torch.use_deterministic_algorithms(True)
        training = [one for one in lists if not is_held_out(one)]
        held_out = spread([one for one in lists if is_held_out(one)], self.plan.check_lists)
        if not training:
            raise TrainingError("there is no list to train on", "take more questions: --share")
        saved = time.monotonic()
        losses: list[float] = []
        started, before = time.monotonic(), self.seconds
        while self.step < self.plan.steps:
            losses.append(self._make_step(training, score))
            self.step += 1
            self.seconds = before + time.monotonic() - started
            if self.step % self.plan.check_every == 0 or self.step == self.plan.steps:
                self._check(held_out, score, losses, report)
                losses = []
            if time.monotonic() - saved > self.plan.save_every or self.step == self.plan.steps:
                self.save()
                saved = time.monotonic()

    def _make_step(self, training: Sequence[Mapping[str, Any]], score: Score) -> float:
        drawn = draw_lists(training, self.plan, self.step)
        pairs = [(query, passage) for query, passages, _ in drawn for passage in passages]
        for group, rate in zip(self._optimiser.param_groups, self._rates, strict=True):
            group["lr"] = rate * self.plan.rate_at(self.step)
        self._optimiser.zero_grad()
        logits = score(self.model, pairs)
        losses, weights, start = [], [], 0
        for _, passages, weight in drawn:
            losses.append(-logits[start : start + len(passages)].log_softmax(dim=0)[0])
            weights.append(weight)
            start += len(passages)
        shares = torch.tensor(weights)
        loss = (torch.stack(losses) * shares).sum() / shares.sum()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimiser.step()
        return float(loss.detach())

    def _check(
        self,
        held_out: Sequence[Mapping[str, Any]],
        score: Score,
        losses: Sequence[float],
        report: Callable[[str], None],
    ) -> None:
        rank = measure_mrr(self.model, held_out, score) if held_out else float("nan")
        self.curve.append({"step": self.step, "loss": round(float(np.mean(losses)), 4), "held_out_mrr": round(rank, 4)})
        report(f"{self.folder.name}: step {self.step} of {self.plan.steps}, {self.curve[-1]}, {self.seconds:.0f} s")
        with atomic_path(self.folder / "curve.json") as name:
            content = {
                "plan": self.identity,
                "lengths": self.lengths,
                "seconds": round(self.seconds),
                "curve": self.curve,
            }
            Path(name).write_text(json.dumps(content, indent=1), "utf-8")

    def save(self) -> None:
        content = {
            "identity": self.identity,
            "model": self.model.state_dict(),
            "optimiser": self._optimiser.state_dict(),
            "step": self.step,
            "lengths": self.lengths,
            "curve": self.curve,
            "seconds": self.seconds,
        }
        with atomic_path(self.folder / "checkpoint.pt") as name:
            torch.save(content, name)

    def _resume(self) -> None:
        content = read_checkpoint(self.folder)
        changed = {
            name: (content["identity"].get(name), value)
            for name, value in self.identity.items()
            if content["identity"].get(name) != value
        }
        if changed:
            raise TrainingError(
                f"{self.folder} holds a run with other settings (before, now): {changed}",
                "give the settings of that run, name another --run, or delete the folder",
            )
        self.model.load_state_dict(content["model"])
        self._optimiser.load_state_dict(content["optimiser"])
        self.step, self.curve, self.seconds = content["step"], content["curve"], content["seconds"]
        self.lengths = [tuple(one) for one in content["lengths"]]
        if self.lengths[-1][1] != self.plan.steps:
            self.lengths.append((self.step, self.plan.steps))


def read_checkpoint(folder: Path) -> dict[str, Any]:
    path = folder / "checkpoint.pt"
    if not path.is_file():
        raise TrainingError(f"there is no run in {folder}", "train it first, or name another --run")
    try:
        content: dict[str, Any] = torch.load(path, weights_only=True)
        _ = content["identity"], content["model"], content["optimiser"], content["step"], content["curve"]
        content.setdefault("lengths", [(0, content["identity"].pop("steps", 0))])  # of runs before it could change
    except Exception as error:  # torch raises whatever the broken part of the file leads to
        reason = str(error).splitlines()[0] if str(error) else repr(error)
        raise TrainingError(
            f"the checkpoint {path} is damaged: {reason}", f"delete {folder} and train again from the start"
        ) from error
    return content


def draw_lists(training: Sequence[Mapping[str, Any]], plan: Plan, step: int) -> list[tuple[int, list[int], float]]:
    """(query, [answer, negatives …], weight) of a step: epochs are seeded permutations, negatives a seeded draw."""
    rng = np.random.default_rng((plan.seed, step))
    drawn = []
    for place in range(step * plan.lists, (step + 1) * plan.lists):
        epoch, number = divmod(place, len(training))
        order = np.random.default_rng((plan.seed, 1 << 40, epoch)).permutation(len(training))
        one = training[order[number]]
        negatives = one["negatives"]
        chosen = rng.choice(len(negatives), min(plan.negatives, len(negatives)), replace=False)
        answer = one["positives"][int(rng.integers(len(one["positives"])))]
        drawn.append((one["query"], [answer, *(negatives[i] for i in chosen)], one["weight"]))
    return drawn


def measure_mrr(model: nn.Module, lists: Sequence[Mapping[str, Any]], score: Score) -> float:
    """Mean of 1 / rank of the first answer among all its negatives; ties count against it."""
    found = []
    with torch.inference_mode():
        for one in lists:
            pairs = [(one["query"], passage) for passage in (one["positives"][0], *one["negatives"])]
            logits = score(model, pairs)
            found.append(1.0 / float((logits >= logits[0]).sum()))
    return float(np.mean(found))
