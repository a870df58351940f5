"""Whether the passages that match a question were said by somebody else.

In a transcript ("Anna: I went to …") a question about Anna whose words match only what others said asks for something
that is not known about Anna, although every word of it occurs. Names in a passage do not help: "Hi Anna!" is said by
the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from assay.answerability.evidence import FoundEvidence
from assay.answerability.question import Question
from assay.engine.foreign_chunks import FIRST_FOREIGN_ROW
from assay.types import Floats

_LABEL = re.compile(r"([^\W\d_][\w .'’-]{0,39}?)\s?[:：](?!//)\s?")
_LABELLED = 0.8
"""Share of the candidates with a label from which on they are a transcript."""
_PROBE = 8
_BEST = 3
_COSINE = 0.25


def speaker_gap(question: Question, evidence: FoundEvidence) -> float:
    """How much better the question matches what others said than what the named speakers said; 0 where no name of it
    is a speaker.

        gap = mean of the 3 best scores of others − mean of the 3 best of the named speakers
        score of a row = coverage of the content without the names + ¼ cosine
    """
    rows = evidence.table.rows
    if not question.names or not len(rows) or (rows >= FIRST_FOREIGN_ROW).any():
        return 0.0
    probe = read_labels([chunk.text for chunk in evidence.snapshot.chunks(rows[:_PROBE])])
    if sum(map(bool, probe)) < _LABELLED * len(probe):
        return 0.0
    rest = read_labels([chunk.text for chunk in evidence.snapshot.chunks(rows[_PROBE:])])
    terms = {label: frozenset(evidence.snapshot.terms(label)) for label in {*probe, *rest}}
    labels = [terms[label] for label in (*probe, *rest)]
    named = [any(label & name for name in question.names) for label in labels]
    if not any(named) or len(set(labels)) < 2:
        return 0.0
    names = frozenset().union(*question.names)
    score = evidence.table.coverage(question.terms - names)
    if evidence.cosines is not None:
        score = score + _COSINE * evidence.cosines
    own = np.array(named)
    return _mean_best(score[~own]) - _mean_best(score[own])


def read_labels(texts: Sequence[str]) -> list[str]:
    """The speaker that each text names at its beginning; "" where it names none."""
    matches = [_LABEL.match(text) for text in texts]
    return [match[1] if match and match.end() < len(text) else "" for match, text in zip(matches, texts, strict=True)]


def _mean_best(scores: Floats) -> float:
    """The mean of the three best; missing ones count as 0."""
    return float(np.sort(scores)[::-1][:_BEST].sum()) / _BEST
