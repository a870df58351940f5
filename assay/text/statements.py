"""Reads statements and turns: speakers, names, change words, kinds of values. English only."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

MAX_READ = 2_000
"""Characters of a text that are read."""

_CHANGE = re.compile(
    r"\b(?:no longer|any ?more|any longer|instead|rather than|in place of|from (?:now|today|this \w+) on"
    r"|going forward|henceforth|these days|nowadays|lately|recently|at present|at the moment|currently"
    r"|for the time being|moved?|moves|relocat\w+|chang(?:ed?|es)|switch(?:ed|es)?|swapp?ed|exchanged"
    r"|convert(?:ed|s)?|migrat\w+|replac\w+|supersed\w+|transferr?\w*|reassigned|promoted|appointed"
    r"|upgrad\w+|updat\w+|renam\w+|rebrand\w+|repaint\w+|redecorated|extend(?:ed|s)|shorten\w*|doubl\w+"
    r"|halv\w+|increas\w+|decreas\w+|reduced|rais(?:ed|es)|lower(?:ed|s)|shift(?:ed|s)|postpon\w+|delayed"
    r"|resched\w+|brought forward|pushed back|becomes?|became|turned into|traded|adopted"
    r"|t(?:ook|akes?|aken) (?:over|up)|g(?:ave|iven|ives?) up|went (?:up|down|off|over|with)"
    r"|gone (?:over|up|down)|settled on|opted for|decided|called off|cancel\w*|abandon\w*|scrapped"
    r"|suspended|resum\w+|reopen\w*|discontinued|terminated|expired|br(?:oke|oken) (?:up|off)|split up"
    r"|separated|divorced|married|clos(?:ed|es) (?:down|for good)|shut down|quit|left|leaves|lost|sold"
    r"|stopped|dropped|retired|resigned|died|passed away|deleted|removed|ended|finished|over with"
    r"|correct(?:ion|ed)|actually|in fact|in reality|turns out|wrong(?:ly)?|mistak\w+|error|typo|confus\w+"
    r"|mix\w* (?:that |it |them )?up|misread|misheard|out of date|outdated|(?:his|her|their|my) mind"
    r"|after all|nobody|no one|ha(?:s|ve) no|there (?:is|are) no|none|as of|from (?:next|the) \w+(?: on)?|in future"
    r"|back to|g(?:one|oing|oes) (?:back|over|with)|hand(?:ed|s|ing)? (?:over|back|in)|got rid of|traded in"
    r"|th(?:rew|rown) (?:out|away)|re(?:routed|booked|arranged|programmed|jigged|wired|homed)|up to|down to"
    r"|should (?:be|have been|read)|muddle\w*|mis\w+(?:ed|t)|oops|sorry|scratch that|scrap (?:that|what)"
    r"|forget (?:what|that))\b",
    re.IGNORECASE,
)
_CHANGE_HINT = re.compile(
    r"\b(?:now|new|newly|again|since|until|started|starts|not|never|has been|have been|already|finally|without|only)\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"\b(?:about|regarding|concerning|mention(?:ed|s)?|c[ao]me up (?:again|in|over|at|during)|joke[ds]?|laugh\w*"
    r"|argu(?:ed|ing|es|ment)|gossip\w*|chat(?:ted|ting)?|stor(?:y|ies)|photos?|pictures?|memes?|reminded me)\b",
    re.IGNORECASE,
)
_TENTATIVE = re.compile(
    r"\b(?:might|maybe|perhaps|thinking (?:about|of)|consider(?:s|ing|ed)?|hop(?:es?|ing)|wish\w*|(?:day)?dream\w*"
    r"|would (?:like|love|be|have)|fantas\w+|one[- ]off|once|only (?:today|tonight|for|this)|tempted|wonder\w*"
    r"|plan(?:s|ning|ned)? to|wants? to|toying|if|stand(?:s|ing)? in|filling in|cover(?:s|ing|ed) for|tonight|yesterday"
    r"|last (?:night|week|year|month)|years? ago|nothing decided|not decided|undecided|someday|one day|could|extra"
    r"|for now|just for)\b",
    re.IGNORECASE,
)
_SPEAKER = r"([^\W\d_][\w.'-]{0,30}(?: [\w.'-]{1,30})?):\s"  # one or two words
_TURN = re.compile(r"\s*" + _SPEAKER)
_NAME_LABEL = re.compile(r"\s*\S+(?: [^\W\d_a-z]\S*)?:\s")  # a second word begins with a capital
_NEXT_TURN = re.compile(r"\n" + _SPEAKER)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NUMBER = re.compile(r"\d")
_DATE = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b",
    re.IGNORECASE,
)
_NO_NAME = re.compile(rf"{_DATE.pattern}|I(?:['’]\w+)?", re.IGNORECASE)
_GAP = 20
"""Characters before a word in which the end of a sentence is looked for."""
_POSSESSIVE = re.compile(r"['’]s?$")


def states_change(text: str) -> bool:
    """Whether a statement says that something changed, ended or was corrected: "moved", "no longer", "was wrong"."""
    return _CHANGE.search(text[:MAX_READ]) is not None


def hints_at_change(text: str) -> bool:
    """Whether a statement has a word that often goes with a change: "now", "new", "not in"."""
    return _CHANGE_HINT.search(text[:MAX_READ]) is not None


def has_change_word(text: str) -> bool:
    """Whether a statement says or suggests that something changed."""
    return states_change(text) or hints_at_change(text)


def is_mention(text: str) -> bool:
    """Whether a text tells that something was talked about or shown: "asked about", "mentioned", "a photo of"."""
    return _MENTION.search(text[:MAX_READ]) is not None


def is_tentative(text: str) -> bool:
    """Whether a statement may be a plan, a wish, an exception or of another time: "might", "just for tonight"."""
    return _TENTATIVE.search(text[:MAX_READ]) is not None


def find_names(text: str) -> list[str]:
    """Capitalised words inside a sentence, without possessive; months, weekdays and "I" are no names."""
    names = []
    for word in _WORD.finditer(text[:MAX_READ]):
        if word[0][0].isupper() and word.start() and not _NO_NAME.fullmatch(word[0]):
            before = text[max(0, word.start() - _GAP) : word.start()].rstrip()
            if not before.endswith((".", "!", "?", ":")):
                names.append(_POSSESSIVE.sub("", word[0]))
    return names


def find_value_kinds(text: str, known: Collection[str] = ()) -> frozenset[str]:
    """Kinds of values that a statement has: number, date, name. Names in `known` (in lower case) do not count."""
    kinds = {"number"} if _NUMBER.search(text[:MAX_READ]) else set()
    kinds |= {"date"} if _DATE.search(text[:MAX_READ]) else set()
    kinds |= {"name"} if any(name.lower() not in known for name in find_names(text)) else set()
    return frozenset(kinds)


def find_speaker(text: str) -> str | None:
    """The speaker of a turn ("Caroline: I went …") in lower case; None for a text that is no turn, or several."""
    label = _TURN.match(text)
    if label is None or has_change_word(label[1]) or _NEXT_TURN.search(text):  # "Correction: …" is no turn
        return None
    return label[1].lower()


def find_turns(texts: Sequence[str]) -> list[bool]:
    """Which texts of a list are turns of a conversation, one or several each: those that begin with a speaker, if half
    of the texts do. So a single turn beside the long pieces of a session is no note.

    A label with a second word in lower case is a heading: "Price label: …", "Babysitter notes: …".
    """
    speakers = [_NAME_LABEL.match(text) is not None and _is_conversation(text) for text in texts]
    return speakers if 2 * sum(speakers) >= len(speakers) else [False] * len(texts)


def _is_conversation(text: str) -> bool:
    return find_speaker(text) is not None or _NEXT_TURN.search(text[:MAX_READ]) is not None
