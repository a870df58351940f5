"""Extracts the entities of a text by their shape, without a model: identifiers, proper names and word pairs.

    firm    identifiers (JINA_API_KEY, v1.29.3, GitHub), and capitalised names inside a sentence
    soft    capitalised words at the start of a sentence or a heading: names only if capitalised elsewhere too
    pairs   two adjacent plain words; the statistics of the collection decide which are collocations

An entity has one key: case, possessive and separators are dropped, so JINA_API_KEY, jina-api-key and JinaApiKey are
`jinaapikey`, and `Signing keys` is `signing key`. Between digits a separator stays (v1.29 is not v12.9). Linear time,
any string.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from assay.text.analyser import load_stop_words
from assay.text.bounded_cache import BoundedCache
from assay.text.identifiers import is_name
from assay.text.normalisation import normalise
from assay.text.tokeniser import run_pattern

LONGEST_KEY = 64
"""Characters of a key; a longer one is no name."""
MOST_WORDS = 5
"""Words of a name; a longer run of capitals is a title."""

# The gap between two words where a new sentence, item or quotation begins.
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


class EntityKeys(NamedTuple):
    """Keys by certainty; repeated as they occur."""

    firm: list[str]
    soft: list[str]
    pairs: list[str]


def extract_entities(text: str, language: str = "english", *, heading: bool = False) -> EntityKeys:
    """Return the entities of a text. In a heading every word may be capitalised, so every name of it is soft."""
    return _reader(language).read(text, heading)


def make_key(name: str) -> str:
    """Return the key of a typed name, its words separated by spaces; "" when nothing is left."""
    words = (compact_word(word) for word in normalise(name).split())
    return " ".join(word for word in words if word)[:LONGEST_KEY]


class QueryKey(NamedTuple):
    """A key that a query may mean, and the words [start, end) it is made of."""

    start: int
    end: int
    key: str


def extract_query_keys(text: str, language: str = "english") -> list[QueryKey]:
    """Return every key that a query may mean: its runs of one to five words, longest first.

    Queries are often written without capitals, so any run may be a name; a stop word only in capitals (WHO, IT).
    """
    reader = _reader(language)
    words = [run[0] for run in run_pattern(text).finditer(text)][:MOST_QUERY_WORDS]
    read = [reader.words[word] for word in words]
    small = [
        code in (_STOP, _CONNECTOR) or (code == _STOP_CAPITAL and not word.isupper())
        for word, (code, _) in zip(words, read, strict=True)
    ]
    query_keys: list[QueryKey] = []
    for size in range(MOST_WORDS, 0, -1):
        for start in range(len(words) - size + 1):
            last = start + size - 1
            if small[start] or small[last]:
                continue
            keys = [key for _, key in read[start : last + 1]]
            query_keys.append(QueryKey(start, last + 1, " ".join(keys)))
            if read[last][0] == _PLAIN and singularise(keys[-1]) != keys[-1]:
                query_keys.append(QueryKey(start, last + 1, " ".join([*keys[:-1], singularise(keys[-1])])))
    return [found for found in query_keys if found.key.strip() and len(found.key) <= LONGEST_KEY]


MOST_QUERY_WORDS = 64
"""Of a longer query only the first words are read: it is a text, whose other legs find more than its names do."""


def find_spelling(text: str, key: str, language: str = "english") -> str:
    """Return a key as a text first spells it; the key itself where the text does not hold it."""
    reader, size = _reader(language), key.count(" ") + 1
    runs = list(run_pattern(text).finditer(text))
    keys = [reader.words[run[0]][1] for run in runs]
    for start in range(len(runs) - size + 1):
        *first, last = keys[start : start + size]
        if key in (" ".join([*first, last]), " ".join([*first, singularise(last)])):
            return " ".join(text[runs[start].start() : runs[start + size - 1].end()].split())
    return key


def compact_word(word: str) -> str:
    """Return a folded word without possessive and separators; those between two digits become a dot."""
    if word.isalpha():
        return word
    return _SEPARATORS.sub("", _BETWEEN_DIGITS.sub(".", _POSSESSIVE.sub("", word)))


def singularise(word: str) -> str:
    """Return a plain English plural without its s; other words unchanged."""
    return _PLURAL.sub("", word) if len(word) > 3 else word


class _EntityReader:
    """Reads texts of one language; classifies each word once."""

    def __init__(self, language: str) -> None:
        self._stop = load_stop_words(language)
        self._english = language == "english"
        self.words: BoundedCache[str, tuple[int, str]] = BoundedCache(self._classify)

    def _classify(self, word: str) -> tuple[int, str]:
        """Return the class of a word, and its key."""
        if len(word) > LONGEST_KEY:
            return _OTHER, ""
        folded = normalise(word)
        capital = word[0].isupper()
        if folded in self._stop:
            return (_STOP_CAPITAL if capital else _CONNECTOR if folded in _CONNECTORS else _STOP), folded
        if folded in _CONNECTORS and not capital:
            return _CONNECTOR, folded
        key = compact_word(folded)
        if is_name(word):
            informative = any(map(str.isalpha, key)) or len(key) > _SHORT_NUMBER
            return (_IDENTIFIER if informative and len(key) > 1 else _OTHER), key
        if capital:
            return _CAPITAL, key
        if word.isalpha() and len(word) > 2 and word.islower():
            return _PLAIN, folded
        return _OTHER, key

    def read(self, text: str, heading: bool) -> EntityKeys:
        entities = EntityKeys([], [], [])
        name: list[tuple[int, str]] = []  # the current run of capitalised words
        starts = True  # did it begin a sentence?
        before, end = "", 0  # the plain word just read, and where the last token ended
        for run in run_pattern(text).finditer(text):
            code, key = self.words[run[0]]
            gap = text[end : run.start()]
            adjacent = gap == " "
            end = run.end()
            if code == _PLAIN:
                if before and adjacent:
                    entities.pairs.append(f"{before} {singularise(key) if self._english else key}")
                before = key
            else:
                before = ""
            if name and not adjacent:
                _flush(name, starts, heading, entities)
                name = []
            if code in (_CAPITAL, _STOP_CAPITAL):
                if not name:
                    starts = run.start() == len(gap) or _STARTS.search(gap) is not None
                name.append((code, key))
            elif code == _CONNECTOR and name:
                name.append((code, key))
            else:
                if name:
                    _flush(name, starts, heading, entities)
                    name = []
                if code == _IDENTIFIER:
                    entities.firm.append(key)
        if name:
            _flush(name, starts, heading, entities)
        return entities


def _flush(run: list[tuple[int, str]], starts: bool, heading: bool, entities: EntityKeys) -> None:
    """Add a run of capitalised words as a name, without the small words at its ends, unless it is too long."""
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
        (entities.soft if heading or (starts and first == 0) else entities.firm).append(key)


@lru_cache(16)
def _reader(language: str) -> _EntityReader:
    return _EntityReader(language)
