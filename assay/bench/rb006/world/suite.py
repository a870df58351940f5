"""Builds the queries of a world: fills the allocation from bindings until every rule holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from assay.bench.rb006.world.binders import Binder, Context
from assay.bench.rb006.world.binders_chain import CHAIN_BINDERS
from assay.bench.rb006.world.binders_impossible import IMPOSSIBLE_BINDERS
from assay.bench.rb006.world.binders_lookup import LOOKUP_BINDERS
from assay.bench.rb006.world.library import CHUNKS_PER_DEPARTMENT, DepartmentLibrary
from assay.bench.rb006.world.names import TICKETS, NameBook
from assay.bench.rb006.world.organisation import department_of
from assay.bench.rb006.world.queries import (
    ALLOCATION,
    TEMPLATE_ARCHETYPES,
    Binding,
    EvidenceGroup,
    QuerySlot,
    WorldQuery,
)
from assay.bench.rb006.world.query_rules import find_query_faults
from assay.bench.rb006.world.renderer import capitalise
from assay.bench.rb006.world.streams import open_stream
from assay.bench.rb006.world.templates import QueryTemplate, TemplateSet
from assay.errors import ConfigError
from assay.types import Progress

LATE_SHARES = (36 / 270, 24 / 270)
"""Shares of the queries with evidence that need the second and the third stage."""
LATE_DEPARTMENTS = (6, 4)
"""How many departments of the second and the third stage have queries."""
MOST_ATTEMPTS = 600
_ATTEMPTS_PER_TEMPLATE = 15
BINDERS: dict[str, Binder] = {**LOOKUP_BINDERS, **CHAIN_BINDERS, **IMPOSSIBLE_BINDERS}


@dataclass(frozen=True, slots=True)
class WorldStage:
    """A size of the corpus. A larger stage holds every chunk of a smaller one."""

    name: str
    chunks: int

    @property
    def departments(self) -> int:
        return self.chunks // CHUNKS_PER_DEPARTMENT


@dataclass(frozen=True)
class SuiteBuilder:
    """Builds the suite. It does not depend on the scale that is written: a suite is the same at every scale."""

    library: DepartmentLibrary
    stages: tuple[WorldStage, ...]
    slots: tuple[QuerySlot, ...] = ALLOCATION

    def build(self, progress: Progress | None = None) -> tuple[WorldQuery, ...]:
        """Build all queries of the allocation; ConfigError if the first stage is too small for one of them."""
        total = sum(slot.number for slot in self.slots)
        queries: list[WorldQuery] = []
        asked: set[object] = set()
        numbers: dict[str, int] = {}
        for slot, stage in self._places():
            number = numbers[slot.binder] = numbers.get(slot.binder, -1) + 1
            queries.append(self._build_query(slot, stage, number, f"q{len(queries) + 1:03d}", asked))
            if progress is not None:
                progress("building queries", len(queries), total)
        return tuple(queries)

    def _places(self) -> Iterator[tuple[QuerySlot, int]]:
        """Every query of the allocation with the stage that its evidence needs, late stages spread evenly."""
        present = sum(slot.number for slot in self.slots if slot.is_present)
        shares = LATE_SHARES[: len(self.stages) - 1]
        late = round(sum(shares) * present)
        pattern = [
            1 if place * shares[0] // sum(shares) != (place + 1) * shares[0] // sum(shares) else 2
            for place in range(late)
        ]
        seen = 0
        for slot in self.slots:
            for _ in range(slot.number):
                if not slot.is_present:
                    yield slot, 0
                    continue
                turn, after = seen * late // present, (seen + 1) * late // present
                seen += 1
                yield slot, pattern[turn] if after > turn else 0

    def _build_query(self, slot: QuerySlot, stage: int, number: int, name: str, asked: set[object]) -> WorldQuery:
        archetype = TEMPLATE_ARCHETYPES.get(slot.binder, slot.binder)
        templates = self.library.templates.queries_of(archetype)
        stream = open_stream(self.library.seed, "query", slot.binder, number)
        for attempt in range(MOST_ATTEMPTS):
            turn = number + attempt // _ATTEMPTS_PER_TEMPLATE
            template = templates[-turn % len(templates)]  # backwards, so that few queries use both splits
            state = self.library[stream.choice(self._pools[stage])].state
            binding = BINDERS[slot.binder](Context(self.library, state, stream))
            if binding is None:
                continue
            query = self._fill(slot, binding, template, name, stage, state.index)
            asks = (archetype, tuple(sorted(group.fact for group in query.groups)))
            repeats = query.text in asked or (bool(query.groups) and asks in asked)
            if repeats or self._is_issued(slot, binding) or find_query_faults(query, self.library):
                continue
            asked |= {query.text, asks}
            return query
        raise ConfigError(
            f"stage {self.stages[stage].name} has no evidence for another {slot.binder!r} query (number {number + 1})",
            "use larger stages, or template sets with more varied frames",
        )

    def _fill(
        self, slot: QuerySlot, binding: Binding, template: QueryTemplate, name: str, stage: int, department: int
    ) -> WorldQuery:
        text = template.text.format(**binding.slots)
        opens_with_phrase = template.text.startswith(("{bridge", "{item", "{attribute"))
        groups = tuple(
            EvidenceGroup(hop, key, self.library.fact(key).value, self.library.sentences(key))
            for hop, key in binding.facts
        )
        last = max((department_of(group.fact.subject) for group in groups), default=0)
        return WorldQuery(
            name,
            capitalise(text) if opens_with_phrase else text,
            slot.tags,
            slot.binder,
            template.id,
            template.split,
            self.stages[stage].name,
            groups,
            slot.kind,
            "adversarial" if binding.injector else "anchored",
            binding.injector,
            max(last, department) if groups else 0,
        )

    @cached_property
    def _pools(self) -> list[Sequence[int]]:
        """Stage → the departments that its queries ask about."""
        pools: list[Sequence[int]] = [range(self.stages[0].departments)]
        for place, (before, stage) in enumerate(pairwise(self.stages)):
            new = range(before.departments, stage.departments)
            stream = open_stream(self.library.seed, "stage", stage.chunks)
            odd = [department for department in new if department % 2]
            number = LATE_DEPARTMENTS[place]
            chosen = stream.sample(odd, min(number // 2, len(odd)))
            rest = [department for department in new if department not in chosen]
            pools.append(sorted(chosen + stream.sample(rest, min(number - len(chosen), len(rest)))))
        return pools

    def _is_issued(self, slot: QuerySlot, binding: Binding) -> bool:
        return slot.binder == "oos_identifier" and binding.slots["ticket"] in self._issued_tickets

    @cached_property
    def _issued_tickets(self) -> frozenset[str]:
        return list_issued_tickets(self.library.seed, self.library.templates)


def list_issued_tickets(seed: int, templates: TemplateSet) -> frozenset[str]:
    """The number of every ticket that any department of the world can have."""
    names = NameBook(seed, templates.words)
    return frozenset(f"TKT-{names.code('ticket', number, 6)}" for number in range(names.capacity * TICKETS))
