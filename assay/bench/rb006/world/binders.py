"""Binders of feasible queries: each chooses facts of a department and the words that ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from assay.bench.rb006.world.facts import FactKey
from assay.bench.rb006.world.library import DepartmentLibrary
from assay.bench.rb006.world.names import PEOPLE, PROJECTS, NameBook
from assay.bench.rb006.world.organisation import DRAFT, VERSIONS, Department, PolicyEdition
from assay.bench.rb006.world.queries import Binding, Injector

CURRENT = VERSIONS[-1]


@dataclass(frozen=True)
class Context:
    """What a binder works with: a department, all departments before it, and a random stream."""

    library: DepartmentLibrary
    state: Department
    random: Random

    def word(self, kind: str) -> str:
        return self.random.choice(self.library.templates.words[kind])

    def label(self, subject: str) -> str:
        return self.state.labels.get(subject) or self.library.state_of(subject).labels[subject]

    def key(self, subject: str, attribute: str) -> FactKey:
        return self.library.current(subject, attribute).key

    def follow(self, subject: str, attribute: str) -> str:
        """The subject that an attribute of a subject points to."""
        return self.library.state_of(subject).linked(subject, attribute)

    def bridge(self, start: str, subject: str, attribute: str) -> str:
        """A phrase for what `attribute` of `subject` points to, in which `start` stands for the subject."""
        kind = subject.partition(":")[0]
        return self.word(f"via.{kind}.{attribute}").format(start=start)


Binder = Callable[[Context], Binding | None]


def choose_edition(context: Context, version: str = CURRENT) -> PolicyEdition:
    return context.random.choice([edition for edition in context.state.editions if edition.version == version])


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


def find_homonyms(context: Context) -> tuple[str, str] | None:
    """The person of this department who shares a name with one of the department before, and that one."""
    index = context.state.index
    if index % 2 == 0:
        return None
    names = NameBook(context.library.seed, context.library.templates.words)
    return f"person:{index}:{PEOPLE - 1}", f"person:{index - 1}:{names.homonym_place(index)}"


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


# chains of facts

CHAINS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "hop2_dpi": (
        ("service", "vendor", "contract"),
        ("service", "owner", "extension"),
        ("service", "owner", "number"),
        ("service", "dependency", "cluster"),
        ("project", "vendor", "contract"),
        ("project", "service", "cluster"),
    ),
    "hop2_plain": (("service", "vendor", "location"), ("project", "vendor", "contact"), ("service", "owner", "desk")),
    "hop3_plain": (
        ("ticket", "service", "vendor", "location"),
        ("ticket", "service", "vendor", "contact"),
        ("project", "service", "owner", "desk"),
        ("project", "service", "vendor", "location"),
        ("service", "dependency", "vendor", "contact"),
        ("service", "dependency", "owner", "desk"),
    ),
    "hop3_dpi": (
        ("ticket", "service", "vendor", "contract"),
        ("service", "dependency", "owner", "extension"),
        ("project", "service", "owner", "number"),
    ),
}
"""Start and then attribute by attribute; the last one is asked for."""


def choose_start(context: Context, kind: str) -> str:
    if kind == "ticket":
        return context.random.choice(context.state.tickets).subject
    subjects: tuple[str, ...] = getattr(context.state, f"{kind}s")
    return context.random.choice(subjects)


def walk(context: Context, start: str, steps: tuple[str, ...]) -> tuple[str, str, list[tuple[int, FactKey]]]:
    """Follow attributes from a start: the subject at the end, the phrase that leads there, the facts on the way."""
    subject, phrase, facts = start, context.label(start), []
    for hop, attribute in enumerate(steps, 1):
        facts.append((hop, context.key(subject, attribute)))
        phrase = context.bridge(phrase, subject, attribute)
        subject = context.follow(subject, attribute)
    return subject, phrase, facts


def _bind_chain(name: str) -> Binder:
    def bind(context: Context) -> Binding | None:
        kind, *steps, asked = context.random.choice(CHAINS[name])
        subject, phrase, facts = walk(context, choose_start(context, kind), tuple(steps))
        facts.append((len(steps) + 1, context.key(subject, asked)))
        return Binding({"bridge": phrase, "attribute": context.word(f"ask.{asked}")}, tuple(facts))

    return bind


def bind_hop2_temporal(context: Context) -> Binding | None:
    """Who owned the service of a project on a day in the past?"""
    start = choose_start(context, context.random.choice(("project", "ticket")))
    service, phrase, facts = walk(context, start, ("service",))
    past = context.library.state_of(service).facts.history(service, "owner")[:-1]
    fact = context.random.choice(past)
    if fact.end is None:
        return None
    day = fact.end - timedelta(days=context.random.randint(5, 40))
    return Binding({"bridge": phrase, "date": day.isoformat()}, (*facts, (2, fact.key)))


def bind_hop2_ambiguous(context: Context) -> Binding | None:
    """A project has the name of a service of the department before: both are readings."""
    index = context.state.index
    if index % 2 == 0:
        return None
    project, service = f"project:{index}:{PROJECTS - 1}", f"service:{index - 1}:0"
    facts = []
    for subject in (project, service):
        vendor, _, steps = walk(context, subject, ("vendor",))
        facts += [*steps, (2, context.key(vendor, "location"))]
    name = context.label(project).removeprefix("Project ")
    return Binding({"name": name}, tuple(dict.fromkeys(facts)), "name_collision")


def _bind_comparison(asked: str) -> Binder:
    """Compare an attribute of the vendors of two services."""

    def bind(context: Context) -> Binding | None:
        one, two = context.random.sample(context.state.services, 2)
        vendor, phrase, facts = walk(context, one, ("vendor",))
        vendor2, phrase2, facts2 = walk(context, two, ("vendor",))
        if vendor == vendor2:
            return None
        facts += [*facts2, (2, context.key(vendor, asked)), (2, context.key(vendor2, asked))]
        return Binding({"bridge": phrase, "bridge2": phrase2}, tuple(facts))

    return bind


def _choose_past(context: Context, service: str, attribute: str) -> tuple[FactKey, str]:
    """A value that is no longer valid and a day on which it was."""
    past = context.state.facts.history(service, attribute)[:-1]
    fact = context.random.choice(past)
    last = fact.end or fact.start
    day = max(fact.start, last - timedelta(days=context.random.randint(5, 60)))
    return fact.key, day.isoformat()


def bind_asof_pager(context: Context) -> Binding:
    service = context.random.choice(context.state.services)
    key, day = _choose_past(context, service, "pager")
    slots = {"service": context.label(service), "date": day, "attribute": context.word("ask.pager")}
    return Binding(slots, ((1, key),), "contradictory")


def bind_asof_hop2(context: Context) -> Binding:
    service = context.random.choice(context.state.services)
    key, day = _choose_past(context, service, "owner")
    name = context.state.facts[key].value
    person = next(person for person in context.state.people if context.label(person) == name)
    attribute = context.random.choice(("extension", "number"))
    slots = {"service": context.label(service), "date": day, "attribute": context.word(f"ask.{attribute}")}
    return Binding(slots, ((1, key), (2, context.key(person, attribute))))


FEASIBLE_BINDERS: Mapping[str, Binder] = {
    "policy_rule": bind_policy_rule,
    "incident_cause": bind_incident_cause,
    "small_list": bind_small_list,
    "policy_ambiguous": bind_policy_ambiguous,
    "person_ambiguous": bind_person_ambiguous,
    "dpi_person": bind_dpi_person,
    "dpi_service": _bind_attribute("service", ("port", "cluster", "repository")),
    "dpi_ticket": _bind_ticket("error"),
    "dpi_reference": bind_dpi_reference,
    "dpi_project": _bind_attribute("project", ("code",)),
    "dpi_vendor": _bind_attribute("vendor", ("contract",)),
    "dpi_decision": bind_dpi_decision,
    "dpi_ticket_fix": _bind_ticket("fix"),
    "hop2_dpi": _bind_chain("hop2_dpi"),
    "hop2_temporal": bind_hop2_temporal,
    "hop2_ambiguous": bind_hop2_ambiguous,
    "hop2_plain": _bind_chain("hop2_plain"),
    "hop3_plain": _bind_chain("hop3_plain"),
    "hop3_dpi": _bind_chain("hop3_dpi"),
    "compare_value": _bind_comparison("value"),
    "compare_renewal": _bind_comparison("renewal"),
    "compare_policy": bind_compare_policy,
    "asof_pager": bind_asof_pager,
    "asof_hop2": bind_asof_hop2,
}
