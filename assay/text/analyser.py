"""Turns text into terms; one analyser serves the index, the tail, queries and highlights.

    terms(text)        the terms a chunk is indexed under: in order, repeated as they occur
    query_terms(text)  what a query looks for: unique, sorted, without closed-class words such as "the" and without
                       the bare digits of identifiers (CVE-2024-1234 looks for cve-2024-1234 and cve, not for 2024)
    spans(text)        the terms with their places in the original text; the same multiset as `terms`

Stop words are indexed, so that a query of stop words only ("to be or not to be") finds its text, but dropped from
other queries: they change no ranking and cost most of the time of a search. A word in capitals in a query that is
not all capitals is a name (US, WHO), not a stop word, except AND, OR and NOT.

Unspaced scripts are indexed by overlapping pairs of characters and by single characters; a query uses pairs,
and single characters only for a run of one. `cjk = "unigram"` uses single characters throughout.

No term holds white space, a NUL or a lone surrogate, none is longer than 128 characters, any string is legal.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from threading import Lock
from types import MappingProxyType

from assay.errors import ConfigError, nearest
from assay.text.bounded_cache import BoundedCache
from assay.text.compounds import Term, derive_terms, is_plain, split_segments
from assay.text.normalisation import fold, strip_marks, strip_points
from assay.text.tokeniser import find_runs, run_pattern

VERSION = 1  # raise it when the same text gives other terms, so that the digest changes
LONGEST_TERM = 128  # characters
MOST_GROWTH = 18  # no character folds to more characters than that (ﷺ, before its spaces go)
MAX_SPANS = 1 << 14  # words cached with their places: highlights and queries read few texts
CHOICES = {"cjk": ("bigram", "unigram"), "stop": ("language", "none")}
_OPERATORS = frozenset({"AND", "OR", "NOT"})


@dataclass(frozen=True, slots=True)
class Analyser:
    """How a store turns text into terms. Its fields are its config; a store saves them.

    language  a Snowball algorithm ("english", "german", …) or "none"
    stem      whether plain words are stemmed; identifiers never are
    cjk       "bigram" | "unigram": how scripts without spaces are split
    stop      "language" | "none": which words are dropped from queries
    """

    language: str = "english"
    stem: bool = True
    cjk: str = "bigram"
    stop: str = "language"

    def __post_init__(self) -> None:
        known = list_languages()
        if self.language not in known:
            raise ConfigError(f"no stemmer for language {self.language!r}", nearest(self.language, known))
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ConfigError(f"analyser: {name} = {value!r}", nearest(str(value), allowed))

    @property
    def digest(self) -> str:
        """Identifies the analysis: equal digests give equal terms."""
        import Stemmer  # another release may stem differently, so its version enters the digest

        facts = {"version": VERSION, "stemmer": Stemmer.version() if self.stem else "", **asdict(self)}
        config = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(config.encode()).hexdigest()

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in order, repeated as they occur."""
        return _extractor(self).terms(text)

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query, sorted."""
        return list(self.query_term_counts(text))

    def query_term_counts(self, text: str, split_identifiers: bool = False) -> Mapping[str, int]:
        """Return the terms of a query, sorted, with how often each occurs. `split_identifiers` adds the bare digits of
        identifiers. Cached, because legs, rerankers and highlights use the same query."""
        return _count_query_terms(self, text, split_identifiers)

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """Return the terms of a text with their (start, end) in characters of that text."""
        return [(term, start, end) for term, start, end, _ in _extractor(self).spans(text)]


@lru_cache(maxsize=64)
def _count_query_terms(analyser: Analyser, text: str, split_identifiers: bool) -> Mapping[str, int]:
    kinds = ("word", "digits") if split_identifiers else ("word",)
    spans = _extractor(analyser).spans(text)
    surfaces = [(term, text[start:end]) for term, start, end, kind in spans if kind in kinds]
    stop = load_stop_words(analyser.language) if analyser.stop == "language" else frozenset()
    all_capitals = not any(map(str.islower, text))
    counts = Counter(term for term, surface in surfaces if not _is_stop(surface, stop, all_capitals))
    return MappingProxyType(dict(sorted((counts or Counter(term for term, _ in surfaces)).items())))


def list_languages() -> frozenset[str]:
    """Return every language an analyser can have."""
    import Stemmer

    return frozenset({"none", *Stemmer.algorithms()})


@cache
def load_stop_words(language: str) -> frozenset[str]:
    """Return the closed-class words of a language (articles, pronouns, prepositions, …); empty where unknown."""
    for line in files("assay.text").joinpath("data/stop.txt").read_text("utf-8").splitlines():
        name, *words = line.split()
        if name == language:
            return frozenset(strip_marks(fold(word)) for word in words)
    return frozenset()


def _is_stop(surface: str, stop: frozenset[str], shouted: bool) -> bool:
    word = strip_marks(fold(surface))
    if word not in stop and not stop.issuperset(word.split("'")):  # qu'il is a stop word because qu and il are
        return False
    return shouted or len(surface) == 1 or not surface.isupper() or surface in _OPERATORS


class _TermExtractor:
    """The stemmer and the caches of one configuration, shared by all threads."""

    def __init__(self, analyser: Analyser) -> None:
        self.pairs = analyser.cjk == "bigram"
        self.turkish = analyser.language == "turkish"
        self.stem = _stemmer(analyser.language) if analyser.stem and analyser.language != "none" else str
        self.pieces: BoundedCache[str, tuple[str, ...]] = BoundedCache(self._piece)
        self.words: BoundedCache[str, tuple[str, ...]] = BoundedCache(self.forms, MAX_SPANS)
        self.run_terms: BoundedCache[str, list[Term]] = BoundedCache(self._derive, MAX_SPANS)

    def terms(self, text: str) -> list[str]:
        # No run crosses white space, so the terms of a text are those of its pieces. Most pieces are in the cache,
        # more of them without the punctuation around them.
        text = f"{text} "  # so that the last mark is followed by white space like the others
        if text.isascii():
            text = text.translate(_SEPARATORS)
        else:
            for mark in _RARE:
                text = text.replace(mark, " ")
        for mark in _MARKS:
            text = text.replace(mark, " ")
        return list(chain.from_iterable(map(self.pieces.__getitem__, text.split())))

    def spans(self, text: str) -> list[Term]:
        spans: list[Term] = []
        for run in run_pattern(text).finditer(text):
            at = run.start()
            spans += [(term, at + start, at + end, kind) for term, start, end, kind in self.run_terms[run[0]]]
        return spans

    def _piece(self, piece: str) -> tuple[str, ...]:
        if piece.isascii() and is_plain(piece):
            return self.forms(piece) if len(piece) <= LONGEST_TERM else (_shorten(*self.forms(piece)),)
        found_runs = find_runs(piece)
        if found_runs == [piece]:
            whole, segments = split_segments(piece)
            if not segments:
                return tuple([term for term, *_ in self._derive(piece)])
            return (*whole, *chain.from_iterable(map(self.pieces.__getitem__, segments)))
        return tuple(chain.from_iterable(map(self.pieces.__getitem__, found_runs)))

    def _derive(self, run: str) -> list[Term]:
        terms = derive_terms(run, self.words.__getitem__, self.pairs)
        if len(run) * MOST_GROWTH <= LONGEST_TERM:
            return terms
        return [(_shorten(term), start, end, kind) for term, start, end, kind in terms]

    def forms(self, word: str) -> tuple[str, ...]:
        """Return the terms of a plain word.

        A stemmer expects the marks of its language, but people omit them; where the order of stemming and
        stripping marks matters (aimée → aim, aimee → aime) both are terms, so either spelling finds the other.
        """
        folded = fold(word.translate(_TURKISH) if self.turkish else word)
        if folded.isascii():
            return (self.stem(folded),)
        plain = strip_points(folded)
        forms = [strip_marks(self.stem(form)) for form in (folded, plain)] + [self.stem(strip_marks(plain))]
        return tuple(dict.fromkeys(forms))


# Characters that are part of no run, whatever surrounds them.
_SEPARATORS = {ord(c): " " for c in '"()[]{}<>*;!?|=`~%$^'}
_RARE = tuple(map(chr, _SEPARATORS))
# Marks that join nothing here, so that a word is the same piece with and without them.
_MARKS = (". ", ", ", ": ", ".\n", ",\n", ":\n", " '", "' ")
_TURKISH = {ord("I"): "ı", ord("İ"): "i"}


@lru_cache(16)
def _extractor(analyser: Analyser) -> _TermExtractor:
    return _TermExtractor(analyser)


def _stemmer(language: str) -> Callable[[str], str]:
    import Stemmer

    stem = Stemmer.Stemmer(language, 0).stemWord
    lock = Lock()  # a Snowball stemmer keeps state; it runs on cache misses only, so one lock costs nothing

    def locked(word: str) -> str:
        with lock:
            stemmed: str = stem(word)
        return stemmed

    return locked


def _shorten(term: str) -> str:
    """Cut a long term and end it in a digest of all of it, so that two are equal only if the originals are."""
    if len(term) <= LONGEST_TERM:
        return term
    tail = hashlib.blake2b(term.encode(), digest_size=12).hexdigest()
    return f"{term[: LONGEST_TERM - 25]}~{tail}"
