"""Binders of multi-hop queries: chains of facts that lead from one document to the next."""

from __future__ import annotations

from collections.abc import Mapping

from assay.bench.rb006.world.binders import Binder, Context, choose_past, choose_start, walk
from assay.bench.rb006.world.names import PROJECTS
from assay.bench.rb006.world.queries import Binding

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


def _bind_chain(name: str) -> Binder:
    def bind(context: Context) -> Binding | None:
        kind, *steps, asked = context.random.choice(CHAINS[name])
        subject, phrase, facts = walk(context, choose_start(context, kind), tuple(steps))
        facts.append((len(steps) + 1, context.key(subject, asked)))
        return Binding({"bridge": phrase, "attribute": context.word(f"ask.{asked}")}, tuple(facts))

    return bind


def bind_hop2_temporal(context: Context) -> Binding:
    """Who owned the service of a project on a day in the past?"""
    start = choose_start(context, context.random.choice(("project", "ticket")))
    service, phrase, facts = walk(context, start, ("service",))
    key, day = choose_past(context, service, "owner")
    return Binding({"bridge": phrase, "date": day}, (*facts, (2, key)))


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


def bind_asof_hop2(context: Context) -> Binding:
    service = context.random.choice(context.state.services)
    key, day = choose_past(context, service, "owner")
    name = context.state.facts[key].value
    person = next(person for person in context.state.people if context.label(person) == name)
    attribute = context.random.choice(("extension", "number"))
    slots = {"service": context.label(service), "date": day, "attribute": context.word(f"ask.{attribute}")}
    return Binding(slots, ((1, key), (2, context.key(person, attribute))))


CHAIN_BINDERS: Mapping[str, Binder] = {
    **{name: _bind_chain(name) for name in CHAINS},
    "hop2_temporal": bind_hop2_temporal,
    "hop2_ambiguous": bind_hop2_ambiguous,
    "compare_value": _bind_comparison("value"),
    "compare_renewal": _bind_comparison("renewal"),
    "asof_hop2": bind_asof_hop2,
}
