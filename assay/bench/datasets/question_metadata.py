"""Interprets the metadata of questions, by rules that hold for every dataset.

abstain     nothing in the corpus answers it: a flag of UNANSWERABLE_FLAGS is set, or its kind is in UNANSWERABLE_KINDS
where       `conversation`: only documents of that conversation may be found
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

UNANSWERABLE_FLAGS = {"abstain": True, "is_impossible": True, "unanswerable": True, "answerable": False}
KIND_FIELDS = ("type", "kind", "question_type")
UNANSWERABLE_KINDS = frozenset({"abstain", "abstention", "adversarial", "null", "null_query", "unanswerable"})
CONVERSATION = "conversation"

MAX_VALUES = 12
"""A field with more values than this gives no useful strata."""
EXCLUDED_FIELDS = frozenset({"label", "split", "answer", "date", "sha", *UNANSWERABLE_FLAGS})
LABELS: tuple[Label, ...] = get_args(Label)
"""Most to least trusted."""


def is_unanswerable(meta: Meta) -> bool:
    flagged = any(meta.get(name) is value for name, value in UNANSWERABLE_FLAGS.items())
    return flagged or any(
        meta.get(name) in UNANSWERABLE_KINDS for name in KIND_FIELDS if isinstance(meta.get(name), str)
    )


def conversation_filter(meta: Meta) -> str:
    """The filter that restricts a question to its conversation; "" if it names none."""
    value = meta.get(CONVERSATION)
    return f"{CONVERSATION} = {json.dumps(value, ensure_ascii=False)}" if isinstance(value, str) and value else ""


def select_strata_fields(topics: Iterable[Topic]) -> tuple[str, ...]:
    """Select the fields that divide these questions into 2 to 12 groups of two or more on average.

    Of two fields with the same groups a textual one is preferred, then the first by name: LoCoMo's categories 1 to 5
    equal its types.
    """
    columns: dict[str, dict[str, str]] = {}
    for topic in topics:
        for name, value in topic.meta.items():
            if name not in EXCLUDED_FIELDS and isinstance(value, str | int):
                columns.setdefault(name, {})[topic.id] = format_value(value)
    chosen: dict[tuple[Any, ...], str] = {}
    for name in sorted(columns, key=lambda name: (_numeric(columns[name]), name)):
        groups = Counter(columns[name].values())
        if 2 <= len(groups) <= min(MAX_VALUES, len(columns[name]) // 2):
            chosen.setdefault(_partition(columns[name]), name)
    return tuple(sorted(chosen.values()))


def list_strata(meta: Meta, fields: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{name}={format_value(meta[name])}" for name in fields if isinstance(meta.get(name), str | int))


def format_value(value: str | int) -> str:
    """Format a value for a stratum's name: true, 3, temporal."""
    return value if isinstance(value, str) else json.dumps(value)


def _numeric(column: Mapping[str, str]) -> bool:
    return all(value.lstrip("-").isdigit() for value in column.values())


def _partition(column: Mapping[str, str]) -> tuple[Any, ...]:
    """The grouping of the questions, independent of the groups' names."""
    first: dict[str, str] = {}
    for topic in sorted(column):
        first.setdefault(column[topic], topic)
    return tuple((topic, first[column[topic]]) for topic in sorted(column))


def parse_label(value: object) -> Label | None:
    """Parse a label by its first word: "human annotation" is human. None if it is not a known label."""
    word = str(value).split()[0].lower() if isinstance(value, str) and value.strip() else ""
    return next((label for label in LABELS if label == word), None)


def least_trusted(labels: Iterable[Label]) -> Label:
    return max(labels, key=LABELS.index, default="unstated")
