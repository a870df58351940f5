"""Classifies what a query asks for, with the words that decided it.

    set      an enumeration: list all …, which teams use …, everyone who …
    diff     what changed between two versions or moments
    as_of    a state at a past moment: as of March, who owned … in June, before the migration
    compare  two or more things side by side: A versus B, which is larger
    lookup   none of these

A word alone decides nothing: `list` counts where a clause begins and a plural follows, `before` where a question asks
for a past state. The rules are expressions over the words of the query, one space apart: dates and versions are
replaced by `<date:relation>` and `<version:relation>`, quoted words by `"`, a clause begins with `^`, a comma is `,`.
Every gap in an expression has a bound and every word a limit, so the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from assay.text.query.dates import DateConstraint
from assay.text.query.versions import VersionConstraint
from assay.text.query.words import QueryWord

Intent = Literal["set", "diff", "as_of", "compare", "lookup"]
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
    for intent, pattern, check in _rules():
        if intent in found:
            continue
        for match in pattern.finditer(line.text):
            if check is None or check(match):
                start, end = line.locate(match.start("cue"), match.end("cue"))
                found[intent] = IntentCue(intent, start, end)
                break
    cue = found.get("compare")
    if cue and "diff" not in found and _PAIR_OF_VERSIONS.search(line.text):
        found["diff"] = IntentCue("diff", cue.start, cue.end)
    if "diff" in found and "compare" in found and _CHANGES.search(line.text):
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


def _any(words: str) -> str:
    return "(?:" + "|".join(re.escape(word) for word in words.split()) + ")"


_W = r"(?:[^ ^$]+ )"  # one word inside the clause
_DET = _any("the a an this that these those our my your his her their its some")
_OPEN = (
    r"\^ (?:(?:please|kindly|just|so|and|also|ok|okay|hi|hey|hello|then|now|,|can|could|would|will|you|i|we|i'd|need|"
    r"want|like|help|me|us|to|tell|let|know|do|remind|quickly|first|let's|see|team|all:|q:) ){0,7}?"
)
_PLURAL = r"(?:(?!" + _any(
    """is was has does this its us as his yes plus less access address process status business class analysis basis
    bus gas focus news always perhaps across kubernetes aws jenkins css js dns tls https sales happens means causes
    ss series canvas atlas alias redis postgres os ios kudos towards thus pros cons besides versus vs previous various
    hands rights"""
) + r" )[a-z][a-z-]*[a-z]s|people|staff|children|criteria|data|men|women|repos|apis) "
_NO_LIST = _any(
    """price prices priced view views item comprehension comprehensions box server endpoint command page component type
    order id is was has does api function method call button format icon element widget"""
)
_AUX = _any(
    """are were have do did can could must should will would may might need use uses used using still currently
    require support depend own run contain include exist belong apply had get got lack hold know"""
)
_EVENT_WORDS = _any("now other time day week month year morning so")
_STATIVE = _any(
    """own have use live work report lead manage run hold cost belong sit maintain support include contain allow require
    apply look mean earn charge employ store host rely depend need know reside offer pay be head serve call"""
)
_STATIVE_PAST = _any(
    """owned led managed ran held maintained supported used lived worked reported headed chaired had belonged cost hosted
    stored employed operated supervised"""
)
_STATIVE_PARTICIPLE = _any(
    """hosted located based called named owned used required allowed supported priced configured employed stored managed
    assigned enabled disabled included stationed licensed capped limited expected scheduled classified ranked
    maintained led supposed permitted excluded organised organized structured staffed valued""" 
)
_PARTICIPLE = (
    r"(?:(?!" + _STATIVE_PARTICIPLE + r" )[a-z-]+ed|sent|built|made|said|done|found|written|chosen|taken|given|paid|sold|"
    r"bought|told|shown|seen|lost|broken|won|hit|spent|discussed|going|happening|doing|talking|working|trying) "
)
_EVENT_NOUNS = _any(
    """outcome result results reason cause causes decision decisions agenda topic problem issue conclusion impact response
    feedback summary discussion point root wrong error incident outage reaction verdict takeaway takeaways mood it that
    there up about happening"""
)
_NOW = r"(?:(?:today|now|yet|right|currently) )"
_EVENT = r"(?:(?:the|our|its|this|that|his|her|their|my) |we |they |she |he |it |i )"
_PAST_TIME = (
    r"(?P<time>(?:in |on |at |during |back |around |by |just |through ){0,2}<date:(?:in|before|until|after|as_of)> |"
    r"(?:in|on|with|of|under) <version:exact> |<version:(?:before|until)> |"
    r"(?:before|prior to|until|after|during|at the time of|ahead of|in the days of) " + _EVENT + r"|"
    r"(?:before|previously|formerly|originally|back then|at the time|at that time|at that point|in the past|"
    r"at first|initially) (?=[$^,]))"
)
_COMPARATIVE = (
    r"(?:more|less|fewer|better|worse|faster|slower|larger|bigger|smaller|cheaper|costlier|older|newer|younger|higher|"
    r"lower|longer|shorter|stronger|weaker|safer|easier|harder|earlier|later|greater|heavier|lighter|stricter|richer|"
    r"quicker|simpler|busier|closer|further|wider|deeper|most|least|best|largest|biggest|cheapest|fastest|highest) "
)
_NO_RIGHT = _any(
    """limit threshold minimum maximum quota allowed sla default expected usual necessary planned average once twice
    just that what before ever needed normal anticipated required half this it ours one two three four five six ten
    zero none sum deadline cap allowance budget target baseline"""
)
_CHANGED = _any("changed added removed deprecated renamed dropped introduced fixed updated modified new different")
_CHANGE_WORDS = _any("differences difference diff diffs delta deltas changes change changelog")
_CHANGES = re.compile(r"(?:difference|differences|diff|delta|changes|changed|change) ")
_PAIR_OF_VERSIONS = re.compile(
    r"<version:\w+> (?:\S+ ){0,3}?(?:and|with|to|vs|versus|against|or|from|than) (?:the )?<version:\w+> |<version:between> "
)
_OLD = r"(?:old|previous|current|last|draft|first|original|earlier|present|former|new|latest|final|second|revised|updated|newest|next)"
_NO_COMPARE = _any(
    "page pages button view tool endpoint function feature screen tab command at url link mode checkbox option script and"
)

_Rule = tuple[Intent, str, Callable[[re.Match[str]], bool] | None]


def _is_past_state(match: re.Match[str]) -> bool:
    """Does the question ask for a state, not for an event (what was decided in March)?"""
    middle = match["middle"]
    return not _EVENT_IN_MIDDLE.search(" " + middle) and len(middle) < 400


_EVENT_IN_MIDDLE = re.compile(rf"(?: {_PARTICIPLE})|(?:^ (?:the |a |our |your )?(?:\S+ )?{_EVENT_NOUNS} )")

_RULES: tuple[_Rule, ...] = (
    # set
    ("set", rf"{_OPEN}(?P<cue>(?:list|enumerate|itemi[sz]e) (?:me |out |down |up )?(?:all|every|each|any) )", None),
    ("set", rf"{_OPEN}(?P<cue>(?:list|enumerate|itemi[sz]e) )(?!{_NO_LIST} )(?=(?:of )?{_W}{{0,4}}?{_PLURAL})", None),
    ("set", rf"{_OPEN}(?P<cue>name (?:all|every|each|two|three|four|five|the|our) )(?={_W}{{0,3}}?{_PLURAL})", None),
    (
        "set",
        rf"{_OPEN}(?P<cue>(?:show|give|get|find|fetch|return|display|see|pull|collect|export|dump|provide|send|tell|search|"
        rf"have|need|want|count) (?:me |us |up |for )?(?:(?:a|an|the) )?(?:(?:full|complete|entire|exhaustive|whole|quick|"
        rf"short|current) )?(?:list of |all (?!hands )(?={_W}{{0,4}}?{_PLURAL})|every (?!{_EVENT_WORDS} )|each (?=\S)))",
        None,
    ),
    ("set", rf"{_OPEN}(?:(?:a|an|the) )?(?P<cue>(?:(?:full|complete|entire|exhaustive) )?list of )(?={_W}{{0,4}}?{_PLURAL})", None),
    ("set", rf"{_OPEN}(?P<cue>all (?:of )?)(?!hands |rights |day |about )(?={_W}{{0,3}}?{_PLURAL})", None),
    ("set", rf"{_OPEN}(?P<cue>(?:every|each) )(?!{_EVENT_WORDS} )(?=[a-z])", None),
    (
        "set",
        rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|by|under) )?(?P<cue>which (?:of (?:the|our|these|those|my|your) )?"
        rf"(?:(?!{_AUX} |is |was |has |does ){_W}){{0,3}}?{_PLURAL})(?!{_DET} |is |was |has |does |<|[$^,]|or )",
        None,
    ),
    ("set", rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|by|under) )?(?P<cue>what (?:other )?(?:(?!{_AUX} |{_DET} |is |was ){_W}){{0,2}}?{_PLURAL}){_AUX} ", None),
    ("set", rf"{_OPEN}(?P<cue>(?:everyone|everybody|whoever) )(?:who|with|in|on|that|from|at|has|whose) ", None),
    ("set", rf"{_OPEN}(?P<cue>who (?:all|are all) )", None),
    ("set", rf"{_OPEN}(?P<cue>who are (?:the |our |all ){{1,2}}{_W}{{0,3}}?{_PLURAL})", None),
    ("set", rf"{_OPEN}(?P<cue>(?:what|where|which|who) are (?:all|every) )(?={_W}{{0,4}}?{_PLURAL})", None),
    # diff
    ("diff", rf"(?P<cue>what (?:has |have |had |is |was )?(?:all )?changed )(?!hands |my |your )", None),
    (
        "diff",
        rf"(?P<cue>(?:what|which {_W}{{1,4}}?)(?: ?(?:has|have|had|is|are|was|were|been|being|got|all) ){{0,3}} ?{_CHANGED} )"
        rf"(?={_W}{{0,6}}?(?:<version:|<date:(?:since|between|after)>))",
        None,
    ),
    ("diff", rf"(?P<cue>what (?:did|do|have) (?:we|they|you|it) (?:change|add|remove|deprecate|rename|changed|added|removed) )(?={_W}{{0,6}}?(?:<version:|<date:(?:since|between|after)>))", None),
    ("diff", rf"(?P<cue>{_CHANGE_WORDS} (?={_W}{{0,7}}?(?:<version:(?:between|since|after)> |in <version:|<date:(?:since|between|after)> )))", None),
    ("diff", rf"(?P<cue>{_CHANGE_WORDS} (?:between|from) )(?:the )?(?=(?:<version|<date)|{_OLD} {_W}{{0,4}}?(?:and|to) (?:the )?(?:{_OLD}|<))", None),
    ("diff", rf"\^ (?P<cue>diff )(?={_W}{{0,5}}?<version)", None),
    ("diff", rf"(?P<cue>how (?:has|have|did) )(?!i |we |you )(?={_W}{{1,8}}?changed? )", None),
    ("diff", rf"\^ (?P<cue>(?:has|have|did) )(?={_W}{{1,8}}?changed? {_W}{{0,3}}?(?:since |<date:(?:since|between|after)|<version|in <version))", None),
    ("diff", rf"(?P<cue>how (?:does|do|did|is|are) <version:\w+> )(?={_W}{{0,4}}?(?:differ|different) )", None),
    # as_of
    ("as_of", rf"(?P<cue>as (?:of|at) )(?:the|our|last|its|my|end|year|close) ", None),
    ("as_of", r"(?P<cue><date:as_of> )", None),
    (
        "as_of",
        rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|under) )?(?P<cue>(?:who|what|which|where|whose|how many|how much|how big|"
        rf"how large|how high) {_W}{{0,5}}?(?:was|were|had) )(?P<middle>{_W}{{0,12}}?){_PAST_TIME}",
        _is_past_state,
    ),
    ("as_of", rf"\^ (?P<cue>(?:was|were) )(?P<middle>{_W}{{1,12}}?){_PAST_TIME}", _is_past_state),
    (
        "as_of",
        rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|under) )?(?P<cue>(?:who|what|which|where|whose|how many|how much) "
        rf"{_W}{{0,4}}?did {_W}{{1,6}}?{_STATIVE} ){_W}{{0,8}}?{_PAST_TIME}",
        None,
    ),
    (
        "as_of",
        rf"{_OPEN}(?P<cue>(?:who |which {_W}{{1,3}}?|what {_W}{{1,3}}?|how many {_W}{{1,3}}?){_STATIVE_PAST} )"
        rf"{_W}{{0,8}}?{_PAST_TIME}",
        None,
    ),
    ("as_of", rf"{_OPEN}(?P<cue>(?:who|what) (?:was|were) (?:the |our |my |her |his |their )?(?:previous|former|original|prior|old|earlier) )", None),
    ("as_of", rf"(?P<cue>(?:who|we|they|she|he|it|i) used to )(?!it |the |this |that |being )", None),
    ("as_of", r"(?P<cue>(?:in effect|in force|valid|effective|applicable|live|on duty|on call) )(?:on |in |at |during )?<date:in> ", None),
    # compare
    ("compare", rf"{_OPEN}(?P<cue>(?:compare|contrast) )(?!{_NO_COMPARE} )(?=[^$^])", None),
    ("compare", rf"(?P<cue>(?:comparison|comparing) )(?=(?:of|between) )(?={_W}{{2,14}}?(?:and|vs|versus|with|to) )", None),
    ("compare", rf"(?P<cue>compared (?:to|with|against) )", None),
    ("compare", rf"\^ (?P<cue>how (?:do|does|did|is|are|would) )(?={_W}{{1,10}}?compare (?:to |with |against |in |on |\$|for ))", None),
    ("compare", rf"(?<!\^ )(?<!, )(?P<cue>(?:vs|versus) )(?!code |studio |<date:in> installation |extension |marketplace |[$^,])", None),
    ("compare", rf"(?P<cue>(?:differences?|distinction|trade-offs?|tradeoffs?|choose|choosing|decide|deciding|pick) between )(?={_W}{{1,10}}?(?:and|or|vs|to) )", None),
    ("compare", rf"(?P<cue>how (?:is|are|does|do|was|did) {_W}{{1,8}}?(?:different|differs?) (?:from|to|than) )", None),
    ("compare", rf"(?P<cue>how (?:does|do|did) )(?={_W}{{1,5}}?and {_W}{{1,5}}?differ )", None),
    ("compare", rf"{_OPEN}(?P<cue>(?:which|what|who|where) {_W}{{0,7}}?{_COMPARATIVE})(?={_W}{{0,12}}?or )(?!{_W}{{0,4}}?than )", None),
    ("compare", rf"{_OPEN}(?P<cue>which of )(?={_W}{{1,8}}?(?:and|or) {_W}{{1,8}}?{_COMPARATIVE})", None),
    (
        "compare",
        rf"\^ (?:(?:is|are|was|were|do|does|did|has|have|will) (?!it |there |this |i |we |you |anyone )|(?:why|how much|who|which) "
        rf"(?:is |are |does |do |has |have )?){_W}{{1,8}}?(?P<cue>{_COMPARATIVE}{_W}{{0,5}}?than )(?!(?:the |a |an |our |my )?{_NO_RIGHT} |(?:the |a )?\S+ (?:limit|threshold|quota) |[0-9<])",
        None,
    ),
    ("compare", rf"(?P<cue>(?:advantages?|benefits?|strengths) of )(?={_W}{{1,6}}?over )", None),
    ("compare", rf"\^ (?P<cue>(?:is|are|should) {_W}{{1,6}}?or {_W}{{1,6}}?(?:better|cheaper|faster|larger|bigger|safer) )", None),
)


@cache
def _rules() -> tuple[tuple[Intent, re.Pattern[str], Callable[[re.Match[str]], bool] | None], ...]:
    return tuple((intent, re.compile(_bounded(pattern)), check) for intent, pattern, check in _RULES)


def _bounded(pattern: str) -> str:
    """A cue begins at the beginning of a word."""
    return r"(?<![^ ])" + pattern


def list_intents(cues: Sequence[IntentCue]) -> tuple[Intent, ...]:
    """Return the intents of some cues; lookup when there is none."""
    return tuple(cue.intent for cue in cues) or ("lookup",)

