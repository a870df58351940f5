"""Writes the tables of the answerability judge in documents from receipts/answerability.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

RECEIPT = Path(__file__).resolve().parents[2] / "receipts" / "answerability.json"
Row = Mapping[str, Any]
_SPLITS = {"held_out_templates": "held-out templates", "left_template_out": "each template left out"}


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def _measured() -> Row:
    found: Row = json.loads(RECEIPT.read_text("utf-8"))["measured"]
    return found


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def kinds() -> str:
    """Precision, recall and F1 by kind on templates that the heads were not trained on."""
    rows = []
    for split, label in _SPLITS.items():
        for kind, seen in _measured()["world"][split]["kinds"].items():
            numbers = [_number(seen[name]) for name in ("precision", "recall", "f1")]
            rows.append([label, kind.replace("_", " "), str(seen["questions"]), *numbers])
    return _table(["questions of", "kind", "number", "precision", "recall", "F1"], rows)


def utility() -> str:
    """The mean utility of a question."""
    rows = []
    for split, label in _SPLITS.items():
        seen = _measured()["world"][split]["utility"]
        rows.append([label, *(f"{seen[name]:+.2f}" for name in ("judge", "attempt_all", "refuse_all"))])
    return _table(["questions of", "judge", "attempt all", "refuse all"], rows)


def areas() -> str:
    """The area under the ROC curve of every set, with its interval, beside that of the search's own score."""
    real = _measured()["real"]
    left = {row["set"]: row for row in real["left_set_out"]}
    words = {row["set"]: row for row in real["words_only"]}
    rows = [
        [
            row["set"],
            f"{row['answerable']} / {row['unanswerable']}",
            _number(row["area_of_search_score"]),
            _number(row["area_of_cosine"]),
            f"{_number(row['area'])} ({_number(row['low'])} to {_number(row['high'])})",
            _number(words[row["set"]]["area"]),
            _number(left[row["set"]]["area"]),
        ]
        for row in real["held_out"]
    ]
    head = ["set", "answerable / not", "search score", "cosine", "judge", "judge, words only", "judge, set left out"]
    return _table(head, rows)


def flagged() -> str:
    """What the judge says at its threshold on the real sets."""
    rows = [
        [
            name,
            _number(seen["precision"]),
            _number(seen["recall"]),
            ", ".join(f"{kind.replace('_', ' ')} {share:.1%}" for kind, share in seen["false_alarms"].items())
            or "none",
        ]
        for name, seen in _measured()["real"]["flagged"].items()
    ]
    return _table(["set", "precision, out of scope", "recall, out of scope", "answerable ones refused"], rows)


def short_queries() -> str:
    """Searches of one or two words, and nonsense."""
    rows = [
        [row["set"], f"{row['keyword_refused']:.1%}", f"{row['nonsense_recognised']:.1%}"]
        for row in _measured()["short_queries"]
    ]
    return _table(["set", "known words refused", "nonsense recognised"], rows)


def cost() -> str:
    """What judging adds to a search, read and not read."""
    rows = [
        [
            row["set"],
            f"{row['chunks']:,}",
            *(f"{row['times'][name]['p50_ms']} / {row['times'][name]['p95_ms']}" for name in ("no_judge", "read")),
            f"{row['unread_over_no_judge']:.2f}",
            f"{row['read_over_no_judge']:.2f}",
            f"{row['read_over_no_judge_without_embedding']:.2f}",
        ]
        for row in _measured()["cost"]
    ]
    head = [
        "set",
        "chunks",
        "no judge, p50 / p95 ms",
        "read",
        "not read / no judge",
        "read / no judge",
        "without embedding",
    ]
    return _table(head, rows)


WRITERS: Mapping[str, Callable[[], str]] = {
    "answerability_kinds": kinds,
    "answerability_utility": utility,
    "answerability_areas": areas,
    "answerability_flagged": flagged,
    "answerability_short": short_queries,
    "answerability_cost": cost,
}
"""Block → what writes it."""
