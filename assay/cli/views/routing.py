"""Prints the way of a walk down the tree, and the bridges it followed, as lines a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.engine.answer import Answer, Span

_SHOWN = 5
"""Children, and bridges, that are shown; the JSON has all."""


def routing_lines(answer: Answer) -> Iterator[str]:
    """The walks of an answer: for each expanded node its best children with their scores; chosen ones are marked."""
    for span in answer.trace:
        for log in _logs(span):
            if log.get("levels"):
                yield f"{span.name} · router {log['router']} · {log['rows']:,} of {log['of']:,} chunks scored"
            for decision in log.get("levels", ()):
                yield _level_line(decision)
            hops = log.get("hops", ())
            for hop in hops[:_SHOWN]:
                yield _hop_line(hop)
            if len(hops) > _SHOWN:
                yield f"  … and {len(hops) - _SHOWN} bridges more"
        for note in span.notes:
            if "winner" in note.data:
                yield f"{span.name} · {note.text}"


def _logs(span: Span) -> Iterator[Mapping[str, Any]]:
    for note in span.notes:
        if "routing" in note.data:
            yield note.data["routing"]


def _level_line(decision: Mapping[str, Any]) -> str:
    """`  level 2, node 3: ✓38 0.71 (words 0.40, cosine 0.31)  36 0.44 …`, best first."""
    scores: Mapping[str, Sequence[float]] = decision["scores"]
    children, chosen = decision["children"], set(decision["chosen"])
    final = _final_scores(scores)
    order = sorted(range(len(children)), key=lambda place: (children[place] not in chosen, -final[place]))
    pieces = []
    for place in order[:_SHOWN]:
        mark = "✓" if children[place] in chosen else "✗"
        detail = ", ".join(f"{name} {values[place]:.2f}" for name, values in scores.items())
        pieces.append(f"{mark}{children[place]} {final[place]:.2f} ({detail})")
    more = f" … {len(order) - _SHOWN} more" if len(order) > _SHOWN else ""
    return f"  level {decision['level']}, node {decision['node']}: {'  '.join(pieces)}{more}"


def _final_scores(scores: Mapping[str, Sequence[float]]) -> Sequence[float]:
    """What the choice was made by: the path's score, else the reranker's blend, else the sum of the router's."""
    if "path" in scores:
        return scores["path"]
    router = [values for name, values in scores.items() if name != "rerank"]
    return [sum(column) for column in zip(*router, strict=True)]


def _hop_line(hop: Mapping[str, Any]) -> str:
    reached = ", ".join(f"{name} {score:.2f}" for name, score in zip(hop["chosen"], hop["scores"], strict=True))
    return f"  hop {hop['hop']} from {hop['seed']} over {hop['entity']}: {reached} of {hop['candidates']}"
