"""Makes the packed context of chosen sentences: its text and tokens, its sources, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.engine.context import ContextSentence, ContextSource, DroppedSentences, PackCandidate, PackedContext
from assay.select.context.candidates import CandidateSentence, SentencePool
from assay.select.context.emission import EmissionCosts, write_context
from assay.text.token_count import count_tokens
from assay.types import Note


@dataclass(frozen=True, slots=True)
class Choice:
    """A sentence that was taken: what it added to the objective and to the tokens, and what it covers."""

    place: int
    gain: float
    cost: int
    covers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Packing:
    """The input of a packer beside the choice of sentences."""

    packer: str
    budget: int
    candidates: Sequence[PackCandidate]
    pool: SentencePool
    notes: tuple[Note, ...] = ()

    def finish(self, choices: Sequence[Choice], why_not: str = "others gained more per token") -> PackedContext:
        """Return the context of the chosen sentences; where none fits, of the beginning of the first one."""
        if not choices and len(self.pool):
            return self._finish_cut()
        by_place = {choice.place: choice for choice in choices}
        text = write_context(self.pool, by_place)
        used = sorted({self.pool.sentences[place].candidate for place in by_place})
        notes = self.notes if len(self.pool) else (*self.notes, _NOTHING)
        return PackedContext(
            text=text,
            tokens=count_tokens(text),
            budget=self.budget,
            packer=self.packer,
            sources=tuple(self._source(place) for place in used),
            sentences=tuple(self._sentence(by_place[place]) for place in sorted(by_place)),
            dropped=self._dropped(by_place, count_tokens(text), why_not),
            notes=notes,
        )

    def _finish_cut(self) -> PackedContext:
        """No whole sentence fits: the first one, cut at a word, or nothing."""
        cut = cut_sentence(self.pool, self.budget)
        if cut is None:
            whole = count_tokens(write_context(self.pool, [0]))
            text = f"nothing fits into {self.budget} tokens: the first sentence and its header take {whole}"
            note = Note("info", text, cure=f"give a budget of {whole} tokens or more")
            dropped = self._dropped({}, 0, "it does not fit")
            return PackedContext("", 0, self.budget, self.packer, dropped=dropped, notes=(*self.notes, note))
        note = Note("info", f"no whole sentence fits into {self.budget} tokens: the first one is cut at a word")
        pool = replace(self.pool, sentences=(cut, *self.pool.sentences[1:]))
        packing = replace(self, pool=pool, notes=(*self.notes, note))
        tokens = count_tokens(write_context(pool, [0]))
        return packing.finish([Choice(0, self.pool.candidates[cut.candidate].score, tokens)], "it does not fit")

    def _source(self, place: int) -> ContextSource:
        candidate = self.pool.candidates[place]
        return ContextSource(candidate.citation, candidate.chunk.id, candidate.chunk.doc_id, self.pool.headers[place])

    def _sentence(self, choice: Choice) -> ContextSentence:
        sentence = self.pool.sentences[choice.place]
        citation = self.pool.candidates[sentence.candidate].citation
        return ContextSentence(
            citation, sentence.start, sentence.end, sentence.text, choice.gain, choice.cost, choice.covers
        )

    def _dropped(self, chosen: Mapping[int, Choice], used: int, why_not: str) -> tuple[DroppedSentences, ...]:
        """The candidates that are not in the context as a whole, with the reason."""
        places = {candidate.citation: place for place, candidate in enumerate(self.pool.candidates)}
        emission = EmissionCosts(self.pool)
        for taken in chosen:
            emission.take(taken)
        costs = emission.costs().tolist()
        dropped = []
        for candidate in self.candidates:
            place = places.get(candidate.citation)
            if place is None:
                why = "its text is the same as that of a candidate before it"
                dropped.append(DroppedSentences(candidate.chunk.id, 1, candidate.chunk.tokens, why))
                continue
            left = [i for i in self.pool.ranges[place] if i not in chosen]
            if not left and self.pool.ranges[place]:
                continue
            fits = used + min((costs[i] for i in left), default=0) <= self.budget
            why = why_not if fits else f"does not fit: {used} of {self.budget} tokens are taken"
            why = why if left else "it has no text"
            tokens = sum(self.pool.sentences[i].tokens for i in left)
            dropped.append(DroppedSentences(candidate.chunk.id, len(left), tokens, why))
        return tuple(dropped)


_NOTHING = Note("info", "there is nothing to put into the context: no candidate has a sentence")


def cut_sentence(pool: SentencePool, budget: int) -> CandidateSentence | None:
    """The first sentence of a pool, cut at a word so that it fits with its header; None when no word does."""
    first = pool.sentences[0]
    ends = [i for i, (a, b) in enumerate(zip(first.text, first.text[1:] + " ", strict=True), 1) if _is_end(a, b)]
    low, high = 0, len(ends)
    while low < high:  # the most words that fit; tokens grow with words, up to a merge at the cut
        middle = (low + high + 1) // 2
        if count_tokens(write_context(_with_first(pool, _cut(first, ends[middle - 1])), [0])) <= budget:
            low = middle
        else:
            high = middle - 1
    return _cut(first, ends[low - 1]) if low else None


def _is_end(character: str, following: str) -> bool:
    """Can a text be cut between these two? After a word; after any character of a script without spaces."""
    return not character.isspace() and (following.isspace() or ord(character) >= 0x2E80)


def _cut(sentence: CandidateSentence, length: int) -> CandidateSentence:
    return replace(sentence, end=sentence.start + length, text=sentence.text[:length], is_cut=True)


def _with_first(pool: SentencePool, first: CandidateSentence) -> SentencePool:
    return replace(pool, sentences=(first, *pool.sentences[1:]))
