"""Writes chosen sentences as the text of a context, and counts its tokens.

    Title › section · version · date
    [1] First sentence. Second sentence. … Fifth sentence.
    [4] A sentence of another chunk under the same header.

    Title of another document
    [2] A sentence.

Chunks are cited by number, in order; chunks with the same header share it, under the first of them. Sentences of a
chunk stand in the order of its text, joined as they are there; `…` marks what is left out between two of them.
Everything in the text counts: headers, citations, separators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.select.context.candidates import SentencePool
from assay.text.token_count import count_tokens
from assay.types import Ints

GAP = " … "
CITATION_TOKENS = 4
"""Tokens of a citation and a line end: `[12] `. An estimate for choosing; the text itself is counted."""


def write_context(pool: SentencePool, chosen: Iterable[int]) -> str:
    """Return the text of the chosen sentences, given by their places in the pool."""
    by_candidate: dict[int, list[int]] = {}
    for place in sorted(chosen):
        by_candidate.setdefault(pool.sentences[place].candidate, []).append(place)
    blocks: dict[str, list[str]] = {}
    for candidate, places in by_candidate.items():
        line = f"[{pool.candidates[candidate].citation}] {join_sentences(pool, places)}"
        blocks.setdefault(pool.headers[candidate], []).append(line)
    return "\n\n".join("\n".join([header, *lines] if header else lines) for header, lines in blocks.items())


def join_sentences(pool: SentencePool, places: Sequence[int]) -> str:
    """The sentences of one candidate: neighbours with what stands between them, others with a gap."""
    text = pool.candidates[pool.sentences[places[0]].candidate].chunk.text
    pieces = []
    for before, place in zip([None, *places], places, strict=False):
        sentence = pool.sentences[place]
        if before is not None:
            pieces.append(text[pool.sentences[before].end : sentence.start] if place == before + 1 else GAP)
        pieces.append(f"{sentence.text} …" if sentence.is_cut else sentence.text)
    return "".join(pieces)


class EmissionCosts:
    """What each sentence would add to the tokens, given those already chosen: an estimate, in whole tokens.

    The first sentence of a chunk also pays for its citation, and for its header unless another chunk brought it.
    """

    def __init__(self, pool: SentencePool) -> None:
        self._candidate_of = pool.candidate_of
        headers = list(dict.fromkeys(pool.headers))
        self._header_of = np.array([headers.index(header) for header in pool.headers], np.int32)
        self._header_tokens = np.array([count_tokens(header) + 2 if header else 1 for header in headers], np.int32)
        self._own = np.array([sentence.tokens + 1 for sentence in pool.sentences], np.int32)
        self._cited = np.zeros(len(pool.candidates), np.bool_)
        self._headed = np.zeros(len(headers), np.bool_)

    def costs(self) -> Ints:
        header_of = self._header_of[self._candidate_of]
        header = np.where(self._headed[header_of], 0, self._header_tokens[header_of])
        costs: Ints = self._own + np.where(self._cited[self._candidate_of], 0, CITATION_TOKENS + header)
        return costs

    def take(self, place: int) -> None:
        """Count a sentence as chosen."""
        candidate = int(self._candidate_of[place])
        self._cited[candidate] = True
        self._headed[self._header_of[candidate]] = True
