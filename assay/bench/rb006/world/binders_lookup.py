"""Binders of queries that one fact answers, or one per reading: rules, details, values of a past day."""

from __future__ import annotations

from collections.abc import Mapping

from assay.bench.rb006.world.binders import CURRENT, Binder, Context, choose_edition, choose_past, find_homonyms
from assay.bench.rb006.world.facts import FactKey
from assay.bench.rb006.world.organisation import DRAFT, PolicyEdition
from assay.bench.rb006.world.queries import Binding, Injector


def _ask_policy(context: Context, edition: PolicyEdition) -> tuple[str, str, Injector]:
    """Choose an item of an edition: its attribute, the name a query uses, and the injector that makes it hard."""
    item, written = context.random.choice(edition.items)
    names = [name for name in item.names if name != written]
    synonym = context.random.random() < 0.35
    asked = context.random.choice(names) if synonym else written
    drafted = any(one.subject == edition.subject and one.version == DRAFT for one in context.state.editions)
    injector: Injector = "synonym_tail" if synonym else "contradictory" if drafted else "near_duplicate"
    return item.names[0], asked, injector


def bind_policy_rule(context: Context) -> Binding:
    edition = choose_edition(context)
    attribute, asked, injector = _ask_policy(context, edition)
    slots = {"department": context.state.name, "item": asked, "region": edition.region}
    key = FactKey(edition.subject, attribute, edition.day, edition.version)
    return Binding(slots, ((1, key),), injector)


def bind_policy_ambiguous(context: Context) -> Binding:
    """No region is named: every region's current rule is a reading."""
    edition = choose_edition(context)
    attribute, asked, injector = _ask_policy(context, edition)
    same = [one for one in context.state.editions if one.topic == edition.topic and one.version == CURRENT]
    keys = tuple((1, FactKey(one.subject, attribute, one.day, one.version)) for one in same)
    return Binding({"department": context.state.name, "item": asked}, keys, injector)


def bind_compare_policy(context: Context) -> Binding:
    edition = choose_edition(context)
    attribute, asked, injector = _ask_policy(context, edition)
    others = [
        one
        for one in context.state.editions
        if one.topic == edition.topic and one.version == CURRENT and one.region != edition.region
    ]
    other = context.random.choice(others)
    keys = tuple((1, FactKey(one.subject, attribute, one.day, one.version)) for one in (edition, other))
    slots = {"department": context.state.name, "item": asked, "region": edition.region, "region2": other.region}
    return Binding(slots, keys, injector)


def bind_incident_cause(context: Context) -> Binding:
    incident = context.random.choice(context.state.incidents)
    slots = {"service": context.label(incident.service), "month": f"{incident.day:%B %Y}"}
    return Binding(slots, tuple((1, context.key(incident.subject, name)) for name in ("service", "cause")))


def bind_small_list(context: Context) -> Binding:
    keys = tuple((1, context.key(vendor, "department")) for vendor in context.state.vendors)
    return Binding({"department": context.state.name}, keys)


def bind_person_ambiguous(context: Context) -> Binding | None:
    pair = find_homonyms(context)
    if pair is None:
        return None
    keys = tuple((1, context.key(person, "role")) for person in pair)
    return Binding({"person": context.label(pair[0])}, keys, "name_collision")


def bind_dpi_person(context: Context) -> Binding:
    pair = find_homonyms(context)
    collision = pair is not None and context.random.random() < 0.5
    person = pair[0] if pair is not None and collision else context.random.choice(context.state.people)
    attribute = context.random.choice(("extension", "number", "desk"))
    slots = {
        "person": context.label(person),
        "department": context.state.name,
        "attribute": context.word(f"ask.{attribute}"),
    }
    return Binding(slots, ((1, context.key(person, attribute)),), "name_collision" if collision else "")


def _bind_attribute(kind: str, attributes: tuple[str, ...]) -> Binder:
    """A binder for a lookup of one attribute of an entity."""

    def bind(context: Context) -> Binding:
        subjects: tuple[str, ...] = getattr(context.state, f"{kind}s")
        subject, attribute = context.random.choice(subjects), context.random.choice(attributes)
        slots = {kind: context.label(subject), "attribute": context.word(f"ask.{attribute}")}
        return Binding(slots, ((1, context.key(subject, attribute)),))

    return bind


def _bind_ticket(attribute: str) -> Binder:
    def bind(context: Context) -> Binding:
        ticket = context.random.choice(context.state.tickets).subject
        return Binding({"ticket": context.label(ticket)}, ((1, context.key(ticket, attribute)),))

    return bind


def bind_dpi_reference(context: Context) -> Binding:
    meeting = context.random.choice([meeting for meeting in context.state.meetings if meeting.references])
    subject = context.random.choice(sorted(meeting.references))
    slots = {"department": context.state.name, "item": meeting.references[subject]}
    return Binding(slots, ((1, context.key(subject, "reference")),), "buried_identifier")


def bind_dpi_decision(context: Context) -> Binding:
    meeting = context.random.choice([meeting for meeting in context.state.meetings if meeting.decisions])
    subject = context.random.choice(meeting.decisions)
    return Binding({"decision": context.label(subject)}, ((1, context.key(subject, "decision")),), "buried_identifier")


def bind_asof_pager(context: Context) -> Binding:
    service = context.random.choice(context.state.services)
    key, day = choose_past(context, service, "pager")
    slots = {"service": context.label(service), "date": day, "attribute": context.word("ask.pager")}
    return Binding(slots, ((1, key),), "contradictory")


LOOKUP_BINDERS: Mapping[str, Binder] = {
    "policy_rule": bind_policy_rule,
    "incident_cause": bind_incident_cause,
    "small_list": bind_small_list,
    "policy_ambiguous": bind_policy_ambiguous,
    "person_ambiguous": bind_person_ambiguous,
    "dpi_person": bind_dpi_person,
    "compare_policy": bind_compare_policy,
    "dpi_reference": bind_dpi_reference,
    "dpi_decision": bind_dpi_decision,
    "asof_pager": bind_asof_pager,
    "dpi_service": _bind_attribute("service", ("port", "cluster", "repository")),
    "dpi_ticket": _bind_ticket("error"),
    "dpi_project": _bind_attribute("project", ("code",)),
    "dpi_vendor": _bind_attribute("vendor", ("contract",)),
    "dpi_ticket_fix": _bind_ticket("fix"),
}
