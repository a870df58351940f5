"""Policies of a department: three versions per region and a contradictory draft."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from random import Random

from assay.bench.rb006.world.facts import Fact
from assay.bench.rb006.world.organisation import (
    DRAFT,
    REGIONS,
    VERSIONS,
    Department,
    PolicyEdition,
    format_day,
    month_day,
)
from assay.bench.rb006.world.templates import PolicyItem, TemplateSet

TOPICS = 2
"""Policy topics per department."""


def add_policies(state: Department, random: Random, templates: TemplateSet) -> None:
    """Add all policies. The values of an item differ between all versions, regions and the draft."""
    for topic in random.sample(sorted(templates.policies), TOPICS):
        days = [month_day(first + random.randrange(5), 1) for first in (0, 8, 16)]
        draft_day = days[2] - timedelta(days=random.randint(20, 60))
        draft_region = random.choice(REGIONS)
        items = tuple((item, random.choice(item.names)) for item in templates.policies[topic])
        values = {item.names[0]: _draw_values(random, item, templates.words["approver"]) for item, _ in items}
        for region_place, region in enumerate(REGIONS):
            subject = f"policy:{state.index}:{topic}:{region}"
            state.labels[subject] = f"{state.name} {topic} policy, {region}"
            for place, (version, day) in enumerate(zip(VERSIONS, days, strict=True)):
                end = days[place + 1] if place + 1 < len(days) else None
                cells = {name: drawn[place * len(REGIONS) + region_place] for name, drawn in values.items()}
                _add_edition(state, PolicyEdition(subject, topic, region, version, day, items), end, cells)
            if region == draft_region:
                cells = {name: drawn[-1] for name, drawn in values.items()}
                _add_edition(state, PolicyEdition(subject, topic, region, DRAFT, draft_day, items), days[2], cells)


def _add_edition(state: Department, edition: PolicyEdition, end: date | None, values: Mapping[str, str]) -> None:
    state.editions.append(edition)
    cells = {"effective": format_day(edition.day), **values}
    for attribute, value in cells.items():
        state.facts.add(Fact(edition.subject, attribute, value, edition.day, end, edition.version))


def _draw_values(random: Random, item: PolicyItem, approvers: tuple[str, ...]) -> list[str]:
    """Draw ten different values: three versions for three regions, and a draft."""
    if item.kind == "amount":
        return [f"EUR {5 * number}" for number in random.sample(range(7, 90), 10)]
    if item.kind == "period":
        return [f"{number} days" for number in random.sample(range(5, 95), 10)]
    if item.kind == "share":
        return [f"{number}%" for number in random.sample(range(11, 95), 10)]
    return random.sample(approvers, 10)
