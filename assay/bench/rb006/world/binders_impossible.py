"""Binders of impossible queries: evidence that is too long for a budget, or that does not exist."""

from __future__ import annotations

from collections.abc import Mapping

from assay.bench.rb006.world.binders import Binder, Context, choose_edition, choose_start, find_homonyms, walk
from assay.bench.rb006.world.facts import FactKey
from assay.bench.rb006.world.organisation import VERSIONS, PolicyEdition
from assay.bench.rb006.world.queries import Binding

Facts = list[tuple[int, FactKey]]


def _tickets(context: Context, service: str, attributes: tuple[str, ...], hop: int = 1) -> Facts:
    """The facts of every ticket of a service."""
    tickets = [ticket.subject for ticket in context.state.tickets if ticket.service == service]
    facts = [(hop, context.key(ticket, "service")) for ticket in tickets]
    return facts + [(hop + (hop > 1), context.key(ticket, name)) for ticket in tickets for name in attributes]


def bind_list_hop3(context: Context) -> Binding:
    """Vendor → services of this department → their tickets → who handled them."""
    vendor = context.follow(context.random.choice(context.state.services), "vendor")
    services = [service for service in context.state.services if context.follow(service, "vendor") == vendor]
    facts: Facts = [(1, context.key(service, "vendor")) for service in services]
    for service in services:
        facts += _tickets(context, service, ("assignee",), hop=2)
    return Binding({"department": context.state.name, "vendor": context.label(vendor)}, tuple(facts))


def _bind_service_tickets(attribute: str) -> Binder:
    def bind(context: Context) -> Binding:
        service = context.random.choice(context.state.services)
        return Binding({"service": context.label(service)}, tuple(_tickets(context, service, (attribute,))))

    return bind


def bind_list_decisions(context: Context) -> Binding:
    keys = [(1, context.key(one, "decision")) for meeting in context.state.meetings for one in meeting.decisions]
    return Binding({"department": context.state.name}, tuple(keys))


def _edition_keys(edition: PolicyEdition) -> Facts:
    return [(1, FactKey(edition.subject, item.names[0], edition.day, edition.version)) for item, _ in edition.items]


def bind_list_policy(context: Context) -> Binding:
    edition = choose_edition(context)
    same = [one for one in context.state.editions if one.topic == edition.topic and one.version == edition.version]
    facts = [key for one in same for key in _edition_keys(one)]
    return Binding({"department": context.state.name, "topic": edition.topic}, tuple(facts), "near_duplicate")


def bind_list_staff(context: Context) -> Binding:
    keys = [
        (1, context.key(person, name)) for person in context.state.people for name in ("extension", "number", "desk")
    ]
    return Binding({"department": context.state.name}, tuple(keys))


def bind_list_compare(context: Context) -> Binding:
    one, two = context.random.sample(context.state.services, 2)
    facts = [*_tickets(context, one, ()), *_tickets(context, two, ())]
    return Binding({"service": context.label(one), "service2": context.label(two)}, tuple(facts))


def bind_version_diff(context: Context) -> Binding:
    """Two versions of a policy: every rule of both has to be read."""
    first, second = sorted(context.random.sample(range(len(VERSIONS)), 2))
    new = choose_edition(context, VERSIONS[second])
    old = next(one for one in context.state.editions if one.subject == new.subject and one.version == VERSIONS[first])
    slots = {
        "department": context.state.name,
        "topic": new.topic,
        "region": new.region,
        "version": old.version,
        "version2": new.version,
    }
    return Binding(slots, (*_edition_keys(old), *_edition_keys(new)), "near_duplicate")


def bind_diff_release(context: Context) -> Binding:
    service = context.random.choice(context.state.services)
    releases = [release for release in context.state.releases if release.service == service]
    keys = [(1, key) for release in releases for key in release.settings.values()]
    return Binding({"service": context.label(service)}, tuple(keys))


# nothing in the corpus answers these


def bind_oos_identifier(context: Context) -> Binding | None:
    """A ticket number that was never issued, one digit away from one that was."""
    name = context.label(context.random.choice(context.state.tickets).subject)
    place = context.random.randrange(5, len(name))
    digit = context.random.choice([digit for digit in "0123456789" if digit != name[place]])
    return Binding({"ticket": name[:place] + digit + name[place + 1 :]}, (), "near_duplicate")


def bind_oos_attribute(context: Context) -> Binding:
    kind = context.random.choice(("service", "project", "vendor"))
    return Binding({"name": context.label(choose_start(context, kind)), "absent": context.word(f"absent.{kind}")}, ())


def bind_oos_hop2(context: Context) -> Binding:
    attribute = context.random.choice(("vendor", "owner"))
    subject, phrase, _ = walk(context, choose_start(context, "service"), (attribute,))
    return Binding({"bridge": phrase, "absent": context.word(f"absent.{subject.partition(':')[0]}")}, ())


def bind_oos_ambiguous(context: Context) -> Binding | None:
    pair = find_homonyms(context)
    if pair is None:
        return None
    return Binding({"person": context.label(pair[0]), "absent": context.word("absent.person")}, (), "name_collision")


def _bind_long(steps: tuple[str, ...], starts: tuple[str, ...]) -> Binder:
    """Ask for the whole timeline of the one incident of a service that a chain leads to."""

    def bind(context: Context) -> Binding | None:
        start = choose_start(context, context.random.choice(starts))
        service, phrase, facts = walk(context, start, steps)
        incidents = [one for one in context.library.state_of(service).incidents if one.service == service]
        if len(incidents) != 1:
            return None
        hop = len(steps) + 1
        facts.append((hop, context.key(incidents[0].subject, "service")))
        facts += [(hop, key) for key in incidents[0].steps]
        return Binding({"bridge": phrase}, tuple(facts))

    return bind


IMPOSSIBLE_BINDERS: Mapping[str, Binder] = {
    "list_hop3": bind_list_hop3,
    "list_entity": _bind_service_tickets("assignee"),
    "list_decisions": bind_list_decisions,
    "list_policy_ambiguous": bind_list_policy,
    "list_errors": _bind_service_tickets("error"),
    "list_staff": bind_list_staff,
    "list_compare": bind_list_compare,
    "diff_policy": bind_version_diff,
    "diff_compare": bind_version_diff,
    "diff_release": bind_diff_release,
    "oos_identifier": bind_oos_identifier,
    "oos_attribute": bind_oos_attribute,
    "oos_hop2": bind_oos_hop2,
    "oos_ambiguous": bind_oos_ambiguous,
    "long_hop2": _bind_long(("service",), ("ticket", "project")),
    "long_hop3": _bind_long(("service", "dependency"), ("ticket", "project")),
}
