"""How many tokens a complete answer takes, estimated from the chunks that satisfy the constraints of a question.

    set     chunks = √(named · matching)          tokens = chunks · tokens of a sentence and its headings
    diff    tokens of the sentences that the chunks of two versions do not share

`named` chunks hold the names of the question: as many as there can be. `matching` is the share of its other words that
they hold, summed over them, the best one counting 1: as many as say it in the question's own words. Texts use other
words than questions, so the truth lies between the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.answerability.evidence import TermTable
from assay.answerability.question import Question
from assay.protocols import Snapshot
from assay.text.sentences import split_sentences
from assay.text.token_count import count_tokens
from assay.types import Query, Rows

MOST_ROWS = 256
"""Chunks that are counted; where there are more, the estimate says "at least"."""
_SAMPLE = 16
"""Chunks whose sentences are measured."""
_MOST_COMPARED = 48
_FEW = 3
"""Chunks that hold all names at once from which on the names restrict each other; fewer hold them by chance."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The estimated evidence of a question: `chunks` of it and the `tokens` they take, and how many it can be at most;
    `more`: so many match that they were not all counted; `compared`: sentences of two versions, not chunks."""

    chunks: int
    tokens: int
    most_chunks: int
    most_tokens: int
    more: bool = False
    compared: bool = False


NO_DEMAND = Demand(0, 0, 0, 0)


def estimate_demand(query: Query, question: Question, weights: dict[str, float], snapshot: Snapshot) -> Demand:
    """Estimate what a question that asks for everything takes."""
    if "lexical" not in snapshot.capabilities or not question.words:
        return NO_DEMAND
    text = " ".join([*(word.text for word in question.words), *(" ".join(sorted(v)) for v in question.versions)])
    matches = snapshot.lexical(replace(query, text=text, vector=None), MOST_ROWS)
    holds = np.array([part.column > 0.0 for part in matches.parts]).reshape(len(matches.parts), len(matches.rows))
    table = TermTable(matches.rows, tuple(part.name for part in matches.parts), holds, weights)
    named = _select_named(question, table)
    if len(question.versions) >= 2:
        compared = _compare_versions(question, table, named, snapshot)
        if compared is not None:
            return compared
    most = int(named.sum())
    chunks = math.sqrt(most * _count_matching(question, table, named))
    each = _item_tokens(table.rows[named], snapshot)
    return Demand(round(chunks), round(chunks * each), most, round(most * each), more=most >= MOST_ROWS)


def _select_named(question: Question, table: TermTable) -> NDArray[np.bool_]:
    """The rows with all names; those with any where the question compares names, or too few hold all of them; without
    names the rows that hold some content word."""
    if not question.names:
        return table.coverage(question.terms) > 0.0
    held = [table.find_rows(name) for name in question.names]
    together: NDArray[np.bool_] = np.logical_and.reduce(held)
    apart: NDArray[np.bool_] = np.logical_or.reduce(held)
    compares = not question.versions and (question.cues.sides or "compare" in question.intents)
    return apart if compares or together.sum() < _FEW else together


def _count_matching(question: Question, table: TermTable, named: NDArray[np.bool_]) -> float:
    """How many of the rows match the other content words, the best one counting 1; all of them where none does."""
    rest = question.terms - frozenset().union(*question.names)
    covered = table.coverage(rest)[named] if rest else np.ones(int(named.sum()))
    best = float(covered.max(initial=0.0))
    return float((covered / best).sum()) if best > 0.0 else float(named.sum())


def _item_tokens(rows: Rows, snapshot: Snapshot) -> float:
    """The mean tokens of a sentence of these rows with the headings above it, which say what it is about."""
    chunks = snapshot.chunks(rows[:_SAMPLE])
    if not chunks:
        return 0.0
    sentences = sum(max(len(split_sentences(chunk.text)), 1) for chunk in chunks)
    headings = sum(count_tokens(f"{chunk.title} {chunk.section}".strip()) for chunk in chunks)
    return sum(chunk.tokens for chunk in chunks) / sentences + headings / len(chunks)


def _compare_versions(
    question: Question, table: TermTable, named: NDArray[np.bool_], snapshot: Snapshot
) -> Demand | None:
    """The sentences that only one of the first and the last version holds; None where one of them is not there."""
    first, last = (
        _read_sentences(table.rows[named & table.find_rows(question.versions[place])], snapshot) for place in (0, -1)
    )
    if not first or not last:
        return None
    differing = first.keys() ^ last.keys()
    tokens = sum(count_tokens(text) for text in differing)
    return Demand(len(differing), tokens, len(differing), tokens, compared=True)


def _read_sentences(rows: Rows, snapshot: Snapshot) -> dict[str, None]:
    chunks = snapshot.chunks(rows[:_MOST_COMPARED])
    return {chunk.text[start:end]: None for chunk in chunks for start, end in split_sentences(chunk.text)}
