"""What a question's metadata means, by rules that hold for every dataset.

abstain     nothing in the corpus answers it: one of MARKS is set, or a kind of question is one of UNANSWERABLE
where       `conversation`: it is asked within that conversation, and nothing else may be found
strata      every field with few values: "type=temporal"
label       `label`: who judged, when its first word is human, weak, auto or synthetic
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from assay.bench.types import Label, Topic
from assay.types import Meta

MARKS = {"abstain": True, "is_impossible": True, "unanswerable": True, "answerable": False}
KINDS = ("type", "kind", "question_type")
UNANSWERABLE = frozenset({"abstain", "abstention", "adversarial", "null", "null_query", "unanswerable"})
CONVERSATION = "conversation"

MOST_VALUES = 12
"""A field with more values than this divides nothing that could be reported."""
NO_STRATUM = frozenset({"label", "split", "answer", "date", "sha", *MARKS})
LABELS: tuple[Label, ...] = get_args(Label)
"""Most to least trusted."""


def is_unanswerable(meta: Meta) -> bool:
    marked = any(meta.get(name) is value for name, value in MARKS.items())
    return marked or any(meta.get(name) in UNANSWERABLE for name in KINDS if isinstance(meta.get(name), str))


def restriction(meta: Meta) -> str:
    """The filter a question is asked under."""
    value = meta.get(CONVERSATION)
    return f"{CONVERSATION} = {json.dumps(value, ensure_ascii=False)}" if isinstance(value, str) and value else ""


def strata_fields(topics: Iterable[Topic]) -> tuple[str, ...]:
    """Fields that divide these questions into 2 to 12 groups of two or more on average.

    Of two fields that divide them alike the one of words stays, then the one that is first by name: LoCoMo's
    categories 1 to 5 are its types.
    """
    columns: dict[str, dict[str, str]] = {}
    for topic in topics:
        for name, value in topic.meta.items():
            if name not in NO_STRATUM and isinstance(value, str | int):
                columns.setdefault(name, {})[topic.id] = shown(value)
    chosen: dict[tuple[Any, ...], str] = {}
    for name in sorted(columns, key=lambda name: (_numeric(columns[name]), name)):
        groups = Counter(columns[name].values())
        if 2 <= len(groups) <= min(MOST_VALUES, len(columns[name]) // 2):
            chosen.setdefault(_partition(columns[name]), name)
    return tuple(sorted(chosen.values()))


def strata(meta: Meta, fields: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{name}={shown(meta[name])}" for name in fields if isinstance(meta.get(name), str | int))


def shown(value: str | int) -> str:
    """A value as a stratum's name shows it: true, 3, temporal."""
    return value if isinstance(value, str) else json.dumps(value)


def _numeric(column: Mapping[str, str]) -> bool:
    return all(value.lstrip("-").isdigit() for value in column.values())


def _partition(column: Mapping[str, str]) -> tuple[Any, ...]:
    """Which questions stand together, whatever their groups are called."""
    first: dict[str, str] = {}
    for topic in sorted(column):
        first.setdefault(column[topic], topic)
    return tuple((topic, first[column[topic]]) for topic in sorted(column))


def label_of(said: object) -> Label | None:
    """Who judged: "human annotation" is human; a label that says something else is no such label."""
    word = str(said).split()[0].lower() if isinstance(said, str) and said.strip() else ""
    return next((label for label in LABELS if label == word), None)


def least_trusted(labels: Iterable[Label]) -> Label:
    return max(labels, key=LABELS.index, default="human")
