"""Metrics by token budget: how much of the evidence the context contains, and how much else.

    ER@T       = groups inside / groups                     evidence recall
    EP@T       = evidence tokens inside / context tokens    evidence precision, 0 for an empty context
    A@T        = 1 when every group is inside               answerable
    A_strict@T = A@T, and 0 when the context contradicts it
    AIC@T      = 1 when an answer string stands in it       answer in context

`AIC` reads `Topic.meta["answer"]` or `["answers"]` and compares as SQuAD does: small letters, no punctuation, no
articles. Topics without an answer string, or with yes or no for one, have no value.

A group is a fact; it is inside if one of its passages is (`context.py`). Topics without marked evidence have no value.
A failed result has an empty context and scores 0.

`Topic.meta["conflicts"]` lists texts that contradict the evidence: texts, or {"text": …, "header": …} where the header
(a date, a version) identifies the contradicting text, so that a piece with both text and header is harmless. If a
dataset marks no conflicts, A_strict equals A.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.bench.metrics.context import BudgetContext, collapse_blanks, fit_budget
from assay.bench.metrics.names import Metric, MetricError
from assay.bench.types import Dataset, Evidence, Piece, Run, Scores, Topic, TopicResult
from assay.text.token_count import count_tokens


@dataclass(frozen=True, slots=True)
class ContextReading:
    """A topic, its context, and the groups of its evidence: all of them, and those inside."""

    topic: Topic
    context: BudgetContext
    groups: frozenset[int]
    inside: Mapping[int, Evidence]


def score_budgets(metrics: Sequence[Metric], dataset: Dataset, run: Run) -> dict[Metric, Scores]:
    """Compute one value per result of `run`; NaN if a topic has no evidence."""
    values = {metric: np.full(len(run), np.nan) for metric in metrics}
    budgets: dict[int, list[Metric]] = {}
    for metric in metrics:
        if metric.cutoff is not None:  # every measure by tokens needs one
            budgets.setdefault(metric.cutoff, []).append(metric)
    for place, result in enumerate(run):
        evidence = dataset.evidence.get(result.topic, ())
        if not evidence:
            continue
        groups = frozenset(passage.group for passage in evidence)
        for budget, budget_metrics in budgets.items():
            context = BudgetContext(() if result.failed else _select_pieces(result, budget))
            reading = ContextReading(dataset.topics[result.topic], context, groups, context.groups(evidence))
            for metric in budget_metrics:
                values[metric][place] = FORMULAS[metric.measure](reading)
    return values


def _select_pieces(result: TopicResult, budget: int) -> tuple[Piece, ...]:
    """What the packer made for this budget; without a packer, the pieces that fit."""
    packed = result.contexts.get(budget)
    return fit_budget(result.pieces, budget) if packed is None else packed


def evidence_recall(reading: ContextReading) -> float:
    return len(reading.inside) / len(reading.groups)


def evidence_precision(reading: ContextReading) -> float:
    """Count one passage per group inside; overlaps of groups count once; never above 1."""
    if not reading.context.tokens:
        return 0.0
    gold = sum(count_tokens(text) for text in _merge_overlaps(list(reading.inside.values())))
    return min(1.0, gold / reading.context.tokens)


def answerable(reading: ContextReading) -> float:
    return float(len(reading.inside) == len(reading.groups))


def strictly_answerable(reading: ContextReading) -> float:
    contradicted = any(
        _contains_conflict(reading.context, text, header) for text, header in _parse_conflicts(reading.topic)
    )
    return 0.0 if contradicted else answerable(reading)


def answer_in_context(reading: ContextReading) -> float:
    answers = [f" {text} " for text in map(normalise_answer, read_answers(reading.topic)) if text]
    if not answers:
        return float("nan")
    texts = [f" {normalise_answer(text)} " for text in reading.context.texts]
    return float(any(answer in text for answer in answers for text in texts))


def read_answers(topic: Topic) -> list[str]:
    """The answer strings of a topic; none where it is answered by yes or no."""
    found = topic.meta.get("answers", topic.meta.get("answer", ()))
    texts = [found] if isinstance(found, str) else found if isinstance(found, Sequence) else []
    return [text for text in texts if isinstance(text, str) and normalise_answer(text) not in ("yes", "no")]


def normalise_answer(text: str) -> str:
    """Small letters, without punctuation and articles, single blanks."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


FORMULAS: dict[str, Callable[[ContextReading], float]] = {
    "ER": evidence_recall,
    "EP": evidence_precision,
    "A": answerable,
    "A_strict": strictly_answerable,
    "AIC": answer_in_context,
}


def _merge_overlaps(passages: Sequence[Evidence]) -> list[str]:
    """The texts of passages; passages that overlap in their document are merged."""
    texts: list[str] = []
    document, end = "", 0
    for passage in sorted(passages, key=lambda p: (p.doc_id, p.start, p.end)):
        if texts and passage.doc_id == document and passage.start < end:
            texts[-1] += passage.text[end - passage.start :]
            end = max(end, passage.end)
        else:
            texts.append(passage.text)
            document, end = passage.doc_id, passage.end
    return texts


def _contains_conflict(context: BudgetContext, text: str, header: str) -> bool:
    """Whether a piece contains a conflicting text without its header."""
    return any(text in piece and not (header and header in piece) for piece in context.texts)


def _parse_conflicts(topic: Topic) -> list[tuple[str, str]]:
    """(text, header) of each conflict, with blanks collapsed; a header may be empty."""
    value: Any = topic.meta.get("conflicts", ())
    conflicts = []
    for entry in value if isinstance(value, Sequence) and not isinstance(value, str) else (None,):
        text, header = (entry.get("text"), entry.get("header", "")) if isinstance(entry, Mapping) else (entry, "")
        if not isinstance(text, str) or not isinstance(header, str) or not text.strip():
            raise MetricError(
                f"topic {topic.id!r} has conflicts that cannot be read: {value!r}",
                'a list of texts, or of {"text": …, "header": …}',
            )
        conflicts.append((collapse_blanks(text), collapse_blanks(header)))
    return conflicts
