"""Queries that repeat words of a sentence: keywords, a phrase of it, the sentence without its telling words.

Each sentence serves one kind, so that no two queries ask the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from assay.bench.synth.generated import Made, drawn
from assay.bench.synth.library import Library
from assay.bench.synth.plain import Sentence, Word, typed
from assay.bench.synth.round_robin import spread

KINDS = ("keywords", "phrase", "masked")
FEWEST_KEYWORDS, MOST_KEYWORDS = 3, 5
MANY = 100
"""Among so many documents a word that stands in one only is more often misspelt than telling."""
COMMON = 0.2
"""A word in more than this share of the documents is no keyword."""
PHRASE = (4, 7)
MASKED_WORDS = 12
MASKED = 2
_ARTICLES = ("a", "an", "the")


def keywords(library: Library, seed: int) -> Iterator[Made]:
    """The rarest words of a sentence, in its order: as few as identify it, three to five."""
    for sentence in _drawn(library, seed, "keywords"):
        for number in range(FEWEST_KEYWORDS, MOST_KEYWORDS + 1):
            chosen = rarest(library, library.words(sentence.plain), number)
            if len(chosen) == number and (made := _made(library, "keywords", typed(chosen), sentence)):
                yield made
                break


def phrase(library: Library, seed: int) -> Iterator[Made]:
    """Some words of a sentence in a row, from one telling word to another."""
    for sentence in _drawn(library, seed, "phrase"):
        words = library.words(sentence.plain)
        runs = [
            words[start : start + size]
            for size in range(PHRASE[0], PHRASE[1] + 1)
            for start in range(len(words) - size + 1)
            if _is_phrase(sentence.plain, words[start : start + size])
        ]
        runs.sort(key=lambda run: drawn(seed, "phrase", typed(run)))
        for run in runs[:8]:
            if made := _made(library, "phrase", typed(run), sentence):
                yield made
                break


def masked(library: Library, seed: int) -> Iterator[Made]:
    """A sentence as one half remembers it: its two rarest words are gone, and it is cut short."""
    for sentence in _drawn(library, seed, "masked"):
        words = library.words(sentence.plain)
        gone = rarest(library, words, MASKED)
        forgotten = {word.start for word in gone} | {
            a.start for a, b in pairwise(words) if b in gone and a.text in _ARTICLES
        }
        left = [word for word in words if word.start not in forgotten][:MASKED_WORDS]
        while left and left[-1].stop:
            left.pop()
        content = sum(not word.stop for word in left)
        if len(gone) == MASKED and content >= 4 and (made := _made(library, "masked", typed(left), sentence)):
            yield made


def rarest(library: Library, words: list[Word], number: int) -> list[Word]:
    """The words of a sentence that stand in the fewest documents, in the order of the sentence, each once."""
    most = max(COMMON * len(library.documents), 2)
    rated: dict[str, tuple[int, int, Word]] = {}
    for place, word in enumerate(words):
        if not word.telling:
            continue
        frequency = library.frequency(word.text)
        if 0 < frequency <= most:
            stem = " ".join(library.analyser.query_terms(word.text))
            rated.setdefault(stem, (frequency, place, word))
    # Frequencies by powers of two; of equals the longer word, which is more often a noun than a verb. Words of one
    # document come last: they are often misspelt, and a query of nothing else would need no ranking.
    ranked = sorted(rated.values(), key=lambda one: (one[0].bit_length(), -len(one[2].text), one[1]))
    odd = [one for one in ranked if one[0] == 1 and len(library.documents) < MANY]
    chosen = ([one for one in ranked if one[0] > 1] + odd)[:number]
    return [word for _, _, word in sorted(chosen, key=lambda one: one[1])]


def _is_phrase(text: str, run: list[Word]) -> bool:
    """Begins and ends with a telling word, and nothing but blanks stands between its words."""
    if run[0].stop or run[-1].stop or sum(not word.stop for word in run) < 3:
        return False
    return all(text[a.end : b.start] == " " for a, b in pairwise(run))


def _drawn(library: Library, seed: int, kind: str) -> Iterator[Sentence]:
    mine = [s for s in library.own_sentences if KINDS[drawn(0, "share", s.plain) % len(KINDS)] == kind]
    return spread(mine, lambda s: (str(s.document), s.plain), seed, kind)


def _made(library: Library, kind: str, text: str, sentence: Sentence) -> Made | None:
    relevant = library.judged(text, sentence.document)
    return Made(kind, text, relevant) if relevant else None
