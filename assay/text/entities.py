"""Which things does a text speak of? Identifiers, proper names and word pairs, told by their shape; no model.

    firm    identifiers (JINA_API_KEY, v1.29.3, GitHub), and capitalised names that stand inside a sentence
    soft    capitalised words where a sentence or a heading begins: names only if somebody writes them so elsewhere
    pairs   two plain words side by side; which of them belong together is for the statistics of a collection to say

A thing has one key however it is spelt: case, possessive and separators do not count, so JINA_API_KEY, jina-api-key
and JinaApiKey are `jinaapikey`, and `Signing keys` is `signing key`. Between digits a separator counts (v1.29 is not
v12.9). Linear time, any string.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from assay.text.analyse import stop_words
from assay.text.fold import normal
from assay.text.identifiers import is_name
from assay.text.memo import Memo
from assay.text.tokenise import pattern

LONGEST_KEY = 64
"""Characters of a key; what is longer is no name that anybody repeats."""
MOST_WORDS = 5
"""Words of a name; a longer run of capitals is a title."""

# What stands between two words when a new sentence, item or quotation begins.
_STARTS = re.compile(r"[.!?:;\n\r|•*#>\"“”„«»…]|\s[-–—]\s")
_POSSESSIVE = re.compile(r"['’]s?$")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:[^\w+#]|_)+(?=\d)")
_SEPARATORS = re.compile(r"(?:(?!(?<=\d)\.(?=\d))[^\w+#]|_)+")
_PLURAL = re.compile(r"(?<=[^\W\d_][^\W\d_])(?<![sui])s$")
# Small words inside a name: Bank of England, Ludwig van Beethoven.
_CONNECTORS = frozenset(
    {"of", "de", "del", "du", "da", "dos", "van", "von", "der", "den", "la", "le", "el", "al", "ibn"}
)
_SHORT_NUMBER = 4  # 2.1 and 9.99 are amounts, 10.0.0.1 and 99999 are names
_OTHER, _IDENTIFIER, _CAPITAL, _STOP, _STOP_CAPITAL, _PLAIN, _CONNECTOR = range(7)


class Spoken(NamedTuple):
    """Keys by how sure they are; repeated as they occur."""

    firm: list[str]
    soft: list[str]
    pairs: list[str]


def spoken(text: str, language: str = "english", *, heading: bool = False) -> Spoken:
    """What a text speaks of. In a heading capitals say nothing, so every name of it is soft."""
    return _reader(language).read(text, heading)


def key_of(name: str) -> str:
    """The key of a name as somebody typed it, its words set apart by spaces; "" when there is nothing in it."""
    words = (compact(word) for word in normal(name).split())
    return " ".join(word for word in words if word)[:LONGEST_KEY]


class Meant(NamedTuple):
    """A key that a query may mean, and the words [start, end) it is made of."""

    start: int
    end: int
    key: str


def query_keys(text: str, language: str = "english") -> list[Meant]:
    """Every key that a query may mean: its runs of one to five words, longest first.

    Nobody can rely on capitals in a query, so any run may be a name; a stop word is one only in capitals (WHO, IT).
    """
    reader = _reader(language)
    words = [run[0] for run in pattern(text).finditer(text)][:MOST_QUERY_WORDS]
    read = [reader.words[word] for word in words]
    small = [
        code in (_STOP, _CONNECTOR) or (code == _STOP_CAPITAL and not word.isupper())
        for word, (code, _) in zip(words, read, strict=True)
    ]
    found: list[Meant] = []
    for size in range(MOST_WORDS, 0, -1):
        for start in range(len(words) - size + 1):
            last = start + size - 1
            if small[start] or small[last]:
                continue
            keys = [key for _, key in read[start : last + 1]]
            found.append(Meant(start, last + 1, " ".join(keys)))
            if read[last][0] == _PLAIN and singular(keys[-1]) != keys[-1]:
                found.append(Meant(start, last + 1, " ".join([*keys[:-1], singular(keys[-1])])))
    return [meant for meant in found if meant.key.strip() and len(meant.key) <= LONGEST_KEY]


MOST_QUERY_WORDS = 64
"""A longer query keeps its first words: it is a text, and its seeds say more than its names."""


def as_written(text: str, key: str, language: str = "english") -> str:
    """A key as a text first spells it, for people to read; the key itself where the text does not have it."""
    reader, size = _reader(language), key.count(" ") + 1
    runs = list(pattern(text).finditer(text))
    keys = [reader.words[run[0]][1] for run in runs]
    for start in range(len(runs) - size + 1):
        *first, last = keys[start : start + size]
        if key in (" ".join([*first, last]), " ".join([*first, singular(last)])):
            return " ".join(text[runs[start].start() : runs[start + size - 1].end()].split())
    return key


def compact(word: str) -> str:
    """A folded word without possessive and separators; those between two digits become a dot."""
    if word.isalpha():
        return word
    return _SEPARATORS.sub("", _BETWEEN_DIGITS.sub(".", _POSSESSIVE.sub("", word)))


def singular(word: str) -> str:
    """A plain English plural without its s; other words as they are."""
    return _PLURAL.sub("", word) if len(word) > 3 else word


class _Reader:
    """One language's words, classified once each."""

    def __init__(self, language: str) -> None:
        self._stop = stop_words(language)
        self._english = language == "english"
        self.words: Memo[str, tuple[int, str]] = Memo(self._classified)

    def _classified(self, word: str) -> tuple[int, str]:
        """What a word is for names and pairs, and its key."""
        if len(word) > LONGEST_KEY:
            return _OTHER, ""
        folded = normal(word)
        capital = word[0].isupper()
        if folded in self._stop:
            return (_STOP_CAPITAL if capital else _CONNECTOR if folded in _CONNECTORS else _STOP), folded
        if folded in _CONNECTORS and not capital:
            return _CONNECTOR, folded
        key = compact(folded)
        if is_name(word):
            telling = any(map(str.isalpha, key)) or len(key) > _SHORT_NUMBER
            return (_IDENTIFIER if telling and len(key) > 1 else _OTHER), key
        if capital:
            return _CAPITAL, key
        if word.isalpha() and len(word) > 2 and word.islower():
            return _PLAIN, folded
        return _OTHER, key

    def read(self, text: str, heading: bool) -> Spoken:
        found = Spoken([], [], [])
        name: list[tuple[int, str]] = []  # the run of capitals we are in
        starts = True  # did it begin a sentence?
        before, end = "", 0  # the plain word just read, and where the last token ended
        for run in pattern(text).finditer(text):
            code, key = self.words[run[0]]
            gap = text[end : run.start()]
            beside = gap == " "
            end = run.end()
            if code == _PLAIN:
                if before and beside:
                    found.pairs.append(f"{before} {singular(key) if self._english else key}")
                before = key
            else:
                before = ""
            if name and not beside:
                _flush(name, starts, heading, found)
                name = []
            if code in (_CAPITAL, _STOP_CAPITAL):
                if not name:
                    starts = run.start() == len(gap) or _STARTS.search(gap) is not None
                name.append((code, key))
            elif code == _CONNECTOR and name:
                name.append((code, key))
            else:
                if name:
                    _flush(name, starts, heading, found)
                    name = []
                if code == _IDENTIFIER:
                    found.firm.append(key)
        if name:
            _flush(name, starts, heading, found)
        return found


def _flush(run: list[tuple[int, str]], starts: bool, heading: bool, found: Spoken) -> None:
    """A run of capitals as a name: without the small words at its ends, and no longer than a name is."""
    first, last = 0, len(run)
    while first < last and run[first][0] != _CAPITAL:
        first += 1
    while last > first and run[last - 1][0] != _CAPITAL:
        last -= 1
    keys = [key for _, key in run[first:last] if key]
    if not keys or len(keys) > MOST_WORDS or (len(keys) == 1 and len(keys[0]) < 2):
        return
    key = " ".join(keys)
    if len(key) <= LONGEST_KEY:
        (found.soft if heading or (starts and first == 0) else found.firm).append(key)


@lru_cache(16)
def _reader(language: str) -> _Reader:
    return _Reader(language)
