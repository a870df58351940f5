"""The state machine: simulates one department month by month. The same seed and index give the same department."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from itertools import count

from assay.bench.rb006.world.facts import Fact
from assay.bench.rb006.world.names import (
    DECISIONS,
    INCIDENTS,
    PEOPLE,
    PROJECTS,
    REFERENCES,
    SERVICES,
    TICKETS,
    VENDORS,
    NameBook,
)
from assay.bench.rb006.world.organisation import (
    MONTHS,
    Department,
    Handover,
    Incident,
    Meeting,
    Release,
    Ticket,
    format_day,
    month_day,
)
from assay.bench.rb006.world.policy_editions import add_policies
from assay.bench.rb006.world.streams import open_stream, permute
from assay.bench.rb006.world.templates import TemplateSet

MEETINGS = MONTHS // 2
STEPS = 16
"""Entries in the timeline of an incident."""
SETTINGS = (3, 4)
"""Changes per release."""


def simulate_department(seed: int, templates: TemplateSet, index: int) -> Department:
    """Simulate a department over 24 months."""
    return _Simulation(seed, templates, index).run()


class _Simulation:
    def __init__(self, seed: int, templates: TemplateSet, index: int) -> None:
        self.seed, self.templates, self.index = seed, templates, index
        self.words: Mapping[str, tuple[str, ...]] = templates.words
        self.names = NameBook(seed, templates.words)
        self.random = open_stream(seed, "department", index)
        self.decisions = self.random.sample(self.words["decision"], DECISIONS)
        self.references = self.random.sample(self.words["item_filed"], REFERENCES)
        self.pager_numbers = count(index * SERVICES * 8)
        subjects = {
            kind: tuple(f"{kind}:{index}:{place}" for place in range(number))
            for kind, number in (
                ("person", PEOPLE),
                ("service", SERVICES),
                ("project", PROJECTS),
                ("vendor", VENDORS),
            )
        }
        self.state = Department(
            index,
            self.names.department(index),
            f"department:{index}",
            subjects["person"],
            subjects["service"],
            subjects["project"],
            subjects["vendor"],
            labels={f"department:{index}": self.names.department(index)},
        )
        for group in subjects.values():
            for subject in group:
                self._label(subject)
        self.facts = self.state.facts

    def run(self) -> Department:
        self._found()
        add_policies(self.state, self.random, self.templates)
        changes = self._plan_changes()
        handovers: list[Handover] = []
        for month in range(MONTHS):
            handovers += self._change_state(month, changes)
            self._release(month)
            self._open_tickets(month)
            self._break_down(month)
            if month % 2:
                self._meet(month, tuple(handovers))
                handovers.clear()
        return self.state

    # the start

    def _found(self) -> None:
        """Set what is true before the first month."""
        state, pick = self.state, self.random.choice
        start = month_day(0, 1)
        self._set(state.subject, "head", self._before(start), link=state.people[0])
        self._set(state.subject, "cost_centre", start, f"CC-{self.names.code('cost', self.index, 4)}")
        self._set(state.subject, "site", start, pick(self.words["city"]))
        roles = self.random.sample(self.words["role"], PEOPLE)
        for place, (person, role) in enumerate(zip(state.people, roles, strict=True)):
            number = self.index * PEOPLE + place
            self._set(person, "role", start, role)
            self._set(person, "extension", start, self.names.code("extension", number))
            self._set(person, "number", start, f"E{self.names.code('staff', number, 6)}")
            desk = f"{pick('ABCDEFGH')}{self.random.randint(1, 9)}-{self.random.randint(101, 480)}"
            self._set(person, "desk", start, desk)
        for place, vendor in enumerate(state.vendors):
            self._found_vendor(vendor, self.index * VENDORS + place)
        for place, service in enumerate(state.services):
            self._found_service(service, place)
        for place, project in enumerate(state.projects):
            self._found_project(project, place)

    def _found_vendor(self, vendor: str, number: int) -> None:
        pick, start = self.random.choice, month_day(0, 1)
        self._set(vendor, "contract", start, f"CTR-{self.names.code('contract', number)}")
        self._set(vendor, "value", start, f"EUR {self.random.randint(41, 980)},{self.random.randint(100, 999)}")
        self._set(vendor, "renewal", start, format_day(month_day(24 + self.random.randrange(18), self._day())))
        self._set(vendor, "contact", start, f"{pick(self.words['first'])} {pick(self.words['last'])}")
        self._set(vendor, "location", start, pick(self.words["location"]))
        self._set(vendor, "department", start, link=self.state.subject)

    def _found_service(self, service: str, place: int) -> None:
        """Services use vendors and services of this department or of an earlier one: growth adds no new edges back."""
        pick, start = self.random.choice, month_day(0, 1)
        number = self.index * SERVICES + place
        name = self.state.labels[service]
        owner = pick(self.state.people)
        self._set(service, "owner", self._before(start), link=owner)
        self._set(service, "pager", self._before(start), self._pager())
        self._set(service, "port", start, str(10_000 + permute(number, 50_000, self.seed, "port")))
        cluster = f"{pick(self.words['cluster_place'])}-node-{self.random.randint(100, 999)}"
        self._set(service, "cluster", start, cluster)
        self._set(service, "repository", start, f"git/{self.state.name.split()[0].lower()}/{name}")
        self._set(service, "slo", start, f"99.{self.random.randint(10, 98)}%")
        vendor = f"vendor:{self._neighbour()}:{self.random.randrange(VENDORS)}"
        self._set(service, "vendor", start, link=vendor)
        self.state.purposes[service] = pick(self.words["purpose"])
        near = self._neighbour()
        others = [other for other in range(SERVICES) if near != self.index or other != place]
        self._set(service, "dependency", start, link=f"service:{near}:{pick(others)}")

    def _found_project(self, project: str, place: int) -> None:
        pick, start = self.random.choice, month_day(0, 1)
        number = self.index * PROJECTS + place
        first = month_day(place, self._day())
        self._set(project, "lead", first, link=pick(self.state.people))
        self._set(project, "budget", first, self._budget())
        self._set(project, "deadline", start, format_day(month_day(24 + self.random.randrange(12), self._day())))
        self._set(project, "code", start, f"PRJ-{self.names.code('project', number)}")
        self._set(project, "vendor", start, link=f"vendor:{self._neighbour()}:{self.random.randrange(VENDORS)}")
        self._set(project, "service", start, link=f"service:{self._neighbour()}:{self.random.randrange(SERVICES)}")

    # the months

    def _plan_changes(self) -> dict[int, list[tuple[str, str]]]:
        """month → (subject, attribute) that change in it."""
        changes: dict[int, list[tuple[str, str]]] = {}
        state = self.state
        plan = [(state.subject, "head", 1)]
        plan += [(service, "owner", 2 if place < 3 else 1) for place, service in enumerate(state.services)]
        plan += [(service, "pager", 2 if place < 2 else 1) for place, service in enumerate(state.services)]
        plan += [(project, attribute, 1) for project in state.projects for attribute in ("lead", "budget")]
        for subject, attribute, number in plan:
            for month in self.random.sample(range(5, MONTHS - 1), number):
                changes.setdefault(month, []).append((subject, attribute))
        return changes

    def _change_state(self, month: int, changes: Mapping[int, list[tuple[str, str]]]) -> tuple[Handover, ...]:
        handovers = []
        for subject, attribute in changes.get(month, ()):
            day, old = month_day(month, self._day()), self.facts.current(subject, attribute)
            if attribute == "pager":
                self._set(subject, attribute, day, self._pager())
            elif attribute == "budget":
                self._set(subject, attribute, day, self._budget())
            else:
                people = [person for person in self.state.people if self.state.labels[person] != old.value]
                new = self._set(subject, attribute, day, link=self.random.choice(people))
                if attribute == "owner":
                    handovers.append(Handover(subject, day, old.key, new.key))
        self.state.handovers += handovers
        return tuple(handovers)

    def _release(self, month: int) -> None:
        """Every service has a release every third or fourth month."""
        for place, service in enumerate(self.state.services):
            if (month + place) % (3 if place < 3 else 4) == 0:
                number = sum(release.service == service for release in self.state.releases)
                version = f"{1 + number // 3}.{number % 3}.{self.random.randint(0, 9)}"
                day = month_day(month, self._day())
                chosen = self.random.sample(self.words["setting"], self.random.choice(SETTINGS))
                settings = {
                    name: self._set(service, name, day, str(self.random.randint(3, 997)), version).key
                    for name in chosen
                }
                self._set(service, "released", day, format_day(day), version)
                self.state.releases.append(Release(service, version, day, settings))

    def _open_tickets(self, month: int) -> None:
        for _ in range(TICKETS // MONTHS):
            place = len(self.state.tickets)
            number = self.index * TICKETS + place
            subject = f"ticket:{self.index}:{place}"
            self.state.labels[subject] = f"TKT-{self.names.code('ticket', number, 6)}"
            service, day = self.state.services[place % SERVICES], month_day(month, self._day())
            self._set(subject, "service", day, link=service)
            self._set(subject, "assignee", day, link=self.random.choice(self.state.people))
            self._set(subject, "error", day, f"ERR-{self.names.code('error', number, 6)}")
            self._set(subject, "fix", day, self.random.choice(self.words["fix"]))
            self.state.tickets.append(Ticket(subject, service, day, self.random.choice(self.words["symptom"])))

    def _break_down(self, month: int) -> None:
        """Three outages: in months 4, 12 and 20, of the first three services."""
        if month % 8 != 4:
            return
        place = len(self.state.incidents)
        subject, service = f"incident:{self.index}:{place}", self.state.services[place]
        self.state.labels[subject] = f"INC-{self.names.code('incident', self.index * INCIDENTS + place)}"
        day = month_day(month, self._day())
        self._set(subject, "service", day, link=service)
        self._set(subject, "duration", day, f"{self.random.randint(31, 400)} minutes")
        self._set(subject, "cause", day, self.random.choice(self.words["cause"]))
        self._set(subject, "action", day, link=self.random.choice(self.state.people))
        minute, steps = self.random.randint(0, 600), []
        for number in range(STEPS):
            minute += self.random.randint(2, 40)
            first, second = self.random.sample(self.words["step"], 2)
            text = f"at {minute // 60:02d}:{minute % 60:02d} {first}, and a little later {second}"
            steps.append(self._set(subject, f"step {number}", day, text).key)
        self.state.incidents.append(
            Incident(subject, service, day, self.random.choice(self.words["task"]), tuple(steps))
        )

    def _meet(self, month: int, handovers: tuple[Handover, ...]) -> None:
        """A meeting every second month."""
        place = len(self.state.meetings)
        day = month_day(month, 28)
        decisions = []
        for number in range(place * DECISIONS // MEETINGS, (place + 1) * DECISIONS // MEETINGS):
            subject = f"decision:{self.index}:{number}"
            self.state.labels[subject] = f"D-{self.names.code('decision', self.index * DECISIONS + number)}"
            self._set(subject, "decision", day, self.decisions[number])
            decisions.append(subject)
        references = {}
        for number in range(place * REFERENCES // MEETINGS, (place + 1) * REFERENCES // MEETINGS):
            subject = f"reference:{self.index}:{number}"
            self.state.labels[subject] = self.references[number]
            self._set(subject, "reference", day, f"REF-{self.names.code('file', self.index * REFERENCES + number, 6)}")
            references[subject] = self.references[number]
        self.state.meetings.append(Meeting(day, tuple(decisions), references, handovers))

    # helpers

    def _set(
        self, subject: str, attribute: str, day: date, value: str = "", version: str = "", *, link: str = ""
    ) -> Fact:
        """Set a value, or the name of another subject as the value."""
        if link:
            value = self._label(link)
            self.state.links[f"{subject} {attribute}"] = link
        return self.facts.set_value(subject, attribute, value, day, version)

    def _label(self, subject: str) -> str:
        if subject not in self.state.labels:
            kind, department, *rest = subject.split(":")
            place = int(rest[0])
            naming = {
                "person": self.names.person,
                "service": self.names.service,
                "project": self.names.project,
                "vendor": self.names.vendor,
            }
            self.state.labels[subject] = naming[kind](int(department), place)
        return self.state.labels[subject]

    def _neighbour(self) -> int:
        """This department, or with two chances in three one of the eight before it."""
        earlier = range(max(0, self.index - 8), self.index)
        return self.random.choice(earlier) if earlier and self.random.random() < 2 / 3 else self.index

    def _before(self, day: date) -> date:
        return day - timedelta(days=self.random.randint(40, 700))

    def _day(self) -> int:
        return self.random.randint(1, 27)

    def _budget(self) -> str:
        return f"EUR {self.random.randint(61, 940)},{self.random.randint(100, 999)}"

    def _pager(self) -> str:
        return f"PD-{self.names.code('pager', next(self.pager_numbers), 6)}"
