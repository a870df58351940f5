"""Metrics by token budget: does the evidence stand in what a reader is given, and how much else?

    ER@T       = groups inside / groups                     evidence recall
    EP@T       = evidence tokens inside / context tokens    evidence precision, 0 for an empty context
    A@T        = 1 when every group is inside               answerable
    A_strict@T = A@T, and 0 when the context contradicts it

A group is a fact; it is inside when one of its passages is (`context.py`). Topics without marked evidence have no
value. A failed result has an empty context and scores 0.

What contradicts a topic's evidence stands in `Topic.meta["conflicts"]`: texts, or {"text": …, "header": …} where
the header tells the twin apart (its date, its version), so that beside it in one piece the twin does no harm.
Where a dataset marks no conflicts, A_strict is A.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.bench.metrics.context import Context, fitting, plain
from assay.bench.metrics.names import Metric, MetricError
from assay.bench.types import Dataset, Evidence, Run, Scores, Topic
from assay.text.tokens import count_tokens


@dataclass(frozen=True, slots=True)
class Reading:
    """A topic, the context it was given, and the groups of its evidence: all of them, and those inside."""

    topic: Topic
    context: Context
    groups: frozenset[int]
    inside: Mapping[int, Evidence]


def in_budget(metrics: Sequence[Metric], dataset: Dataset, run: Run) -> dict[Metric, Scores]:
    """One value per result of `run`; NaN where a topic has no evidence."""
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
        for budget, asked in budgets.items():
            context = Context(() if result.failed else fitting(result.pieces, budget))
            reading = Reading(dataset.topics[result.topic], context, groups, context.groups(evidence))
            for metric in asked:
                values[metric][place] = FORMULAS[metric.measure](reading)
    return values


def evidence_recall(read: Reading) -> float:
    return len(read.inside) / len(read.groups)


def evidence_precision(read: Reading) -> float:
    """One passage per group inside, stretches that two groups share counted once; never above 1."""
    if not read.context.tokens:
        return 0.0
    gold = sum(count_tokens(text) for text in _merged(list(read.inside.values())))
    return min(1.0, gold / read.context.tokens)


def answerable(read: Reading) -> float:
    return float(len(read.inside) == len(read.groups))


def answerable_strictly(read: Reading) -> float:
    harmed = any(_harms(read.context, text, header) for text, header in _conflicts(read.topic))
    return 0.0 if harmed else answerable(read)


FORMULAS: dict[str, Callable[[Reading], float]] = {
    "ER": evidence_recall,
    "EP": evidence_precision,
    "A": answerable,
    "A_strict": answerable_strictly,
}


def _merged(passages: Sequence[Evidence]) -> list[str]:
    """The texts of passages, where those that overlap in their document become one."""
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


def _harms(context: Context, text: str, header: str) -> bool:
    """A conflicting text is in a piece, and what tells it apart is not."""
    return any(text in piece and not (header and header in piece) for piece in context.texts)


def _conflicts(topic: Topic) -> list[tuple[str, str]]:
    """(text, header) of each twin, plain; a header may be empty."""
    marked: Any = topic.meta.get("conflicts", ())
    found = []
    for entry in marked if isinstance(marked, Sequence) and not isinstance(marked, str) else (None,):
        text, header = (entry.get("text"), entry.get("header", "")) if isinstance(entry, Mapping) else (entry, "")
        if not isinstance(text, str) or not isinstance(header, str) or not text.strip():
            raise MetricError(
                f"topic {topic.id!r} has conflicts that cannot be read: {marked!r}",
                'a list of texts, or of {"text": …, "header": …}',
            )
        found.append((plain(text), plain(header)))
    return found
