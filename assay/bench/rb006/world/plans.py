"""Which documents a department writes, and which facts each of them states."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import count

from assay.bench.rb006.world.documents import DocumentPlan, Statement
from assay.bench.rb006.world.facts import Fact
from assay.bench.rb006.world.organisation import (
    DRAFT,
    LAST_DAY,
    Department,
    Handover,
    Incident,
    Meeting,
    PolicyEdition,
    Release,
    Ticket,
    format_day,
)
from assay.bench.rb006.world.streams import open_stream

Section = tuple[str, tuple[Statement, ...]]


def plan_documents(state: Department) -> Iterator[DocumentPlan]:
    """Plan every document that states facts, records first, correspondence last."""
    return _Planner(state).plan()


def plan_routine_mails(state: Department, seed: int) -> Iterator[DocumentPlan]:
    """Plan mails without facts, without end: they fill a department up to its size."""
    for number in count():
        key = f"mail:{state.index}:{number}"
        stream = open_stream(seed, "mail", key)
        day = date(2024 + stream.randrange(2), stream.randint(1, 12), stream.randint(1, 28))
        sections = tuple(("Message", ()) for _ in range(stream.choice((1, 1, 2))))
        yield DocumentPlan(key, "mail", "mail", day, {"department": state.name}, sections)


class _Planner:
    def __init__(self, state: Department) -> None:
        self.state, self.facts, self.labels = state, state.facts, state.labels

    def plan(self) -> Iterator[DocumentPlan]:
        state = self.state
        yield self._department()
        yield self._directory()
        yield from (self._service(service) for service in state.services)
        yield from (self._vendor(vendor) for vendor in state.vendors)
        for project in state.projects:
            yield from self._project(project)
        yield from (self._edition(edition) for edition in state.editions)
        yield from (self._release(release) for release in state.releases)
        yield from (self._memo(handover) for handover in state.handovers)
        yield from (self._ticket(ticket) for ticket in state.tickets)
        yield from (self._incident(incident) for incident in state.incidents)
        yield from (self._minutes(meeting) for meeting in state.meetings)

    def _department(self) -> DocumentPlan:
        state = self.state
        sections: tuple[Section, ...] = (
            ("Overview", (self._say(state.subject, "site"), self._say(state.subject, "cost_centre"))),
            ("Leadership", self._say_history(state.subject, "head")),
        )
        return self._document(state.subject, "department", LAST_DAY, sections, department=state.name)

    def _directory(self) -> DocumentPlan:
        """One section per person; the attributes come in an order of their own."""
        sections = []
        for place, person in enumerate(self.state.people):
            attributes = ["extension", "number", "desk"]
            turn = (place + self.state.index) % len(attributes)
            turned = attributes[turn:] + attributes[:turn]
            sections.append((self.labels[person], tuple(self._say(person, name) for name in ("role", *turned))))
        key = f"directory:{self.state.index}"
        return self._document(key, "directory", LAST_DAY, tuple(sections), "person", department=self.state.name)

    def _service(self, service: str) -> DocumentPlan:
        runtime = tuple(self._say(service, name) for name in ("cluster", "port", "repository", "slo"))
        partners = (
            self._say(service, "vendor", purpose=self.state.purposes[service]),
            self._say(service, "dependency"),
        )
        sections: tuple[Section, ...] = (
            ("Ownership", self._say_history(service, "owner")),
            ("Runtime", runtime),
            ("Dependencies", partners),
            ("Alerting", self._say_history(service, "pager")),
        )
        return self._document(service, "service", LAST_DAY, sections, service=self.labels[service])

    def _vendor(self, vendor: str) -> DocumentPlan:
        sections: tuple[Section, ...] = (
            ("Agreement", tuple(self._say(vendor, name) for name in ("department", "contract", "value", "renewal"))),
            ("Operations", tuple(self._say(vendor, name) for name in ("contact", "location"))),
        )
        return self._document(vendor, "vendor", LAST_DAY, sections, vendor=self.labels[vendor])

    def _project(self, project: str) -> Iterator[DocumentPlan]:
        """A charter with the state at the start, and a status mail for every later change."""
        lead, *leads = self.facts.history(project, "lead")
        budget, *budgets = self.facts.history(project, "budget")
        name = self.labels[project]
        sections: tuple[Section, ...] = (
            ("Goal", (self._say(project, "service"), self._say(project, "deadline"))),
            ("Organisation", (self._state(lead), self._state(budget), self._say(project, "code"))),
            ("Partners", (self._say(project, "vendor"),)),
        )
        yield self._document(project, "project", lead.start, sections, project=name)
        for fact in (*leads, *budgets):
            key = f"update:{project}:{fact.attribute}"
            update: tuple[Section, ...] = (("Message", (self._state(fact),)),)
            yield self._document(key, "project_update", fact.start, update, "mail", project=name)

    def _edition(self, edition: PolicyEdition) -> DocumentPlan:
        """Editions of one topic share their style, so that they differ in little more than numbers."""
        first = self.facts.history(edition.subject, "effective", edition.version)[0]
        start = Statement(
            "policy.draft" if edition.version == DRAFT else "policy.effective",
            {"value": first.value, "region": edition.region},
            (first.key,),
        )
        rules = []
        for item, name in edition.items:
            fact = self.facts.history(edition.subject, item.names[0], edition.version)[0]
            rules.append(Statement(f"policy.{item.kind}", {"item": name, "value": fact.value}, (fact.key,)))
        return DocumentPlan(
            f"{edition.subject}:{edition.version}",
            "policy",
            "policy",
            edition.day,
            {
                "department": self.state.name,
                "topic": edition.topic,
                "region": edition.region,
                "version": edition.version,
            },
            (("Scope", (start,)), ("Rules", tuple(rules))),
            edition.version,
            f"policy:{self.state.index}:{edition.topic}",
        )

    def _release(self, release: Release) -> DocumentPlan:
        slots = {"service": self.labels[release.service], "version": release.version}
        date_fact = self.facts.history(release.service, "released", release.version)[0]
        says = [Statement("release.date", {**slots, "value": date_fact.value}, (date_fact.key,))]
        for setting, key in release.settings.items():
            value = self.facts[key].value
            says.append(Statement("release.change", {**slots, "setting": setting, "value": value}, (key,)))
        plan = self._document(
            f"release:{release.service}:{release.version}", "release", release.day, (("Changes", tuple(says)),), **slots
        )
        return _with_version(plan, release.version)

    def _memo(self, handover: Handover) -> DocumentPlan:
        key = f"memo:{handover.service}:{handover.day}"
        sections: tuple[Section, ...] = (("Message", (self._hand_over(handover),)),)
        return self._document(key, "memo", handover.day, sections, "mail", service=self.labels[handover.service])

    def _ticket(self, ticket: Ticket) -> DocumentPlan:
        says = (
            self._say(ticket.subject, "service", symptom=ticket.symptom),
            *(self._say(ticket.subject, name) for name in ("assignee", "error", "fix")),
        )
        return self._document(
            ticket.subject, "ticket", ticket.day, (("Report", says),), ticket=self.labels[ticket.subject]
        )

    def _incident(self, incident: Incident) -> DocumentPlan:
        subject, slots = incident.subject, {"incident": self.labels[incident.subject]}
        summary = (
            self._say(subject, "service", date=format_day(incident.day)),
            self._say(subject, "duration"),
            self._say(subject, "cause"),
        )
        steps = tuple(
            Statement("incident.step", {**slots, "value": self.facts[key].value}, (key,)) for key in incident.steps
        )
        sections: tuple[Section, ...] = (
            ("Summary", summary),
            ("Timeline", steps),
            ("Follow-up", (self._say(subject, "action", task=incident.task),)),
        )
        return self._document(subject, "incident", incident.day, sections, **slots)

    def _minutes(self, meeting: Meeting) -> DocumentPlan:
        """Decisions, handovers, and references buried at the end."""
        handovers = tuple(self._hand_over(handover) for handover in meeting.handovers)
        decisions = tuple(
            Statement(
                "decision",
                {"decision": self.labels[subject], "value": (fact := self.facts.current(subject, "decision")).value},
                (fact.key,),
            )
            for subject in meeting.decisions
        )
        references = tuple(
            Statement(
                "reference",
                {"item": item, "value": (fact := self.facts.current(subject, "reference")).value},
                (fact.key,),
            )
            for subject, item in meeting.references.items()
        )
        sections: tuple[Section, ...] = (
            ("Opening", handovers),
            ("Decisions", decisions),
            ("Any other business", references),
        )
        key = f"minutes:{self.state.index}:{meeting.day}"
        slots = {"department": self.state.name, "date": format_day(meeting.day)}
        return self._document(key, "minutes", meeting.day, sections, **slots)

    # statements

    def _document(
        self, key: str, kind: str, day: date, sections: tuple[Section, ...], filler: str = "", **slots: str
    ) -> DocumentPlan:
        return DocumentPlan(key, kind, filler or kind, day, slots, sections)

    def _say(self, subject: str, attribute: str, **slots: str) -> Statement:
        """State the current value of an attribute."""
        return self._state(self.facts.current(subject, attribute), **slots)

    def _say_history(self, subject: str, attribute: str) -> tuple[Statement, ...]:
        """State the current value and, after it, the earlier ones, latest first."""
        *past, current = self.facts.history(subject, attribute)
        return (self._state(current), *(self._state(fact, "_past") for fact in reversed(past)))

    def _state(self, fact: Fact, suffix: str = "", **slots: str) -> Statement:
        kind = fact.subject.partition(":")[0]
        name = "department" if kind == "person" else ""
        words = {kind: self.labels[fact.subject], "value": fact.value, "since": format_day(fact.start), **slots}
        if name:
            words[name] = self.state.name
        if fact.end is not None:
            words["until"] = format_day(fact.end)
        return Statement(f"{kind}.{fact.attribute}{suffix}", words, (fact.key,))

    def _hand_over(self, handover: Handover) -> Statement:
        old, new = self.facts[handover.old], self.facts[handover.new]
        words = {
            "service": self.labels[handover.service],
            "old": old.value,
            "value": new.value,
            "since": format_day(new.start),
        }
        return Statement("service.handover", words, (new.key, old.key))


def _with_version(plan: DocumentPlan, version: str) -> DocumentPlan:
    return DocumentPlan(plan.key, plan.kind, plan.filler, plan.day, plan.slots, plan.sections, version, plan.style)
