"""Things that are told apart by a number: "pole 3", "room 12", "flat 4B". English only."""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_READ = 2_000
"""Characters of a text that are read."""

_NUMBERED = re.compile(
    r"\b([^\W\d_]{2,})(?: ?# ?| no\. ?|[ -])(\d{1,6}(?![.,:]?\d)[^\W_]{0,2})(?![^\W_])", re.IGNORECASE
)
_NO_THING = re.compile(  # what stands before an amount, an age, a time or a date, not before the number of a thing
    r"a|about|above|after|aged|ago|almost|an|and|approximately|are|around|as|at|be|been|before|below"
    r"|between|but|by|charge|charged|charges|cost|costing|costs|down|during|earn|earned|earns|exactly|for"
    r"|from|get|gets|got|had|has|have|in|increased|is|it|its|just|least|less|made|make|makes|maybe|more"
    r"|most|nearly|no|not|now|of|off|on|once|only|or|over|owe|owes|paid|pay|paying|pays|per|plus|reached"
    r"|roughly|score|scored|scores|since|some|spend|spends|spent|still|takes|than|that|the|then|there"
    r"|these|they|this|those|till|to|took|total|turned|turning|turns|under|until|up|was|weigh|weighed"
    r"|weighs|were|with|within|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|spring|summer|autumn|fall|winter",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"\W*(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|must)(?:n['’]?t)?\b", re.IGNORECASE
)


def find_asked_things(question: str) -> dict[str, set[str]]:
    """The numbered things that a question is about; none of a question for yes or no, which may doubt the number:
    "does she still have plot 7?"
    """
    return {} if _YES_NO.match(question) else find_numbered_things(question)


def find_numbered_things(text: str) -> dict[str, set[str]]:
    """The numbers that follow each noun of a text, all in lower case: {"pole": {"3"}, "line": {"2"}}."""
    found: dict[str, set[str]] = {}
    for word, number in _NUMBERED.findall(text[:MAX_READ]):
        if not _NO_THING.fullmatch(word):
            found.setdefault(word.lower(), set()).add(number.lower())
    return found


def names_another(asked: Mapping[str, set[str]], text: str) -> bool:
    """Whether a text has a thing that is asked for under other numbers only: "pole 27" for a question of "pole 3"."""
    held = find_numbered_things(text)
    return any(word in held and not numbers & held[word] for word, numbers in asked.items())
