"""Fits the weights of a linear ranker by a listwise loss: the log probability of the relevant documents.

    p(candidate) = exp(s) / Σ exp(s)          s = Σ weight(f) · feature(f), over the candidates of a question
    p(document)  = Σ p(candidate)             over its chunks: a document is found by any of them
    loss         = − Σ share(d) · log p(d) + penalty · |weights − scale · start|²    share(d): its part of the grades

The loss is the mean over questions within a set, and the mean over sets by their weights. The scale of scores does not
change an order but changes p, so the scale of `start` is chosen first, from SCALES by the loss without a penalty, and
divided out at the end: a large penalty then means "stay at start". Newton's method with the Gauss-Newton part of the
second derivative, a fixed number of steps with halving: no randomness, so the same questions give the same weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats
from benchmarks.train_ranker import Questions

STEPS, HALVINGS, ENOUGH = 12, 8, 1e-6
SCALES = (0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4)


class _Loss(NamedTuple):
    value: float
    gradient: Floats
    curvature: Floats


def fit_listwise(sets: Sequence[Questions], set_weights: Sequence[float], start: Floats, penalty: float) -> Floats:
    """The weights that minimise the loss; with no questions, `start`."""
    total = float(sum(set_weights))
    found = [(_with_answers(questions), weight / total) for questions, weight in zip(sets, set_weights, strict=True)]
    usable = [(answered, share) for answered, share in found if len(answered.grade)]
    if not usable:
        return start.copy()
    scale = min(SCALES, key=lambda one: _measure(usable, one * start, one * start, 0.0).value)
    centre = scale * start
    weights, here = centre, _measure(usable, centre, centre, penalty)
    for _ in range(STEPS):
        step = np.linalg.solve(here.curvature, here.gradient)
        tried = ((weights - step / 2.0**halving) for halving in range(HALVINGS))
        better = next(
            (
                (moved, there)
                for moved in tried
                if (there := _measure(usable, moved, centre, penalty)).value < here.value
            ),
            None,
        )
        if better is None:
            break
        gain, (weights, here) = here.value - better[1].value, better
        if gain < ENOUGH:
            break
    return weights / scale


class _Answered(NamedTuple):
    """The questions of a set with an answer among the candidates."""

    features: Floats
    document: NDArray[np.int64]
    grade: Floats


def _measure(usable: Sequence[tuple[_Answered, float]], weights: Floats, centre: Floats, penalty: float) -> _Loss:
    """The loss over all sets, with its derivatives."""
    value, gradient = penalty * float(((weights - centre) ** 2).sum()), 2.0 * penalty * (weights - centre)
    curvature = 2.0 * penalty * np.eye(len(weights))
    for answered, share in usable:
        one = _loss(answered, weights)
        value, gradient = value + share * one.value, gradient + share * one.gradient
        curvature = curvature + share * one.curvature
    return _Loss(value, gradient, curvature)


def _with_answers(questions: Questions) -> _Answered:
    found = questions.grade.sum(axis=1) > 0.0
    return _Answered(questions.features[found].astype(np.float64), questions.document[found], questions.grade[found])


def _loss(answered: _Answered, weights: Floats) -> _Loss:
    """The mean loss of the questions of one set, with its derivatives."""
    features, document, grade = answered
    score = np.where(document < 0, -np.inf, features @ weights)
    score = np.exp(score - score.max(axis=1, keepdims=True))
    p = score / score.sum(axis=1, keepdims=True)
    same = (document[:, :, None] == document[:, None, :]) & (document[:, :, None] >= 0)
    p_document = np.where(document < 0, 1.0, np.einsum("qij,qj->qi", same, p))
    chunks = np.maximum(same.sum(axis=2), 1)
    share = grade / chunks
    share = share / share.sum(axis=1, keepdims=True)
    value = -(share * np.log(p_document)).sum() / len(grade)
    slope = p - np.einsum("qij,qj->qi", same, share) * p / p_document
    gradient = np.einsum("qk,qkf->f", slope, features) / len(grade)
    mean = np.einsum("qk,qkf->qf", p, features)
    spread = np.einsum("qkf,qkg->fg", features * p[:, :, None], features) - mean.T @ mean
    return _Loss(float(value), gradient, spread / len(grade))
