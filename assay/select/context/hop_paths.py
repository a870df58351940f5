"""Hop paths: from a sentence that names something of the query, over another name in it, to sentences about that name.

"What is the contract code of the subcontractor on Project Tall Verge?" shares no word with "Legal keeps Corvid
Biometrics under CTR-64678". The way leads over "Outside help for Project Tall Verge comes from Corvid Biometrics": it
names Corvid Biometrics, whose document is in the pool. The query is written anew with each such name in the place of
its own ("What is the contract code of the subcontractor on corvid biometrics?"), and the sentences about the name are
scored by it.

    name      a run of capitalised words, an identifier or a compound word (sable-loader) in a sentence
    source    a sentence that has a name of the query, in its text or header; on a second hop, one about the first name
    target    a sentence under a header that has a name of a source; headers with a name of the query are no targets
    bonus     of a target: closeness(its name) · closeness(the target among those of its name), of the source that leads
              to it: closeness(its name);  closeness = exp((score − best score) / TEMPERATURE)
    need      every bonus is multiplied by how much better the best target fits its query than the best source fits the
              query itself: clip((best target − best source) / NEED + ½, 0, 1). A question that a sentence with its own
              names answers needs no hop.

A path of two hops counts with both of its sources. Each name has one source: of those that hold it, the one with the
best score for the query. A name in more than COMMON of the sentences is a common word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.select.context.candidates import SentencePool
from assay.text.names import find_names, fold_words
from assay.text.normalisation import normalise
from assay.types import Floats

MOST_NAMES = 24
"""Names that are followed: those of the best candidates, first hops first."""
MOST_TARGETS = 96
"""Sentences that are scored as targets: those of the first names."""
COMMON, LEAST_COMMON = 0.3, 6
TEMPERATURE = 0.08
NEED = 0.1

QueriesScorer = Callable[[Sequence[str], Sequence[str]], Floats]
"""(queries, sentences) → one line of scores for each query."""


@dataclass(frozen=True, slots=True, eq=False)
class HopName:
    """A name that leads on: the sentences that have it, those about it, and the name of the hop before, -1 for none."""

    name: str
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    before: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class HopBonus:
    """What each sentence gains as a part of a path, from 0 to 1, and the name of that path."""

    values: Floats
    names: tuple[str, ...]


def score_hops(query: str, pool: SentencePool, direct: Floats, scorer: QueriesScorer) -> HopBonus | None:
    """Score the paths of a query through a pool; None where there are none. `direct` scores sentences for the query."""
    own, start, names = find_hop_names(query, pool)
    if not names:
        return None
    every = sorted({target for name in names for target in name.targets})
    scores = scorer(
        [rewrite_query(query, own, name.name) for name in names], [pool.sentences[place].text for place in every]
    )
    column = {place: i for i, place in enumerate(every)}
    by_name = [scores[line][[column[place] for place in name.targets]] for line, name in enumerate(names)]
    best = max(float(line.max()) for line in by_name)
    need = min(max((best - float(direct[start].max())) / NEED + 0.5, 0.0), 1.0)
    return _share_bonus(names, by_name, direct, need) if need > 0.0 else None


def _share_bonus(names: Sequence[HopName], by_name: Sequence[Floats], direct: Floats, need: float) -> HopBonus:
    """Give every target and source of a path its bonus; a sentence on several paths has the largest."""
    best = max(float(scores.max()) for scores in by_name)
    values, labels = np.zeros(len(direct)), [""] * len(direct)

    def give(place: int, value: float, name: str) -> None:
        if value > values[place]:
            values[place], labels[place] = value, name

    for one, scores in zip(names, by_name, strict=True):
        top = float(scores.max())
        strength = need * float(np.exp((top - best) / TEMPERATURE))
        for place, score in zip(one.targets, scores.tolist(), strict=True):
            give(place, strength * float(np.exp((score - top) / TEMPERATURE)), one.name)
        step: HopName | None = one
        while step is not None:
            source = max(step.sources, key=lambda place: (direct[place], -place))
            give(source, strength, one.name)
            step = names[step.before] if step.before >= 0 else None
    return HopBonus(values, tuple(labels))


def find_hop_names(query: str, pool: SentencePool) -> tuple[list[str], list[int], list[HopName]]:
    """The query's own names, the sentences with one of them, and the names that lead on from there in two hops."""
    texts = [fold_words(sentence.text) for sentence in pool.sentences]
    headers = [fold_words(heading) for heading in pool.headings]
    found = [find_names(sentence.text) for sentence in pool.sentences]
    asked = fold_words(query)
    own = [name for name in dict.fromkeys(name for names in found for name in names) if f" {name} " in asked]
    own = _drop_parts([*own, *(name for name in find_names(query) if f" {name} " in asked)])
    if not own:
        return [], [], []
    holds = [any(f" {name} " in text for name in own) for text in texts]
    headed = [any(f" {name} " in header for name in own) for header in headers]
    start = [i for i, sentence in enumerate(pool.sentences) if holds[i] or headed[sentence.candidate]]
    names: list[HopName] = []
    used = {*own}
    frontier = [(place, -1) for place in start]
    for _ in range(2):
        sources: dict[str, list[tuple[int, int]]] = {}
        for place, before in frontier:
            for name in found[place]:
                if name not in used and not any(f" {name} " in f" {one} " for one in own):
                    sources.setdefault(name, []).append((place, before))
        first = len(names)
        for name, places in sources.items():
            key = f" {name} "
            if len(names) >= MOST_NAMES or sum(key in text for text in texts) > max(LEAST_COMMON, COMMON * len(texts)):
                continue
            targets = tuple(
                i
                for candidate, span in enumerate(pool.ranges)
                if key in headers[candidate] and not headed[candidate]
                for i in span
            )
            if targets and sum(len(one.targets) for one in names) + len(targets) <= MOST_TARGETS:
                used.add(name)
                names.append(HopName(name, tuple(dict.fromkeys(place for place, _ in places)), targets, places[0][1]))
        frontier = [(place, number) for number in range(first, len(names)) for place in names[number].targets]
    return own, start, names


def _drop_parts(names: Iterable[str]) -> list[str]:
    """Names that are no part of another one, longest first."""
    kept: list[str] = []
    for name in sorted(dict.fromkeys(names), key=lambda name: (-len(name), name)):
        if not any(f" {name} " in f" {other} " for other in kept):
            kept.append(name)
    return kept


def rewrite_query(query: str, own: Sequence[str], name: str) -> str:
    """A query with a name in the place of its own names; in front of it where none is spelt as in the query."""
    text = normalise(query)
    for one in own:
        text = re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", lambda _: name, text)
    return text if name in text else f"{name} {text}"
