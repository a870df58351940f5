"""The rules that each query of a world obeys."""

from __future__ import annotations

import calendar
import re
from datetime import date

from assay.bench.rb006.world.library import DepartmentLibrary
from assay.bench.rb006.world.organisation import LAST_DAY
from assay.bench.rb006.world.queries import WorldQuery
from assay.text.analyser import Analyser

MOST_FEASIBLE_TOKENS = 300
LEAST_IMPOSSIBLE_TOKENS, LEAST_IMPOSSIBLE_UNITS = 600, 12
"""Impossible evidence is that long, or has that many units and still does not fit the budget."""
BUDGET = 400
CUES = ("list", "all", "every", "compare", "changed", "difference", "vs")
"""Words that sound like a listing or a diff: they occur in feasible and in impossible queries."""

_ANALYSER = Analyser("english")
_MONTHS = frozenset(term for name in calendar.month_name if name for term in _ANALYSER.terms(name))
_CHANGING = ("owner", "pager", "head", "lead", "budget")
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WRITTEN_DAY = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(filter(None, calendar.month_name))}) (\d{{4}})\b")
_MULTI_HOP = {"hop2": 2, "hop3": 3}


def content_words(text: str) -> frozenset[str]:
    """The stemmed words of a text that carry meaning: no stop words, numbers or months."""
    terms = _ANALYSER.query_terms(text)
    return frozenset(term for term in terms if len(term) > 1 and not term.isdigit() and term not in _MONTHS)


def find_day(text: str) -> date | None:
    """The day that a query names, as 2025-09-08 or as 8 September 2025."""
    if iso := _ISO_DAY.search(text):
        return date.fromisoformat(iso[0])
    if written := _WRITTEN_DAY.search(text):
        day, month, year = written.groups()
        return date(int(year), list(calendar.month_name).index(month), int(day))
    return None


def find_query_faults(query: WorldQuery, library: DepartmentLibrary) -> list[str]:
    """Find the rules that a query breaks; empty if it is good."""
    faults = [*_find_size_faults(query), *_find_hop_faults(query, library), *_find_time_faults(query, library)]
    return faults + [
        f"{query.id}: {sentence.id} does not state {group.value!r}"
        for group in query.groups
        for sentence in group.sentences
        if group.value.casefold() not in sentence.text.casefold()
    ]


def _find_size_faults(query: WorldQuery) -> list[str]:
    tokens, units = query.evidence_tokens, len(query.groups)
    if query.kind == "out_of_scope":
        return [f"{query.id}: out of scope, but it has evidence"] if units else []
    if not units:
        return [f"{query.id} has no evidence"]
    if query.is_answerable and tokens > MOST_FEASIBLE_TOKENS:
        return [f"{query.id}: feasible evidence has {tokens} tokens, more than {MOST_FEASIBLE_TOKENS}"]
    too_long = tokens >= LEAST_IMPOSSIBLE_TOKENS or (units >= LEAST_IMPOSSIBLE_UNITS and tokens > BUDGET)
    if not query.is_answerable and not too_long:
        return [f"{query.id}: impossible, but its evidence has only {tokens} tokens in {units} units"]
    return []


def _find_hop_faults(query: WorldQuery, library: DepartmentLibrary) -> list[str]:
    """Evidence of a later hop shares no content word with the query, neither in the sentence nor in its title."""
    hops = next((hops for tag, hops in _MULTI_HOP.items() if tag in query.tags), 1)
    if hops == 1 or not query.groups:
        return []
    faults = []
    if max(group.hop for group in query.groups) < hops:
        faults.append(f"{query.id} has fewer than {hops} hops")
    asked = content_words(query.text)
    for group in query.groups:
        if group.hop == 1:
            continue
        for sentence in group.sentences:
            shared = asked & content_words(f"{library.title(sentence, group.fact)}. {sentence.text}")
            if shared:
                faults.append(f"{query.id}: {sentence.id} of hop {group.hop} shares {', '.join(sorted(shared))}")
    return faults


def _find_time_faults(query: WorldQuery, library: DepartmentLibrary) -> list[str]:
    """Facts of a feasible query are valid on the day it names, or at the end of the simulation if it names none."""
    if not query.is_answerable:
        return []
    named = find_day(query.text)
    day = named or LAST_DAY
    facts = (library.fact(group.fact) for group in query.groups if group.fact.attribute in _CHANGING or not named)
    return [f"{query.id}: {fact.key} is not valid on {day}" for fact in facts if not fact.is_valid(day)]
