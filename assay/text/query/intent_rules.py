"""The rules of the intents: expressions over the line that `intents` makes of a query.

In that line words are lower case and one space apart, every word is followed by a space, `^` begins a clause, `$` ends
the line, `,` is a pause, `"` a quoted word, `<date:since>` and `<version:exact>` stand for constraints. The group `cue`
is what decided. Every repetition has a bound, so a match looks at a bounded number of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

Intent = Literal["set", "diff", "as_of", "compare", "lookup"]


class IntentRule(NamedTuple):
    """An expression that decides for an intent, and what else must hold for its match."""

    intent: Intent
    pattern: str
    check: Callable[[re.Match[str]], bool] | None = None


def _any(words: str) -> str:
    return "(?:" + "|".join(re.escape(word) for word in words.split()) + ")"


_W = r"(?:[^ ^$]+ )"  # one word inside the clause
_DET = _any("the a an this that these those our my your his her their its some")
_OPEN = (
    r"\^ (?:(?:please|kindly|just|so|and|also|ok|okay|hi|hey|hello|then|now|,|can you|could you|would you|will you|"
    r"can i|can we|could i|could we|i need|i want|we need|we want|i'd like|i would like|need|want|help me|tell me|"
    r"tell us|let me|know|do you know|do we know|remind me|show me|give me|me|us|to|see|get|have|first|quickly|"
    r"let's) ){0,7}?"
)
_VERBS = _any(
    """owns handles manages leads maintains approves contains includes stores sends requires applies offers provides
    pays sells hosts keeps makes gets takes writes reads deploys decides governs serves causes creates allows
    belongs depends lets says goes comes becomes explains describes holds signs triggers breaks"""
)
_VERBS_OR_NOUNS = _any(
    """uses runs calls tests processes reports reviews needs works covers builds supports controls costs changes starts
    ends fits looks heads loads blocks drives feeds fails stands backs ships charges bills monitors schedules
    releases"""
)
_PLURAL = (
    r"(?:(?!"
    + _any(
        """is was has does this its us as his yes plus less access address process status business class analysis basis
    bus gas focus news always perhaps across kubernetes aws jenkins css js dns tls https sales happens means causes
    ss series canvas atlas alias redis postgres os ios kudos towards thus pros cons besides versus vs previous various
    hands rights"""
    )
    + r" )[a-z][a-z-]*[a-z]s|people|staff|children|criteria|data|men|women|repos|apis) "
)
_NO_LIST = _any(
    """price prices priced view views item comprehension comprehensions box server endpoint command page component type
    order id is was has does api function method call button format icon element widget"""
)
_AUX = _any(
    """are were have do did can could must should will would may might need use uses used using still currently require
    support depend own run contain include exist belong apply had get got lack hold know"""
)
_EVENT_WORDS = _any(
    """now other time day week month quarter year morning evening so second third monday tuesday wednesday thursday
    friday"""
)
_STATIVE = _any(
    """own have use live work report lead manage run hold cost belong sit maintain support include contain allow
    require apply look mean earn charge employ store host rely depend need know reside offer pay be head serve call"""
)
_STATIVE_PAST = _any(
    """owned led managed ran held maintained supported used lived worked reported headed chaired had belonged cost
    hosted stored employed operated supervised"""
)
_STATIVE_PARTICIPLE = _any(
    """hosted located based called named owned used required allowed supported priced configured employed stored
    managed assigned enabled disabled included stationed licensed capped limited expected scheduled classified
    ranked maintained led supposed permitted excluded organised organized structured staffed valued"""
)
_PARTICIPLE = (
    r"(?:(?!"
    + _STATIVE_PARTICIPLE
    + r" )[a-z-]+ed|sent|built|made|said|done|found|written|chosen|taken|given|paid|sold|"
    r"bought|told|shown|seen|lost|broken|won|hit|spent|discussed|going|happening|doing|talking|working|trying) "
)
_EVENT_NOUNS = _any(
    """outcome result results reason cause causes decision decisions agenda topic problem issue conclusion impact
    response feedback summary discussion point root wrong error incident outage reaction verdict takeaway takeaways
    mood it that there up about happening"""
)
_EVENT = r"(?:(?:the|our|its|this|that|his|her|their|my) |we |they |she |he |it |i )"
_PAST_TIME = (
    r"(?P<time>(?:in |on |at |during |back |around |by |just |through ){0,2}<date:(?:in|before|until|after|as_of)> |"
    r"(?:in|on|with|of|under) <version:exact> |<version:(?:before|until)> |"
    r"(?:before|prior to|until|after|during|at the time of|ahead of|in the days of) " + _EVENT + r"|"
    r"(?:before|until|after) [^ ^$]+ (?:[a-z]+ed|left|took|became|came|went|began|quit) |"
    r"(?:before|after) [^ ^$<]+ (?=[$^,])|"
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
CHANGES = re.compile(r"(?:difference|differences|diff|delta|changes|changed|change) ")
PAIR_OF_VERSIONS = re.compile(
    r"<version:\w+> (?:\S+ ){0,3}?(?:and|with|to|vs|versus|against|or|from|than) (?:the )?<version:\w+> |"
    r"<version:between> "
)
_OLD = _any(
    """old previous current last draft first original earlier present former new latest final second revised updated
    newest next"""
)
_NO_COMPARE = _any(
    """page pages button view tool endpoint function feature screen tab command at url link mode checkbox option script
    and"""
)


def _is_past_state(match: re.Match[str]) -> bool:
    """Does the question ask for a state, not for an event (what was decided in March)?"""
    middle = match["middle"]
    return not _EVENT_IN_MIDDLE.search(" " + middle) and len(middle) < 400


_EVENT_IN_MIDDLE = re.compile(rf"(?: {_PARTICIPLE})|(?:^ (?:the |a |our |your )?(?:\S+ )?{_EVENT_NOUNS} )")

RULES: tuple[IntentRule, ...] = (
    # set
    IntentRule("set", rf"{_OPEN}(?P<cue>(?:list|enumerate|itemi[sz]e) (?:me |out |down |up )?(?:all|every|each|any) )"),
    IntentRule(
        "set", rf"{_OPEN}(?P<cue>(?:list|enumerate|itemi[sz]e) )(?!{_NO_LIST} )(?=(?:of )?{_W}{{0,4}}?{_PLURAL})"
    ),
    IntentRule(
        "set", rf"{_OPEN}(?P<cue>name (?:all|every|each|two|three|four|five|the|our) )(?={_W}{{0,3}}?{_PLURAL})"
    ),
    IntentRule(
        "set",
        rf"{_OPEN}(?P<cue>(?:show|give|get|find|fetch|return|display|see|pull|collect|export|dump|provide|send|"
        rf"tell|search|"
        rf"have|need|want|count) (?:me |us |up |for )?(?:(?:a|an|the) )?(?:(?:full|complete|entire|exhaustive|"
        rf"whole|quick|"
        rf"short|current) )?(?:list of |all (?!hands )(?={_W}{{0,4}}?{_PLURAL})|every (?!{_EVENT_WORDS} )|"
        rf"each (?=\S)))",
    ),
    IntentRule(
        "set",
        rf"{_OPEN}(?:(?:a|an|the) )?(?P<cue>(?:(?:full|complete|entire|exhaustive) )?list of )"
        rf"(?={_W}{{0,4}}?{_PLURAL})",
    ),
    IntentRule("set", rf"{_OPEN}(?P<cue>all (?:of )?)(?!hands |rights |day |about )(?={_W}{{0,3}}?{_PLURAL})"),
    IntentRule("set", rf"{_OPEN}(?P<cue>(?:every|each) )(?!{_EVENT_WORDS} )(?=[a-z])"),
    IntentRule(
        "set",
        rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|by|under) )?(?P<cue>which (?:of (?:the|our|these|those|my|your) )?"
        rf"(?:(?!{_AUX} |is |was |has |does |{_VERBS} |{_VERBS_OR_NOUNS} ){_W}){{0,3}}?(?!{_VERBS} |{_VERBS_OR_NOUNS} )"
        rf"{_PLURAL})(?!{_DET} |is |was |has |does |<|[$^,]|or )",
    ),
    IntentRule(
        "set",
        rf"{_OPEN}(?P<cue>which {_W}{{0,2}}?{_VERBS_OR_NOUNS} )(?=(?:are|were|have|do|did|can|must|should|will) )",
    ),
    IntentRule(
        "set",
        rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|by|under) )?(?P<cue>what (?:other )?(?:(?!{_AUX} |{_DET} |is |"
        rf"was ){_W}){{0,2}}?{_PLURAL})(?:{_AUX}|does) ",
    ),
    IntentRule("set", rf"{_OPEN}(?P<cue>(?:everyone|everybody|whoever) )(?:who|with|in|on|that|from|at|has|whose) "),
    IntentRule("set", rf"{_OPEN}(?P<cue>who (?:all|are all) )"),
    IntentRule("set", rf"{_OPEN}(?P<cue>who are (?:the |our |all ){{1,2}}{_W}{{0,3}}?{_PLURAL})"),
    IntentRule("set", rf"{_OPEN}(?P<cue>(?:what|where|which|who) are (?:all|every) )(?={_W}{{0,4}}?{_PLURAL})"),
    # diff
    IntentRule("diff", r"(?P<cue>what (?:has |have |had |is |was )?(?:all )?changed )(?!hands |my |your )"),
    IntentRule(
        "diff",
        rf"(?P<cue>(?:what|which {_W}{{1,4}}?)(?: ?(?:has|have|had|is|are|was|were|been|being|got|all)"
        rf" ){{0,3}} ?{_CHANGED} )"
        rf"(?={_W}{{0,6}}?(?:<version:|<date:(?:since|between|after)>))",
    ),
    IntentRule(
        "diff",
        rf"(?P<cue>what (?:did|do|have) (?:we|they|you|it) (?:change|add|remove|deprecate|rename|changed|added|"
        rf"removed) )(?={_W}{{0,6}}?(?:<version:|<date:(?:since|between|after)>))",
    ),
    IntentRule(
        "diff",
        rf"(?P<cue>{_CHANGE_WORDS} (?={_W}{{0,7}}?(?:<version:(?:between|since|after)> |in <version:|"
        rf"<date:(?:since|between|after)> )))",
    ),
    IntentRule(
        "diff",
        rf"(?P<cue>{_CHANGE_WORDS} (?:between|from) )(?:the )?(?=(?:<version|<date)|{_OLD} {_W}{{0,4}}?(?:and|"
        rf"to) (?:the )?(?:{_OLD}|<))",
    ),
    IntentRule("diff", rf"\^ (?P<cue>diff )(?={_W}{{0,5}}?<version)"),
    IntentRule("diff", rf"(?P<cue>how (?:has|have|did) )(?!i |we |you )(?={_W}{{1,8}}?changed? )"),
    IntentRule(
        "diff",
        rf"\^ (?P<cue>(?:has|have|did) )(?={_W}{{1,8}}?changed? {_W}{{0,3}}?(?:since |<date:(?:since|between|"
        rf"after)|<version|in <version))",
    ),
    IntentRule("diff", rf"(?P<cue>how (?:does|do|did|is|are) <version:\w+> )(?={_W}{{0,4}}?(?:differ|different) )"),
    # as_of
    IntentRule("as_of", r"(?P<cue>as (?:of|at) )(?:the|our|last|its|my|end|year|close) "),
    IntentRule("as_of", r"(?P<cue><date:as_of> )"),
    IntentRule(
        "as_of",
        rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|under) )?(?P<cue>(?:who|what|which|where|whose|how many|"
        rf"how much|how big|"
        rf"how large|how high) {_W}{{0,5}}?(?:was|were|had) )(?P<middle>{_W}{{0,12}}?){_PAST_TIME}",
        _is_past_state,
    ),
    IntentRule("as_of", rf"\^ (?P<cue>(?:was|were) )(?P<middle>{_W}{{1,12}}?){_PAST_TIME}", _is_past_state),
    IntentRule(
        "as_of",
        rf"{_OPEN}(?:(?:in|for|from|to|on|at|with|under) )?(?P<cue>(?:who|what|which|where|whose|how many|how much) "
        rf"{_W}{{0,4}}?did {_W}{{1,6}}?(?<!the )(?<! a )(?<!our )(?<!this ){_STATIVE} ){_W}{{0,8}}?{_PAST_TIME}",
    ),
    IntentRule(
        "as_of",
        rf"{_OPEN}(?P<cue>(?:who |which {_W}{{1,3}}?|what {_W}{{1,3}}?|how many {_W}{{1,3}}?){_STATIVE_PAST} )"
        rf"{_W}{{0,8}}?{_PAST_TIME}",
    ),
    IntentRule(
        "as_of",
        rf"{_OPEN}(?P<cue>(?:who|what) (?:was|were) (?:the |our |my |her |his |their )?(?:previous|former|"
        rf"original|prior|old|earlier) )",
    ),
    IntentRule("as_of", r"(?P<cue>(?:who|we|they|she|he|it|i) used to )(?!it |the |this |that |being )"),
    IntentRule(
        "as_of",
        r"(?P<cue>(?:in effect|in force|valid|effective|applicable|live|on duty|on call) )(?:on |in |at |"
        r"during )?<date:in> ",
    ),
    # compare
    IntentRule("compare", rf"{_OPEN}(?P<cue>(?:compare|contrast) )(?!{_NO_COMPARE} )(?=[^$^])"),
    IntentRule(
        "compare",
        rf"(?P<cue>(?:comparison|comparing) )(?=(?:of|between) )(?={_W}{{2,14}}?(?:and|vs|versus|with|to) )",
    ),
    IntentRule("compare", r"(?P<cue>compared (?:to|with|against) )"),
    IntentRule(
        "compare",
        rf"\^ (?P<cue>how (?:do|does|did|is|are|would) )(?={_W}{{1,10}}?compare (?:to |with |against |in |on |"
        rf"\$|for ))",
    ),
    IntentRule(
        "compare",
        r"(?<!\^ )(?<!, )(?P<cue>(?:vs|versus) )(?!code |studio |<date:in> installation |extension |"
        r"marketplace |[$^,])",
    ),
    IntentRule(
        "compare",
        rf"(?P<cue>(?:differences?|distinction|trade-offs?|tradeoffs?|choose|choosing|decide|deciding|pick)"
        rf" between )(?={_W}{{1,10}}?(?:and|or|vs|to) )",
    ),
    IntentRule(
        "compare", rf"(?P<cue>how (?:is|are|does|do|was|did) {_W}{{1,8}}?(?:different|differs?) (?:from|to|than) )"
    ),
    IntentRule("compare", rf"(?P<cue>how (?:does|do|did) )(?={_W}{{1,5}}?and {_W}{{1,5}}?differ )"),
    IntentRule(
        "compare",
        rf"{_OPEN}(?P<cue>(?:which|what|who|where) {_W}{{0,7}}?{_COMPARATIVE})(?={_W}{{0,12}}?or )"
        rf"(?!{_W}{{0,4}}?than )",
    ),
    IntentRule("compare", rf"{_OPEN}(?P<cue>which of )(?={_W}{{1,8}}?(?:and|or) {_W}{{1,8}}?{_COMPARATIVE})"),
    IntentRule(
        "compare",
        rf"\^ (?:(?:is|are|was|were|do|does|did|has|have|will) (?!it |there |this |i |we |you |anyone )|(?:why|"
        rf"how much|who|which) "
        rf"(?:is |are |does |do |has |have )?){_W}{{1,8}}?(?P<cue>{_COMPARATIVE}{_W}{{0,5}}?than )(?!(?:the |a |"
        rf"an |our |my )?{_NO_RIGHT} |(?:the |a )?\S+ (?:limit|threshold|quota) |[0-9<])",
    ),
    IntentRule("compare", rf"(?P<cue>(?:advantages?|benefits?|strengths) of )(?={_W}{{1,6}}?over )"),
    IntentRule(
        "compare",
        rf"\^ (?P<cue>(?:is|are|should) {_W}{{1,6}}?or {_W}{{1,6}}?(?:better|cheaper|faster|larger|bigger|safer) )",
    ),
)
