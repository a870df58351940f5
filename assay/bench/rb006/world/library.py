"""Departments on demand: simulated, rendered, and indexed from fact to the sentences that state it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from assay.bench.rb006.world.documents import WorldChunk, WorldSentence
from assay.bench.rb006.world.facts import Fact, FactKey
from assay.bench.rb006.world.organisation import Department, department_of
from assay.bench.rb006.world.plans import plan_documents, plan_routine_mails
from assay.bench.rb006.world.renderer import Renderer
from assay.bench.rb006.world.simulation import simulate_department
from assay.bench.rb006.world.templates import TemplateSet

CHUNKS_PER_DEPARTMENT = 500
"""Every department has exactly this many chunks, so that the place of any department is known without the others."""


def render_department(seed: int, templates: TemplateSet, state: Department) -> Iterator[WorldChunk]:
    """Render a department: documents with facts first, then routine mails up to its size.

    A document that no longer fits is left out as a whole, so a few facts of a busy department stand nowhere.
    """
    renderer = Renderer(seed, templates)
    people = tuple(state.labels[person] for person in state.people)
    number = 0
    for plan in plan_documents(state):
        document = list(renderer.render(plan, people))
        if number + len(document) <= CHUNKS_PER_DEPARTMENT:
            number += len(document)
            yield from document
    mails = chain.from_iterable(renderer.render(plan, people) for plan in plan_routine_mails(state, seed))
    for chunk in mails:
        if number == CHUNKS_PER_DEPARTMENT:
            return
        number += 1
        yield chunk


@dataclass(frozen=True)
class RenderedDepartment:
    """A department and where its facts stand in text."""

    state: Department
    sentences: dict[FactKey, tuple[WorldSentence, ...]]
    titles: dict[str, str]
    """Chunk id → title, of the chunks that state facts."""


class DepartmentLibrary:
    """Simulates and renders departments when they are first needed, and keeps them for the query builder."""

    def __init__(self, seed: int, templates: TemplateSet) -> None:
        self.seed, self.templates = seed, templates
        self._held: dict[int, RenderedDepartment] = {}

    def __getitem__(self, index: int) -> RenderedDepartment:
        if index not in self._held:
            self._held[index] = self._render(index)
        return self._held[index]

    def departments(self) -> list[RenderedDepartment]:
        """The departments rendered so far, in order."""
        return [self._held[index] for index in sorted(self._held)]

    def state_of(self, subject: str) -> Department:
        return self[department_of(subject)].state

    def current(self, subject: str, attribute: str, version: str = "") -> Fact:
        return self.state_of(subject).facts.current(subject, attribute, version)

    def fact(self, key: FactKey) -> Fact:
        return self.state_of(key.subject).facts[key]

    def sentences(self, key: FactKey) -> tuple[WorldSentence, ...]:
        """All sentences of the corpus that state a fact: they are equivalent evidence."""
        return self[department_of(key.subject)].sentences[key]

    def conflicts(self, key: FactKey) -> tuple[WorldSentence, ...]:
        """Sentences that state another value of the same thing: an earlier one, or that of another region or version.

        A sentence that states both values, as a handover does, is no conflict.
        """
        department = self[department_of(key.subject)]
        family = _family(key.subject)
        return tuple(
            sentence
            for other, sentences in department.sentences.items()
            if other != key and other.attribute == key.attribute and _family(other.subject) == family
            for sentence in sentences
            if key not in sentence.facts
        )

    def title(self, sentence: WorldSentence, key: FactKey) -> str:
        return self[department_of(key.subject)].titles[sentence.chunk_id]

    def _render(self, index: int) -> RenderedDepartment:
        state = simulate_department(self.seed, self.templates, index)
        found: dict[FactKey, list[WorldSentence]] = {}
        titles: dict[str, str] = {}
        for chunk in render_department(self.seed, self.templates, state):
            for sentence in chunk.sentences:
                for key in sentence.facts:
                    found.setdefault(key, []).append(sentence)
                    titles[chunk.id] = chunk.title
        return RenderedDepartment(state, {key: tuple(sentences) for key, sentences in found.items()}, titles)


def _family(subject: str) -> str:
    """Policies of one topic are a family over all regions; any other subject stands alone."""
    return subject.rpartition(":")[0] if subject.startswith("policy:") else subject
