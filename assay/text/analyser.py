"""Text to terms: the one analyser for the index, the tail, queries and highlights.

    terms(text)        what a chunk is indexed under: in order, repeated as they occur
    query_terms(text)  what a query looks for: unique, sorted, without closed-class words such as "the"
    spans(text)        the terms with their places in the original text; the same multiset as `terms`

Stop words are indexed, so that a query made of nothing else ("to be or not to be") still finds its text, but
dropped from other queries: they decide nothing and cost most of the time of a search. A word written in
capitals in a query that is not all capitals is a name (US, WHO), never a stop word, except AND, OR and NOT.

Unspaced scripts are indexed by overlapping pairs of characters and by single characters; a query uses pairs,
and single characters only for a run of one. `cjk = "unigram"` uses single characters throughout.

No term holds white space, a NUL or a lone surrogate, none is longer than 128 characters, any string is legal.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from threading import Lock

from assay.errors import ConfigError, nearest
from assay.text.fold import bare, fold, normal, unpointed
from assay.text.identifiers import identifiers
from assay.text.memo import Memo
from assay.text.shapes import Term, is_plain, segments, shape
from assay.text.tokenise import pattern, runs

__all__ = ["Analyser", "identifiers", "normal"]

VERSION = 1  # raise it when the same text gives other terms, so that the digest changes
LONGEST_TERM = 128  # characters
MOST_GROWTH = 18  # no character folds to more characters than that (ﷺ, before its spaces go)
SHAPES = 1 << 14  # words remembered with their places: highlights and queries read few texts
CHOICES = {"cjk": ("bigram", "unigram"), "stop": ("language", "none")}
_OPERATORS = frozenset({"AND", "OR", "NOT"})


@dataclass(frozen=True, slots=True)
class Analyser:
    """How a store reads words. Its fields are its config; stores remember them.

    language  a Snowball algorithm ("english", "german", …) or "none"
    stem      whether plain words are stemmed; identifiers never are
    cjk       "bigram" | "unigram": how scripts without spaces are cut
    stop      "language" | "none": which words queries leave out
    """

    language: str = "english"
    stem: bool = True
    cjk: str = "bigram"
    stop: str = "language"

    def __post_init__(self) -> None:
        known = languages()
        if self.language not in known:
            raise ConfigError(f"no stemmer for language {self.language!r}", nearest(self.language, known))
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ConfigError(f"analyser: {name} = {value!r}", nearest(str(value), allowed))

    @property
    def digest(self) -> str:
        """Identifies what this analyser does to text: equal digests give equal terms under one Snowball release."""
        import Stemmer  # another release may stem differently, so its version is part of what we are

        said = {"version": VERSION, "stemmer": Stemmer.version() if self.stem else "", **asdict(self)}
        config = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(config.encode()).hexdigest()

    def terms(self, text: str) -> list[str]:
        """The terms of a text, in order, repeated as they occur."""
        return _engine(self).terms(text)

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms a query looks for, sorted."""
        found = [(term, text[start:end]) for term, start, end, inner in _engine(self).spans(text) if not inner]
        stop = stop_words(self.language) if self.stop == "language" else frozenset()
        shouted = not any(map(str.islower, text))
        wanted = {term for term, surface in found if not _is_stop(surface, stop, shouted)}
        return sorted(wanted or {term for term, _ in found})

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """The terms of a text with their (start, end) in characters of that text."""
        return [(term, start, end) for term, start, end, _ in _engine(self).spans(text)]


def languages() -> frozenset[str]:
    """Every language an analyser can have."""
    import Stemmer

    return frozenset({"none", *Stemmer.algorithms()})


@cache
def stop_words(language: str) -> frozenset[str]:
    """The closed-class words of a language: articles, pronouns, prepositions, auxiliaries. Empty where unknown."""
    for line in files("assay.text").joinpath("data/stop.txt").read_text("utf-8").splitlines():
        name, *words = line.split()
        if name == language:
            return frozenset(bare(fold(word)) for word in words)
    return frozenset()


def _is_stop(surface: str, stop: frozenset[str], shouted: bool) -> bool:
    word = bare(fold(surface))
    if word not in stop and not stop.issuperset(word.split("'")):  # qu'il is one because qu and il are
        return False
    return shouted or len(surface) == 1 or not surface.isupper() or surface in _OPERATORS


class _Engine:
    """The moving parts of one configuration: its stemmer and its memories, shared by all threads."""

    def __init__(self, analyser: Analyser) -> None:
        self.pairs = analyser.cjk == "bigram"
        self.turkish = analyser.language == "turkish"
        self.stem = _stemmer(analyser.language) if analyser.stem and analyser.language != "none" else str
        self.pieces: Memo[str, tuple[str, ...]] = Memo(self._piece)
        self.words: Memo[str, tuple[str, ...]] = Memo(self.forms, SHAPES)
        self.shapes: Memo[str, list[Term]] = Memo(self._shape, SHAPES)

    def terms(self, text: str) -> list[str]:
        # No run crosses white space, so the terms of a text are those of its pieces, and most pieces come back,
        # the more so without the punctuation around them.
        text = f"{text} "  # so that the last mark stands before white space like the others
        if text.isascii():
            text = text.translate(_SEPARATORS)
        else:
            for mark in _RARE:
                text = text.replace(mark, " ")
        for mark in _MARKS:
            text = text.replace(mark, " ")
        return list(chain.from_iterable(map(self.pieces.__getitem__, text.split())))

    def spans(self, text: str) -> list[Term]:
        found: list[Term] = []
        for run in pattern(text).finditer(text):
            at = run.start()
            found += [(term, at + start, at + end, inner) for term, start, end, inner in self.shapes[run[0]]]
        return found

    def _piece(self, piece: str) -> tuple[str, ...]:
        if piece.isascii() and is_plain(piece):
            return self.forms(piece) if len(piece) <= LONGEST_TERM else (_shortened(*self.forms(piece)),)
        found = runs(piece)
        if found == [piece]:
            whole, found = segments(piece)
            if not found:
                return tuple([term for term, *_ in self._shape(piece)])
            return (*whole, *chain.from_iterable(map(self.pieces.__getitem__, found)))
        return tuple(chain.from_iterable(map(self.pieces.__getitem__, found)))

    def _shape(self, run: str) -> list[Term]:
        found = shape(run, self.words.__getitem__, self.pairs)
        if len(run) * MOST_GROWTH <= LONGEST_TERM:
            return found
        return [(_shortened(term), start, end, inner) for term, start, end, inner in found]

    def forms(self, word: str) -> tuple[str, ...]:
        """The terms of a plain word.

        A stemmer knows the marks of its language, but readers leave them out; where the order of stemming and
        baring matters (aimée → aim, aimee → aime) both are terms, so either spelling finds the other.
        """
        folded = fold(word.translate(_TURKISH) if self.turkish else word)
        if folded.isascii():
            return (self.stem(folded),)
        plain = unpointed(folded)
        found = [bare(self.stem(form)) for form in (folded, plain)] + [self.stem(bare(plain))]
        return tuple(dict.fromkeys(found))


# Characters that are part of no run, whatever stands beside them.
_SEPARATORS = {ord(c): " " for c in '"()[]{}<>*;!?|=`~%$^'}
_RARE = tuple(map(chr, _SEPARATORS))
# Marks that join nothing where they stand, so that a word is the same piece with and without them.
_MARKS = (". ", ", ", ": ", ".\n", ",\n", ":\n", " '", "' ")
_TURKISH = {ord("I"): "ı", ord("İ"): "i"}


@lru_cache(16)
def _engine(analyser: Analyser) -> _Engine:
    return _Engine(analyser)


def _stemmer(language: str) -> Callable[[str], str]:
    import Stemmer

    stem = Stemmer.Stemmer(language, 0).stemWord
    lock = Lock()  # a Snowball stemmer keeps state; it runs on cache misses only, so one lock costs nothing

    def locked(word: str) -> str:
        with lock:
            found: str = stem(word)
        return found

    return locked


def _shortened(term: str) -> str:
    """A long term ends in a digest of all of it, so that two are equal only if the originals are."""
    if len(term) <= LONGEST_TERM:
        return term
    tail = hashlib.blake2b(term.encode(), digest_size=12).hexdigest()
    return f"{term[: LONGEST_TERM - 25]}~{tail}"
