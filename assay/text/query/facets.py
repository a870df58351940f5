"""Splits a query into facets: one text to search for per compared or conjoined item.

"compare the retention policy of Berlin and Madrid" has two: "the retention policy of Berlin" and "the retention policy
of Madrid". Compared items are found at the connector of the comparison (and, versus, than, …); elsewhere only names
and identifiers are split (phone numbers of Anna Schmidt and Jorge Ruiz). A query without such a list has one facet,
itself. At most MOST_FACETS; the items beyond stay together in the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.text.analyser import load_stop_words
from assay.text.query.dates import DateConstraint
from assay.text.query.intents import IntentCue
from assay.text.query.versions import VersionConstraint
from assay.text.query.words import QueryWord, make_table

MOST_FACETS = 6
MOST_READ = 256
"""Words of a query that are searched for a list; in a longer text a conjunction says little."""
_LONGEST_ITEM = 5  # words
_DETERMINERS = make_table("the a an our my your their its this that")
_BOUNDARIES = _DETERMINERS | make_table(
    """of in on for at by from with about between to as under during into is are does do did was were has have had than
    which who what how why where when whose if be been will can should would could or and vs versus against compare
    contrast comparing comparison compared difference differences changes change changed diff list show give find me
    us please both either over per via using without within since until before after more less fewer better worse
    larger smaller bigger cheaper faster slower higher lower older newer longer shorter differ differs different
    choose decide pick all every each these those there it one include includes need needs cost costs support
    supports offer offers pay pays get gets take takes"""
)
_COMPARE_JOINS = ("vs", "versus", "against", "with", "and", "to", "or", "from", "over")
_PLAIN_JOINS = ("and", "or")
_LIST_JOINS = ("and", "or", "vs", "versus", "to")
_OPENERS = make_table(
    """list show give find tell name get explain describe compare contrast check send please who what which where when
    why how is are was were do does did has have can could should would will everyone everybody all every"""
)
# Names that contain a conjunction.
_FIXED = make_table(
    """research-development terms-conditions trust-safety health-safety mergers-acquisitions profit-loss
    diversity-inclusion learning-development rules-regulations procter-gamble johnson-johnson ernst-young
    standard-poor marks-spencer environment-safety food-drink food-drug wear-tear supply-demand questions-answers
    pros-cons"""
)
_REMOVED = make_table(
    """compare contrast comparing comparison compared difference differences distinction between diff changed changes
    change trade-off trade-offs tradeoff tradeoffs vs versus of"""
)


class _Item(NamedTuple):
    """The words [first, after) of one item of a list."""

    first: int
    after: int


class _Split(NamedTuple):
    """Items, the first of them in its place, and the words [gap, after) that go with the others."""

    items: tuple[_Item, ...]
    gap: int
    after: int


def split_facets(
    text: str,
    words: Sequence[QueryWord],
    cues: Sequence[IntentCue],
    dates: Sequence[DateConstraint] = (),
    versions: Sequence[VersionConstraint] = (),
) -> tuple[str, ...]:
    """Return the texts to search for, one per item of the first list; the text itself when there is none."""
    words = words[:MOST_READ]
    cue = next((cue for cue in cues if cue.intent in ("compare", "diff")), None)
    compared = next((cue for cue in cues if cue.intent == "compare"), None)
    ranges = [(date.start, date.end) for date in dates if date.relation == "between"]
    if cue is None or cue.intent != "diff":
        ranges += [(version.start, version.end) for version in versions if version.relation == "between"]
    finder = _ListFinder(words, ranges)
    found = finder.find_compared(compared) if compared else finder.find_changed(versions) if cue else None
    found = found or finder.find_names()
    if found is None:
        return (text,)
    removed = _cue_words(words, cue) if cue else frozenset()
    facets = tuple(_write(text, words, found, item, removed) for item in _group(found.items))
    return tuple(dict.fromkeys(facet for facet in facets if facet)) or (text,)


class _ListFinder:
    """Finds the lists of a query."""

    def __init__(self, words: Sequence[QueryWord], ranges: Sequence[tuple[int, int]]) -> None:
        self._words = words
        self._ranges = ranges
        self._shouted = not any(word.text.islower() for word in words)

    def find_compared(self, cue: IntentCue) -> _Split | None:
        """The items on both sides of the connector of a comparison."""
        words = self._words
        inside = [i for i, word in enumerate(words) if cue.start <= word.start < cue.end]
        if not inside:
            return None
        lowers = [words[i].lower for i in inside]
        if lowers[-1] == "than":
            return self._find_than(inside[-1])
        if lowers[0] in ("vs", "versus"):
            return self._around(inside[0], inside[0] + 1, self._is_name) or self._around(
                inside[0], inside[0] + 1, self._is_content
            )
        if lowers[-1] in ("from", "to", "than", "with", "against") and len(inside) > 1:  # different from, compared to
            verb = next(
                (i for i in inside if words[i].lower in ("different", "differ", "differs", "compared")), inside[-1]
            )
            return self._around(verb, inside[-1] + 1, self._is_content)
        if lowers[0] == "how":  # how does A compare to B
            for i in range(inside[-1] + 1, len(words) - 1):
                if words[i].lower == "compare" and words[i + 1].lower in ("to", "with", "against"):
                    return self._around(i, i + 2, self._is_content)
        start = (
            inside[-1] + 1 if lowers[0] not in ("which", "what", "who", "where", "is", "are", "should") else inside[0]
        )
        joins = [i for i in range(start, len(words)) if words[i].lower in _COMPARE_JOINS and not words[i].quoted]
        for i in joins:
            if found := self._around(i, i + 1, self._is_name):
                return found
        for i in sorted(joins, key=lambda i: _COMPARE_JOINS.index(words[i].lower)):
            if found := self._around(i, i + 1, self._is_content):
                return found
        return None

    def find_changed(self, versions: Sequence[VersionConstraint]) -> _Split | None:
        """The two ends of a range of versions: between v1.28 and v1.29."""
        for version in versions:
            if version.relation != "between":
                continue
            inside = [i for i, word in enumerate(self._words) if version.start <= word.start < version.end]
            for i in inside[1:-1]:
                if self._words[i].lower in ("and", "to", "through"):
                    first = inside[0] + (self._words[inside[0]].lower in ("between", "from"))
                    return _Split((_Item(first, i), _Item(i + 1, inside[-1] + 1)), i, inside[-1] + 1)
        return None

    def find_names(self) -> _Split | None:
        """The first list of names: Berlin, Madrid and Lisbon."""
        if self._shouted:
            return None
        for i, word in enumerate(self._words):
            if word.lower not in _PLAIN_JOINS or word.quoted or i == 0 or i + 1 == len(self._words):
                continue
            pair = f"{self._words[i - 1].lower}-{self._words[i + 1].lower}"
            if pair in _FIXED or any(start <= word.start < end for start, end in self._ranges):
                continue
            if found := self._around(i, i + 1, self._is_name):
                return found
        return None

    def _find_than(self, than: int) -> _Split | None:
        """is A larger than B: A follows the first verb, B follows `than`."""
        right = self._read_right(than + 1, self._is_name) or self._read_right(than + 1, self._is_content)
        verb = next((i for i in range(than) if self._words[i].lower in _VERBS), None)
        if right is None or verb is None:
            return None
        left = self._read_right(verb + 1, self._is_name) or self._read_right(verb + 1, self._is_content)
        if left is None or left.after > than:
            return None
        return _Split((left, right), than, right.after)

    def _around(self, join: int, after: int, fits: Callable[[int], bool]) -> _Split | None:
        """The items before word `join` and from word `after` on."""
        left, right = self._read_left(join, fits), self._read_right(after, fits)
        if left is None or right is None:
            return None
        items = [left]
        while items[0].first >= 1 and self._words[items[0].first].pause and not self._words[items[0].first].opens:
            more = self._read_left(items[0].first, fits)
            if more is None:
                break
            items.insert(0, more)
        items.append(right)
        while items[-1].after < len(self._words):
            i = items[-1].after
            joined = self._words[i].lower in _LIST_JOINS and not self._words[i].opens
            listed = self._words[i].pause and not self._words[i].opens
            following = self._read_right(i + joined, self._is_name) if joined or listed else None
            if following is None or fits != self._is_name:
                break
            items.append(following)
        gap = join if len(items) == 2 else items[0].after
        return _Split(tuple(items), gap, items[-1].after)

    def _read_left(self, after: int, fits: Callable[[int], bool]) -> _Item | None:
        first = after
        while first > 0 and after - first < _LONGEST_ITEM and fits(first - 1):
            first -= 1
            if self._words[first].pause or self._words[first].opens:
                break
        if first == after:
            return None
        if first > 0 and self._words[first - 1].lower in _DETERMINERS and not self._words[first].pause:
            first -= 1
        return _Item(first, after)

    def _read_right(self, first: int, fits: Callable[[int], bool]) -> _Item | None:
        begin = first
        if first < len(self._words) and self._words[first].lower in _DETERMINERS:
            begin += 1
        after = begin
        while after < len(self._words) and after - begin < _LONGEST_ITEM and fits(after):
            if after > begin and (self._words[after].pause or self._words[after].opens):
                break
            after += 1
        return _Item(first, after) if after > begin else None

    def _is_name(self, i: int) -> bool:
        word = self._words[i]
        if not word.named or self._shouted:
            return False
        if word.opens and word.lower in _OPENERS:
            return False
        return word.lower not in load_stop_words("english") or (word.text.isupper() and len(word.text) > 1)

    def _is_content(self, i: int) -> bool:
        return self._words[i].lower not in _BOUNDARIES


_VERBS = make_table("is are was were do does did has have will")


def _cue_words(words: Sequence[QueryWord], cue: IntentCue) -> frozenset[int]:
    """The words of a comparison that say nothing about its items."""
    inside = [i for i, word in enumerate(words) if cue.start <= word.start < cue.end]
    if not inside:
        return frozenset()
    reach = range(inside[0], min(inside[-1] + 2, len(words)))
    dropped = {i for i in reach if words[i].lower in _REMOVED}
    if dropped and words[min(dropped)].lower == "of":
        dropped.discard(min(dropped))
    return frozenset(dropped | {i for i, word in enumerate(words) if word.lower in ("please", "differ", "differs")})


def _group(items: Sequence[_Item]) -> list[Sequence[_Item]]:
    """One item per facet; the last facet takes what is left."""
    alone: list[Sequence[_Item]] = [(item,) for item in items[: MOST_FACETS - 1]]
    rest = items[MOST_FACETS - 1 :]
    return [*alone, tuple(rest)] if rest else alone


def _write(
    text: str, words: Sequence[QueryWord], found: _Split, items: Sequence[_Item], removed: frozenset[int]
) -> str:
    """The text with some items in the place of the first one, without the others and the words of the cue."""
    place = found.items[0]
    pieces: list[str] = []
    i = 0
    while i < len(words):
        if i == place.first:
            pieces += [text[words[item.first].start : words[item.after - 1].end] for item in items]
            i = place.after
        elif found.gap <= i < found.after:
            i = found.after
        elif i in removed:
            i += 1
        else:
            pieces.append(text[words[i].start : words[i].end])
            i += 1
    if len(words) == MOST_READ:
        pieces.append(text[words[-1].end :])
    return " ".join(" ".join(pieces).split())
