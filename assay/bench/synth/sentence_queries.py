"""Queries from the words of a sentence: keywords, a phrase, the sentence without its rarest words.

Each sentence is used for one kind only, so that no two queries ask the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from assay.bench.synth.collection_index import CollectionIndex
from assay.bench.synth.plain_text import Sentence, Word, to_query_text
from assay.bench.synth.round_robin import draw_round_robin
from assay.bench.synth.synthetic_query import SyntheticQuery, seeded_hash

KINDS = ("keywords", "phrase", "masked")
MIN_KEYWORDS, MAX_KEYWORDS = 3, 5
LARGE_COLLECTION = 100
"""In a collection of this size a word of a single document is usually misspelt."""
MAX_DOCUMENT_SHARE = 0.2
"""A word in more than this share of the documents is no keyword."""
PHRASE_WORDS = (4, 7)
MAX_MASKED_QUERY_WORDS = 12
MASKED_COUNT = 2
_ARTICLES = ("a", "an", "the")


def make_keyword_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """The rarest words of a sentence, in order: as few as identify it, three to five."""
    for sentence in _draw_sentences(index, seed, "keywords"):
        for number in range(MIN_KEYWORDS, MAX_KEYWORDS + 1):
            words = select_rarest(index, index.words(sentence.plain), number)
            if len(words) == number and (query := _make_query(index, "keywords", to_query_text(words), sentence)):
                yield query
                break


def make_phrase_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """Consecutive words of a sentence that begin and end with a content word."""
    for sentence in _draw_sentences(index, seed, "phrase"):
        words = index.words(sentence.plain)
        runs = [
            words[start : start + size]
            for size in range(PHRASE_WORDS[0], PHRASE_WORDS[1] + 1)
            for start in range(len(words) - size + 1)
            if _is_phrase(sentence.plain, words[start : start + size])
        ]
        runs.sort(key=lambda run: seeded_hash(seed, "phrase", to_query_text(run)))
        for run in runs[:8]:
            if query := _make_query(index, "phrase", to_query_text(run), sentence):
                yield query
                break


def make_masked_queries(index: CollectionIndex, seed: int) -> Iterator[SyntheticQuery]:
    """A sentence without its two rarest words, cut short, as if half remembered."""
    for sentence in _draw_sentences(index, seed, "masked"):
        words = index.words(sentence.plain)
        masked_words = select_rarest(index, words, MASKED_COUNT)
        masked_starts = {word.start for word in masked_words} | {
            a.start for a, b in pairwise(words) if b in masked_words and a.text in _ARTICLES
        }
        visible = [word for word in words if word.start not in masked_starts][:MAX_MASKED_QUERY_WORDS]
        while visible and visible[-1].stop:
            visible.pop()
        content_words = sum(not word.stop for word in visible)
        if (
            len(masked_words) == MASKED_COUNT
            and content_words >= 4
            and (query := _make_query(index, "masked", to_query_text(visible), sentence))
        ):
            yield query


def select_rarest(index: CollectionIndex, words: list[Word], number: int) -> list[Word]:
    """The words of a sentence with the lowest document frequency, in the order of the sentence, each once."""
    most = max(MAX_DOCUMENT_SHARE * len(index.documents), 2)
    rated: dict[str, tuple[int, int, Word]] = {}
    for place, word in enumerate(words):
        if not word.is_informative:
            continue
        frequency = index.frequency(word.text)
        if 0 < frequency <= most:
            stem = " ".join(index.analyser.query_terms(word.text))
            rated.setdefault(stem, (frequency, place, word))
    # Frequencies count by powers of two; ties go to the longer word, more often a noun than a verb. Words of a single
    # document come last: they are often misspelt, and a query of such words alone would need no ranking.
    ranked = sorted(rated.values(), key=lambda one: (one[0].bit_length(), -len(one[2].text), one[1]))
    singletons = [one for one in ranked if one[0] == 1 and len(index.documents) < LARGE_COLLECTION]
    chosen = ([one for one in ranked if one[0] > 1] + singletons)[:number]
    return [word for _, _, word in sorted(chosen, key=lambda one: one[1])]


def _is_phrase(text: str, run: list[Word]) -> bool:
    """Whether a run begins and ends with a content word and has only blanks between its words."""
    if run[0].stop or run[-1].stop or sum(not word.stop for word in run) < 3:
        return False
    return all(text[a.end : b.start] == " " for a, b in pairwise(run))


def _draw_sentences(index: CollectionIndex, seed: int, kind: str) -> Iterator[Sentence]:
    sentences = [s for s in index.original_sentences if KINDS[seeded_hash(0, "share", s.plain) % len(KINDS)] == kind]
    return draw_round_robin(sentences, lambda s: (str(s.document), s.plain), seed, kind)


def _make_query(index: CollectionIndex, kind: str, text: str, sentence: Sentence) -> SyntheticQuery | None:
    relevant = index.judge_query(text, sentence.document)
    return SyntheticQuery(kind, text, relevant) if relevant else None
