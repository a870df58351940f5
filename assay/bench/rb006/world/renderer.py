"""Renders plans into chunks of 40 to 90 tokens: fact sentences with filler between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from assay.bench.rb006.world.documents import DocumentPlan, Statement, WorldChunk, WorldSentence
from assay.bench.rb006.world.facts import FactKey
from assay.bench.rb006.world.streams import derive_id, open_stream
from assay.bench.rb006.world.templates import TemplateSet
from assay.errors import AssayError
from assay.text.token_count import count_tokens

LEAST_TOKENS, MOST_TOKENS = 40, 90
_TARGETS = (46, 78)  # the random fill of a chunk lies between these
_FILLER_SHARE = 0.7  # chunks that get a filler sentence although they are long enough

_Piece = tuple[str, tuple[FactKey, ...]]


@dataclass(frozen=True)
class Renderer:
    """Turns document plans into chunks with one template set. Each document has its own random stream."""

    seed: int
    templates: TemplateSet

    def render(self, plan: DocumentPlan, people: tuple[str, ...]) -> Iterator[WorldChunk]:
        """Render a document; `people` are names that filler sentences may mention."""
        stream = open_stream(self.seed, "document", plan.style or plan.key)
        fillers = _Fillers(stream, self.templates, people)
        title = fillers.fill_slots(stream.choice(self.templates.titles[plan.kind]), plan.slots)
        document, number = derive_id(self.seed, "id", plan.key), 0
        for section, statements in plan.sections:
            fillers.choose(plan.filler, section)
            pieces = [(self._phrase(stream, statement), statement.facts) for statement in statements]
            for chunk in _pack(stream, pieces, fillers):
                yield _join(f"d{document}-{number:02d}", title, section, plan, chunk)
                number += 1

    def _phrase(self, stream: Random, statement: Statement) -> str:
        """Choose a frame and fill its slots."""
        slots = dict(statement.slots)
        for name in ("value", "symptom", "task", "item"):
            if name in slots:
                slots[f"{name}_start"] = capitalise(slots[name])
        if "item" in slots:
            slots["Item"] = slots["item_start"]
        return stream.choice(self.templates.frames[statement.archetype]).format(**slots)


class _Fillers:
    """Filler sentences of one document: each template once before any repeats."""

    def __init__(self, stream: Random, templates: TemplateSet, people: tuple[str, ...]) -> None:
        self.stream, self.words, self.people = stream, templates.words, people
        self.table = templates.fillers
        self.pool: tuple[str, ...] = ()
        self.waiting: list[str] = []

    def choose(self, kind: str, section: str) -> None:
        """Take the fillers of this section of this kind of document, or else those of the kind."""
        pool = self.table.get(f"{kind}/{section}", self.table[kind])
        if pool is not self.pool:
            self.pool, self.waiting = pool, []

    def next(self) -> str:
        if not self.waiting:
            self.waiting = self.stream.sample(self.pool, len(self.pool))
        return self.fill_slots(self.waiting.pop(), {})

    def fill_slots(self, text: str, slots: Mapping[str, str]) -> str:
        if "{" not in text:
            return text
        person, other = self.stream.sample(self.people, 2)
        words = {name: self.stream.choice(self.words[name]) for name in ("weekday", "room", "thing", "mood")}
        return text.format(**{**words, "person": person, "person2": other, **slots})


def _pack(stream: Random, pieces: list[_Piece], fillers: _Fillers) -> Iterator[list[_Piece]]:
    """Cut the sentences of a section into chunks and fill them up with filler."""
    chunk: list[_Piece] = []
    target = stream.randint(*_TARGETS)
    for piece in pieces:
        if chunk and _count([*chunk, piece]) > target:
            yield _pad(stream, chunk, fillers)
            chunk, target = [], stream.randint(*_TARGETS)
        chunk.append(piece)
    yield _pad(stream, chunk, fillers)


def _pad(stream: Random, chunk: list[_Piece], fillers: _Fillers) -> list[_Piece]:
    """Add filler sentences until the chunk is long enough, and often one more."""
    wanted = stream.random() < _FILLER_SHARE
    for _ in range(64):
        short = _count(chunk) < LEAST_TOKENS
        if not short and not wanted:
            return chunk
        place = stream.randint(0, len(chunk))
        longer = [*chunk[:place], (fillers.next(), ()), *chunk[place:]]
        if _count(longer) <= MOST_TOKENS:
            chunk = longer
        if not short:
            return chunk
    raise AssayError("a chunk cannot be filled", f"write shorter filler sentences: {LEAST_TOKENS} to {MOST_TOKENS}")


def _count(chunk: list[_Piece]) -> int:
    return count_tokens(" ".join(text for text, _ in chunk))


def _join(chunk_id: str, title: str, section: str, plan: DocumentPlan, pieces: list[_Piece]) -> WorldChunk:
    sentences: list[WorldSentence] = []
    at = 0
    for place, (sentence, facts) in enumerate(pieces):
        tokens = count_tokens(sentence) if facts else 0
        end = at + len(sentence)
        sentences.append(WorldSentence(f"{chunk_id}.{place}", chunk_id, at, end, sentence, tokens, facts))
        at = end + 1
    text = " ".join(sentence for sentence, _ in pieces)
    tokens = count_tokens(text)
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise AssayError(f"chunk {chunk_id} of {plan.key} has {tokens} tokens", "write shorter sentence frames")
    return WorldChunk(chunk_id, title, section, plan.day, plan.version, text, tokens, tuple(sentences))


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
