"""Finds the excerpt of a text that shows why it matches a query.

`find_excerpt(text, terms, analyser, width)` is the window of at most `width` characters that holds the most distinct
terms of a query, the earliest of equals, extended to sentence boundaries where they fit and to word boundaries
otherwise. Its marks are the places of the terms, as the analyser finds them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection

from assay.text.analyser import Analyser
from assay.text.sentences import split_sentences
from assay.types import Excerpt

LONGEST_WORD = 40  # characters; a longer run without white space may be cut (CJK, base64)
Span = tuple[int, int]
TermSpan = tuple[str, int, int]


def find_excerpt(text: str, terms: Collection[str], analyser: Analyser, width: int) -> Excerpt:
    """Return the best window of a text for the terms of a query; its beginning if it holds none of them."""
    width = max(width, 1)
    wanted = frozenset(terms)
    hits = [hit for hit in analyser.spans(text) if hit[0] in wanted and hit[2] - hit[1] <= width]
    start, end = _snap(text, *_window(hits, width), width)
    inside = [hit for hit in hits if start <= hit[1] and hit[2] <= end]
    return Excerpt(
        text=text[start:end],
        start=start,
        end=end,
        marks=_marks(inside, start),
        terms=tuple(sorted({term for term, _, _ in inside})),
        cut_before=bool(text[:start].strip()),
        cut_after=bool(text[end:].strip()),
    )


def _window(hits: list[TermSpan], width: int) -> Span:
    """From the first to the last hit of the best window: the most distinct terms, the earliest of equals."""
    seen: Counter[str] = Counter()
    entering = sorted(hits, key=lambda hit: hit[2])
    entered = most = best = 0
    for term, start, _ in sorted(hits, key=lambda hit: hit[1]):
        while entered < len(entering) and entering[entered][2] <= start + width:
            seen[entering[entered][0]] += 1
            entered += 1
        if len(seen) > most:
            most, best = len(seen), start
        seen[term] -= 1  # the window moves past this hit
        if not seen[term]:
            del seen[term]
    return best, max((end for _, start, end in hits if start >= best and end <= best + width), default=best)


def _snap(text: str, first: int, last: int, width: int) -> Span:
    """Extend a window to sentences, else to words, without exceeding the width."""
    spans = split_sentences(text)
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    start = starts[max(bisect_right(starts, first) - 1, 0)] if starts else 0
    if start > first or last - start > width:
        spare = width - (last - first)
        start = _word_start(text, first - min(first, spare // 2), first)
    limit = min(start + width, len(text))
    place = bisect_right(ends, limit)
    if place and ends[place - 1] >= last and ends[place - 1] > start:
        return start, ends[place - 1]
    return start, _word_end(text, last, limit)


def _word_start(text: str, earliest: int, latest: int) -> int:
    """The first place from `earliest` on where a word begins, `latest` at most."""
    if earliest == 0 or text[earliest - 1].isspace():
        return earliest
    for place in range(earliest, latest):
        if text[place].isspace():
            return place + 1
    return latest if latest - earliest < LONGEST_WORD else earliest


def _word_end(text: str, earliest: int, latest: int) -> int:
    """The last place up to `latest` where a word ends, `earliest` at least."""
    if latest == len(text) or text[latest].isspace():
        return latest
    for place in range(latest, max(earliest, latest - LONGEST_WORD), -1):
        if text[place - 1].isspace():
            return place - 1
    return latest if latest - earliest >= LONGEST_WORD else earliest


def _marks(hits: list[TermSpan], offset: int) -> tuple[Span, ...]:
    """The places of hits, overlapping ones merged, from `offset` on."""
    merged: list[Span] = []
    for start, end in sorted((start - offset, end - offset) for _, start, end in hits):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
