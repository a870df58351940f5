"""Frozen suites: a world whose queries were fixed before any retriever was run on them.

The file of a suite names a template set and a seed, holds the queries that people wrote by hand, and the digest of all
queries with their gold. A hand-written query replaces the template's text and keeps the facts that were bound; the file
has a digest of those facts, so a text can never be attached to other evidence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Final

from assay.bench.rb006.world import STAGES, Base, World, build_world
from assay.bench.rb006.world.queries import WorldQuery
from assay.errors import ConfigError
from assay.types import Progress

ADVERSARIAL_SHARE = 5
"""One query in five counts as adversarial, chosen evenly from those that an injector makes hard."""
HANDWRITTEN: Final = "handwritten"


@dataclass(frozen=True, slots=True)
class HandwrittenQuery:
    """What a person wrote, and the digest of the facts that answer it."""

    facts: str
    text: str


@dataclass(frozen=True, slots=True)
class FrozenSuite:
    """A suite as it is stored. `sha256` is the digest of its queries and their gold."""

    templates: str
    seed: int
    frozen_on: str
    sha256: str
    handwritten: Mapping[str, HandwrittenQuery]


def read_suite(name: str) -> FrozenSuite | None:
    """Read the suite of a template set; None where the set has no frozen suite."""
    file = resources.files("assay.bench.rb006") / "suites" / f"{name}.json"
    if not file.is_file():
        return None
    stored: dict[str, Any] = json.loads(file.read_text())
    texts = {row["id"]: HandwrittenQuery(row["facts"], row["text"]) for row in stored.pop("handwritten")}
    return FrozenSuite(**stored, handwritten=texts)


def build_suite_world(
    suite: FrozenSuite,
    scale: int,
    *,
    stages: Sequence[int] = STAGES,
    base: Base = "simulated",
    progress: Progress | None = None,
) -> World:
    """Build the world of a frozen suite, and check that its queries are the frozen ones."""
    built = build_world(suite.seed, suite.templates, scale, stages=stages, base=base, progress=progress)
    world = attach_handwritten(built, suite)
    found = digest_queries(world.queries)
    if found != suite.sha256:
        raise ConfigError(
            f"the queries of the suite {suite.templates!r} have the digest {found[:12]}, not {suite.sha256[:12]}",
            "the generator or its templates changed after the suite was frozen: undo that change, "
            "or freeze a new suite with a new seed and unused templates",
        )
    return world


def attach_handwritten(world: World, suite: FrozenSuite) -> World:
    """Replace the texts of the hand-written queries, and set the source of every query."""
    queries = []
    for query in world.queries:
        written = suite.handwritten.get(query.id)
        if written is None:
            queries.append(query)
            continue
        if digest_facts(query) != written.facts:
            raise ConfigError(
                f"the hand-written query {query.id} belongs to other facts than those of this world",
                f"build the suite {suite.templates!r} with its seed {suite.seed} and unchanged templates",
            )
        queries.append(replace(query, text=written.text, template=HANDWRITTEN, source=HANDWRITTEN))
    missing = sorted(suite.handwritten.keys() - {query.id for query in queries})
    if missing:
        raise ConfigError(f"the world has no query {missing[0]}", f"build it with the seed {suite.seed}")
    return replace(world, queries=_set_sources(queries))


def _set_sources(queries: Sequence[WorldQuery]) -> tuple[WorldQuery, ...]:
    """Call a fifth of the queries adversarial, evenly from those with an injector."""
    hard = [query.id for query in queries if query.injector and query.source != HANDWRITTEN]
    wanted = min(len(queries) // ADVERSARIAL_SHARE, len(hard))
    chosen = {hard[place * len(hard) // wanted] for place in range(wanted)}
    return tuple(
        query
        if query.source == HANDWRITTEN
        else replace(query, source="adversarial" if query.id in chosen else "anchored")
        for query in queries
    )


def digest_facts(query: WorldQuery) -> str:
    """The digest of what a query is about: its archetype, its facts and, out of scope, the words of its template."""
    facts = [[group.hop, *map(str, group.fact)] for group in query.groups]
    about = query.text if not facts else ""
    return _digest([query.archetype, facts, about])[:16]


def digest_queries(queries: Iterable[WorldQuery]) -> str:
    """The digest of queries, tags and gold sentences: what must not change after a suite was frozen."""
    return _digest(
        [
            [
                query.id,
                query.text,
                list(query.tags),
                query.kind,
                query.stage,
                query.source,
                [[g.hop, g.value, [[s.id, s.text] for s in g.sentences]] for g in query.groups],
            ]
            for query in queries
        ]
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
