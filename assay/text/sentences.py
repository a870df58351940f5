"""Splits a text into sentences.

`split_sentences(text)` returns spans (start, end) in characters: in order, not overlapping, without surrounding white
space, and together covering every character that is not white space. Linear time, any string.

First the lines decide: a blank line, a list item, a heading, a table row, a quote or a line of code ends what
came before it; other line breaks are soft wraps. Within such a block a sentence ends at 。！？ and similar marks
anywhere, and at . ! ? … before white space, unless the dot belongs to an abbreviation, an initial
or a list number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

_LINE = re.compile(r"\S[^\r\n\f]*+")  # from its first visible character on
_RULE = r"(?:-{3,}|={3,}|\*{3,}|_{3,})[ \t]*$"
_KIND = re.compile(
    rf"""(?P<fence>```|~~~)
      | (?P<alone>                                   # ends with itself
            \#{{1,6}}[ \t] | \| | {_RULE}               # headings, table rows, rules
          | (?:\$|>>>|\.\.\.)[ \t] | // | /\* | \#! | \#include\b | @\w+(?:\(|[ \t]*$)       # code from here
          | (?:def|func|fn|function)[ \t]+\w+[ \t]*\( | class[ \t]+\w+[ \t]*[(:{{]
          | (?:import|package|using)[ \t]+[\w.]+;?[ \t]*$ | from[ \t]+[\w.]+[ \t]+import\b
          | (?:if|elif|else|for|while|try|except|with)\b[^.]*:[ \t]*$
          | [\w.\[\]"']{{1,80}}+[ \t]*[-+*/|&]?=[ \t]*\S
          | [\w.]{{1,80}}+\(.*\)[;{{]?[ \t]*$
        )
      | (?P<opens>                                   # begins something new
            [-*+•‣◦▪·–—][ \t]                        # bullets
          | \(?(?:\d{{1,3}}|[a-zA-Z])[.)][ \t]         # 1.  2)  (a)
          | >                                        # quotes
          | [A-Z][\w-]{{1,24}}+:[ \t]                 # Subject: header lines
          | <[/!?a-zA-Z]                             # markup
        )""",
    re.VERBOSE,
)
_CODE_TAIL = ("{", "}", "\\", ");", "};", "];", '";', "';")

_STRONG = "。！？｡।॥؟۔።။։"  # end a sentence anywhere; the others only before white space
_MARKS = f"[.!?…{_STRONG}]"
_CLOSERS = r"[\"'”’»›)\]}*_`」』）】》〉]"
_END = re.compile(
    rf"""(?P<mark>{_MARKS}(?<!{_MARKS}{_MARKS}){_MARKS}*+)   # a whole run of marks, tried once
      (?: (?<=[{_STRONG}]){_CLOSERS}*+(?P<hard>)\s*+
        | {_CLOSERS}*+(?:\[\d{{1,4}}\])*+(?P<soft>)(?:\s++|\Z) )""",
    re.VERBOSE,
)
_NEXT = re.compile(r"[\"'“‘«‹(\[{*_`¿¡-]*+(?P<word>\w*)")
_WORD_BEFORE = 24  # characters looked at before a dot; no abbreviation is longer


def _table(words: str) -> frozenset[str]:
    return frozenset(words.split())


# A dot after these never ends a sentence.
_NEVER = _table(
    """e.g eg i.e ie cf viz vs v.s dr mr mrs ms mx prof gen sen rep gov capt lt col sgt cmdr adm rev hon st mt ft
    messrs mme mlle sra srta sig dott z.b d.h u.a u.u s.o bzw ca vgl evtl ggf inkl p.ej p.ex approx esp incl
    resp orig est dept"""
)
# A dot after these does not end a sentence when a number follows.
_BEFORE_NUMBER = _table(
    """no nos nr fig figs eq eqs sec secs sect vol vols art arts abs ch chap pt pts p pp par para ed eds ver tab
    ref refs rfc pep op lib jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ext
    tel"""
)
# A dot after these ends a sentence only when a word follows that usually begins one.
_MAYBE = _table(
    """u.s u.k u.n e.u u.s.a d.c a.m p.m a.d b.c ph.d m.d b.a m.a b.sc m.sc jr sr inc ltd co corp llc bros al et
    univ assn govt mfg"""
)
_ALONE = ("alone", "fence")
_DOTTED = re.compile(r"(?:\w\.)+\w")  # n.b, w.r.t
_MONTHS = _table("januar februar märz april mai juni juli august september oktober november dezember")
_STARTERS = _table(
    """the this that these those a an it its he she they we you i his her their our my there here in on at by for
    from with as if when while after before since but and so however moreover furthermore also then thus
    therefore although because what who where why how which no not all some many most each one two
    der die das ein eine es er sie wir in im le la les un une il elle nous el los las una"""
)


def split_sentences(text: str) -> list[Span]:
    """Return the sentences of a text as (start, end) character spans."""
    spans: list[Span] = []
    for begin, end in _blocks(text):
        for match in _END.finditer(text, begin, end):
            ending = match.lastgroup or ""
            if match.end() < end and (ending == "hard" or _ends(text, begin, match, end)):
                spans.append((begin, match.end(ending)))
                begin = match.end()
        spans.append((begin, begin + len(text[begin:end].rstrip())))
    return spans


def _blocks(text: str) -> Iterator[Span]:
    """Runs of lines that belong together, each from its first visible character to the end of its last line."""
    start = end = -1  # the open block; start < 0: none is open
    alone = fenced = False
    for line in _LINE.finditer(text):
        first, last = line.span()
        kind = _KIND.match(text, first, last)
        name = kind.lastgroup if kind else None
        fenced ^= name == "fence"
        was_alone, alone = alone, fenced or name in _ALONE or text.endswith(_CODE_TAIL, first, last)
        if start >= 0 and (alone or was_alone or name == "opens" or _is_blank(text[end:first])):
            yield start, end
            start = -1
        if start < 0:
            start = first
        end = last
    if start >= 0:
        yield start, end


def _is_blank(gap: str) -> bool:
    """Does the white space between two visible lines hold an empty one?"""
    return len(gap) > 1 and (gap.count("\n") > 1 or gap.count("\r") > 1)


def _ends(text: str, begin: int, match: re.Match[str], end: int) -> bool:
    """Do these marks before white space end the sentence that began at `begin`?"""
    mark = match["mark"]
    after = _NEXT.match(text, match.end(), end)
    following = after["word"] if after else ""
    small = following[:1].islower()
    if "!" in mark or "?" in mark:
        return not small or match.start("soft") == match.end("mark")  # "Really?" he asked.
    if mark != ".":
        return not small  # Wait ... for it.
    dot = match.start()
    before = text[max(begin, dot - _WORD_BEFORE) : dot].split()
    word = before[-1].lstrip("\"'“‘«([{*_`¿¡").casefold() if before else ""
    if word.isdigit():
        first = len(before) == 1 and dot - begin < _WORD_BEFORE
        return not first and following.casefold() not in _MONTHS  # 1. Install it; am 3. Oktober
    if not word or word in _NEVER:
        return False
    if len(word) == 1 and word.isalpha():
        return word == "i" or not word.isascii()  # an initial: J. Smith
    if word in _BEFORE_NUMBER and following[:1].isdigit():
        return False
    if word in _MAYBE or _DOTTED.fullmatch(word):
        return not small and following.casefold() in _STARTERS
    return len(word) > 3 if small else True
