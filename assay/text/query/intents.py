"""Classifies what a query asks for, with the words that decided it.

    set      an enumeration: list all …, which teams use …, everyone who …
    diff     what changed between two versions or moments
    as_of    a state at a past moment: as of March, who owned … in June, before the migration
    compare  two or more things side by side: A versus B, which is larger
    lookup   none of these

A word alone decides nothing: `list` counts where a clause begins and a plural follows, `before` where a question asks
for a past state. The rules (`intent_rules`) are expressions over one line made of the words of the query, in which
dates and versions are replaced by their relation. Their repetitions and the words have bounds, so the time is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from assay.text.query.dates import DateConstraint
from assay.text.query.intent_rules import CHANGES, PAIR_OF_VERSIONS, RULES, Intent, IntentRule
from assay.text.query.versions import VersionConstraint
from assay.text.query.words import QueryWord

INTENTS: tuple[Intent, ...] = ("set", "diff", "as_of", "compare", "lookup")


@dataclass(frozen=True, slots=True)
class IntentCue:
    """The words [start, end) of a query that decided for an intent."""

    intent: Intent
    start: int
    end: int


def find_intents(
    words: Sequence[QueryWord], dates: Sequence[DateConstraint], versions: Sequence[VersionConstraint]
) -> tuple[IntentCue, ...]:
    """Return the cues of every intent of a query, one per intent, in the order of INTENTS; none means lookup."""
    line = _QueryLine(words, dates, versions)
    found: dict[Intent, IntentCue] = {}
    for rule, pattern in _compile_rules():
        if rule.intent in found:
            continue
        for match in pattern.finditer(line.text):
            if rule.check is None or rule.check(match):
                start, end = line.locate(match.start("cue"), match.end("cue"))
                found[rule.intent] = IntentCue(rule.intent, start, end)
                break
    cue = found.get("compare")
    if cue and "diff" not in found and PAIR_OF_VERSIONS.search(line.text):
        found["diff"] = IntentCue("diff", cue.start, cue.end)
    # "difference between v1 and v2" is a diff; "compare v1 with v2" is both.
    if "diff" in found and "compare" in found and CHANGES.search(line.text):
        del found["compare"]
    return tuple(found[intent] for intent in INTENTS if intent in found)


class _QueryLine:
    """The words of a query as one line of text, with the characters each of them came from."""

    def __init__(
        self, words: Sequence[QueryWord], dates: Sequence[DateConstraint], versions: Sequence[VersionConstraint]
    ) -> None:
        spans = sorted(
            [(d.start, d.end, f"<date:{d.relation}>") for d in dates]
            + [(v.start, v.end, f"<version:{v.relation}>") for v in versions]
        )
        parts: list[str] = []
        self._places: list[int] = []
        self._spans: list[tuple[int, int]] = []
        at = length = 0
        for word in words:
            while at < len(spans) and spans[at][1] <= word.start:
                at += 1
            inside = at < len(spans) and spans[at][0] <= word.start
            if inside and self._spans and self._spans[-1] == spans[at][:2]:
                continue
            token = spans[at][2] if inside else '"' if word.quoted else word.lower.replace(" ", "")[:24] or "_"
            if word.opens:
                token = f"^ {token}"
            elif word.pause:
                token = f", {token}"
            self._places.append(length)
            self._spans.append(spans[at][:2] if inside else (word.start, word.end))
            parts.append(token)
            length += len(token) + 1
        self.text = " ".join(parts) + " $ "

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the query that a part of the line came from."""
        first = max(bisect_right(self._places, start) - 1, 0)
        last = max(bisect_right(self._places, max(end - 1, start)) - 1, first)
        return self._spans[first][0], self._spans[last][1]


@cache
def _compile_rules() -> tuple[tuple[IntentRule, re.Pattern[str]], ...]:
    """The rules with their expressions; a cue begins at the beginning of a word."""
    return tuple((rule, re.compile(r"(?<![^ ])" + rule.pattern)) for rule in RULES)


def list_intents(cues: Sequence[IntentCue]) -> tuple[Intent, ...]:
    """Return the intents of some cues; lookup when there is none."""
    return tuple(cue.intent for cue in cues) or ("lookup",)
