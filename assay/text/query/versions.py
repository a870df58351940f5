"""Finds the version constraints of a query: v1.29, version 3, since 1.28, between 2.1 and 2.3, 1.27 or older.

A number is a version when it is marked (v2, version 2), has three parts (1.29.3), or has two parts and stands where
versions stand: after a name (Python 3.8) or a relation (since 1.28), and not before a unit (2.3 percent) or after a
word that counts (section 4.2). Whole numbers need a mark or a marked neighbour (versions 2 and 3). Identifiers
(CVE-2024-1234, 10.0.0.1, IPv4) are one word of another shape. Linear time, any string.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from assay.text.query.words import QueryWord, make_table, split_words

VersionRelation = Literal["exact", "since", "after", "before", "until", "between"]


class VersionNumber(NamedTuple):
    """A version: its numbers, and what follows them (rc1, beta)."""

    numbers: tuple[int, ...]
    suffix: str = ""

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers)) + self.suffix


@dataclass(frozen=True, slots=True)
class VersionConstraint:
    """A version in a query: its characters [start, end), how it binds, and its bounds.

    exact: low is the version · since, after: low · before, until: high · between: both, the lower one first.
    """

    start: int
    end: int
    relation: VersionRelation
    low: VersionNumber | None = None
    high: VersionNumber | None = None

    def admits(self, version: VersionNumber) -> bool:
        """Does a version satisfy the constraint? Only the numbers that a bound names are compared: 3 admits 3.1."""
        low = _compare(version, self.low) if self.low else 0
        high = _compare(version, self.high) if self.high else 0
        if self.relation == "exact":
            return low == 0
        if self.relation == "after":
            return low > 0
        if self.relation == "before":
            return high < 0
        return low >= 0 and high <= 0


def _compare(version: VersionNumber, bound: VersionNumber) -> int:
    ours = (version.numbers + (0,) * len(bound.numbers))[: len(bound.numbers)]
    return (ours > bound.numbers) - (ours < bound.numbers)


_VERSION = re.compile(
    r"(v|version-|release-|release/)?(\d{1,6}(?:\.\d{1,6}){0,4})(?:\.x)?"
    r"([-._]?(?:alpha|beta|rc|pre|preview|dev|post|snapshot|lts|a|b)[-.]?\d{0,4})?"
)
_MARKS = make_table("v ver version versions release releases")
_LINKS = make_table("and or to vs versus with") | _MARKS
_DOTTED_MARKS = make_table("release releases")  # release 2.4, but not the release 2024 plan
_RELATIONS: dict[tuple[str, ...], VersionRelation] = {
    ("newer", "than"): "after",
    ("later", "than"): "after",
    ("higher", "than"): "after",
    ("greater", "than"): "after",
    ("older", "than"): "before",
    ("earlier", "than"): "before",
    ("lower", "than"): "before",
    ("prior", "to"): "before",
    ("up", "to"): "until",
    ("as", "of"): "since",
    ("at", "least"): "since",
    ("starting", "with"): "since",
    ("starting", "in"): "since",
    ("since",): "since",
    ("after",): "after",
    ("above",): "after",
    ("before",): "before",
    ("below",): "before",
    ("until",): "until",
    ("through",): "until",
}
_SIGNS: dict[str, VersionRelation] = {
    ">=": "since",
    "≥": "since",
    "<=": "until",
    "≤": "until",
    ">": "after",
    "<": "before",
}
_LATER, _EARLIER = make_table("later newer higher above up"), make_table("older earlier lower below")
_PLACES = make_table("""in since from to on with using between running than at until before after through for""")
_RELEASE_WORDS = make_table(
    """release releases changelog upgrade migration notes documentation docs api sdk branch build client server cluster
    clusters beta rc compatibility deprecations features"""
)
_UNITS = make_table(
    """percent percents million billion thousand m k gb mb kb tb gib mib ms s sec seconds minutes hours days weeks
    months years eur euro euros usd dollars gbp points point stars star x times fte ftes kg km miles degrees inches
    inch kwh kw mw hz mhz ghz people users litres liters tonnes percentage pp bar volts v amps"""
)
_COUNTED = make_table(
    """section sections chapter table figure fig step score rating clause paragraph article item page annex appendix
    about over under by costs cost average grew rose fell roughly around nearly almost approximately least most only
    point room floor of is was are were reached scored exercise question principle rule requirement control"""
)
_STOPS = make_table("""the a an and or not but it this that our my which what who how do does""")


class _Found(NamedTuple):
    """A word that may be a version: its number, and whether it is one without its neighbours."""

    version: VersionNumber
    marked: bool
    first: int  # the word where it begins, with its mark
    after: int


def find_versions(text: str, taken: Sequence[tuple[int, int]] = ()) -> tuple[VersionConstraint, ...]:
    """Return the version constraints of a query in order; characters in `taken` (its dates) are no versions."""
    return find_version_words(split_words(text), taken)


def find_version_words(
    words: Sequence[QueryWord], taken: Sequence[tuple[int, int]] = ()
) -> tuple[VersionConstraint, ...]:
    """Return the version constraints of a query that is already split into words."""
    free = _mark_free(words, taken)
    constraints: list[VersionConstraint] = []
    i, before = 0, False  # did a version stand just before?
    while i < len(words):
        found = _read_version(words, i, free, linked=before)
        if found is None:
            before = before and words[i].lower in _LINKS
            i += 1
            continue
        constraint, i = _make(words, found, free)
        constraints.append(constraint)
        before = True
    return tuple(constraints)


def _mark_free(words: Sequence[QueryWord], taken: Sequence[tuple[int, int]]) -> list[bool]:
    """Which words are neither quoted nor inside one of the spans, which are in order."""
    free, spans, at = [], sorted(taken), 0
    for word in words:
        while at < len(spans) and spans[at][1] <= word.start:
            at += 1
        free.append(not word.quoted and not (at < len(spans) and spans[at][0] < word.end))
    return free


def _read_version(words: Sequence[QueryWord], i: int, free: Sequence[bool], *, linked: bool) -> _Found | None:
    """Return the version that begins at word `i`; `linked`: it follows another version, so that a number suffices."""
    if not free[i]:
        return None
    lower = words[i].lower
    if lower in _MARKS and i + 1 < len(words) and free[i + 1] and not words[i + 1].pause:
        match = _VERSION.fullmatch(words[i + 1].lower)
        if match and ("." in match[2] or len(match[2]) < 5) and not (lower in _DOTTED_MARKS and len(match[2]) == 4):
            return _Found(_number(match), True, i, i + 2)
        return None
    match = _VERSION.fullmatch(lower)
    if match is None:
        return None
    parts = match[2].count(".") + 1
    marked = match[1] is not None or (parts == 3 and not _is_thousands(match[2])) or (parts > 1 and bool(match[3]))
    counted = _follows(words, i, _UNITS) or words[i].gap[-1:] in tuple("$€£") or _percent(words, i)
    if not marked and counted:
        return None
    placed = lower.endswith(".x") or (parts == 2 and (_is_placed(words, i) or _pairs(words, i, free)))
    if not marked and not placed and not (linked and (parts == 2 or _stands_alone(words, i))):
        return None
    if parts > 3 and match[1] is None:
        return None
    return _Found(_number(match), marked, i, i + 1)


def _number(match: re.Match[str]) -> VersionNumber:
    return VersionNumber(tuple(map(int, match[2].split("."))), match[3] or "")


def _is_thousands(digits: str) -> bool:
    return all(len(part) == 3 for part in digits.split(".")[1:])


def _is_placed(words: Sequence[QueryWord], i: int) -> bool:
    """Does a number of two parts stand where a version stands?"""
    if _follows(words, i, _RELEASE_WORDS) or words[i].gap.strip(" ,(") in _SIGNS:
        return True
    if i == 0 or words[i].opens:
        return False
    before = words[i - 1]
    if before.lower in _COUNTED or before.lower in _STOPS or words[i].pause:
        return False
    if before.lower in _PLACES:
        return True
    return before.lower.isalpha() and len(before.lower) > 2


def _stands_alone(words: Sequence[QueryWord], i: int) -> bool:
    """Does no noun follow that number `i` would count?"""
    if i + 1 == len(words) or words[i + 1].opens or words[i + 1].pause:
        return True
    return words[i + 1].lower in _PLACES or words[i + 1].lower in ("of", "and", "or", "vs", "versus")


def _pairs(words: Sequence[QueryWord], i: int, free: Sequence[bool]) -> bool:
    """Is the word after the next one a marked version (1.2 vs v1.3)?"""
    if i + 2 >= len(words) or not free[i + 2] or words[i + 1].lower not in ("and", "or", "to", "vs", "versus"):
        return False
    match = _VERSION.fullmatch(words[i + 2].lower)
    return match is not None and (match[1] is not None or match[2].count(".") == 2)


def _follows(words: Sequence[QueryWord], i: int, table: frozenset[str]) -> bool:
    return i + 1 < len(words) and not words[i + 1].opens and words[i + 1].lower in table


def _percent(words: Sequence[QueryWord], i: int) -> bool:
    return i + 1 < len(words) and words[i + 1].gap[:1] == "%"


def _make(words: Sequence[QueryWord], found: _Found, free: Sequence[bool]) -> tuple[VersionConstraint, int]:
    """Return the constraint around a version, and the index of the word after it."""
    first, after = found.first, found.after
    start = words[first].start
    the = first - 1 if first and words[first - 1].lower == "the" else first
    lead = words[the - 1].lower if the and free[the - 1] else ""
    if lead in ("between", "from") or _joins(words, after, ("to", "through")):
        joins = ("and", "to") if lead == "between" else ("to", "through", "until")
        if _joins(words, after, joins):
            last = _read_version(words, after + 1, free, linked=True)
            if last is not None:
                low, high = sorted((found.version, last.version))
                start = words[the - 1].start if lead in ("between", "from") else start
                return VersionConstraint(start, words[last.after - 1].end, "between", low, high), last.after
    if after < len(words) and words[after].gap.strip() in ("..", "...", "–", "→", "->") and free[after]:
        last = _read_version(words, after, free, linked=True)
        if last is not None:
            low, high = sorted((found.version, last.version))
            return VersionConstraint(start, words[last.after - 1].end, "between", low, high), last.after
    relation, start, end, after = _read_relation(words, found, the, start)
    if relation in ("before", "until"):
        return VersionConstraint(start, end, relation, None, found.version), after
    return VersionConstraint(start, end, relation, found.version), after


def _joins(words: Sequence[QueryWord], i: int, joins: tuple[str, ...]) -> bool:
    return i + 1 < len(words) and words[i].lower in joins and not words[i].opens


def _read_relation(
    words: Sequence[QueryWord], found: _Found, the: int, start: int
) -> tuple[VersionRelation, int, int, int]:
    """The relation of one version, its characters, and the index of the word after it."""
    after = found.after
    end = words[after - 1].end
    if after + 1 < len(words) and words[after].lower in ("or", "and"):
        if words[after + 1].lower in _LATER:
            return "since", start, words[after + 1].end, after + 2
        if words[after + 1].lower in _EARLIER:
            return "until", start, words[after + 1].end, after + 2
    if after < len(words) and words[after].lower in ("onwards", "onward"):
        return "since", start, words[after].end, after + 1
    gap = words[after].gap if after < len(words) else ""
    if gap.startswith("+"):
        return "since", start, end + 1, after
    sign = words[found.first].gap.strip(" ,(")
    if sign in _SIGNS:
        return _SIGNS[sign], start, end, after
    for size in (2, 1):
        lead = tuple(word.lower for word in words[max(the - size, 0) : the])
        if len(lead) == size and lead in _RELATIONS and not words[found.first].opens:
            return _RELATIONS[lead], words[the - size].start, end, after
    return "exact", start, end, after
