"""What a department consists of after 24 simulated months: entities, events and the facts about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from assay.bench.rb006.world.facts import FactKey, FactTable
from assay.bench.rb006.world.templates import PolicyItem

FIRST_DAY, LAST_DAY = date(2024, 1, 1), date(2025, 12, 31)
MONTHS = 24
REGIONS = ("EMEA", "LATAM", "APAC")
VERSIONS = ("1.0", "2.0", "3.0")
DRAFT = "3.0-draft"


@dataclass(frozen=True, slots=True)
class Handover:
    """A service passes from one owner to the next."""

    service: str
    day: date
    old: FactKey
    new: FactKey


@dataclass(frozen=True, slots=True)
class Release:
    """A version of a service and the settings it changes: setting → fact."""

    service: str
    version: str
    day: date
    settings: dict[str, FactKey]


@dataclass(frozen=True, slots=True)
class Ticket:
    subject: str
    service: str
    day: date
    symptom: str


@dataclass(frozen=True, slots=True)
class Incident:
    subject: str
    service: str
    day: date
    task: str
    steps: tuple[FactKey, ...]


@dataclass(frozen=True, slots=True)
class Meeting:
    """A regular meeting: decisions, references mentioned in passing (item → fact), and handovers announced."""

    day: date
    decisions: tuple[str, ...]
    references: dict[str, str]
    handovers: tuple[Handover, ...]


@dataclass(frozen=True, slots=True)
class PolicyEdition:
    """One version of a policy for one region. `items` holds each regulated item and the name the text uses."""

    subject: str
    topic: str
    region: str
    version: str
    day: date
    items: tuple[tuple[PolicyItem, str], ...]


@dataclass
class Department:
    """A department: its entities by subject id, its events in the order of time, its facts."""

    index: int
    name: str
    subject: str
    people: tuple[str, ...]
    services: tuple[str, ...]
    projects: tuple[str, ...]
    vendors: tuple[str, ...]
    labels: dict[str, str]
    """Subject → the name it has in text; subjects of other departments that are referred to are included."""
    facts: FactTable = field(default_factory=FactTable)
    purposes: dict[str, str] = field(default_factory=dict)
    """Service → what its vendor does for it."""
    links: dict[str, str] = field(default_factory=dict)
    """"<subject> <attribute>" → the subject that the attribute's value names."""
    releases: list[Release] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    handovers: list[Handover] = field(default_factory=list)
    editions: list[PolicyEdition] = field(default_factory=list)

    def linked(self, subject: str, attribute: str) -> str:
        """The subject that an attribute points to, e.g. the vendor of a service."""
        return self.links[f"{subject} {attribute}"]


def department_of(subject: str) -> int:
    """The department that a subject belongs to: "service:12:3" is in department 12."""
    return int(subject.split(":")[1])


def format_day(day: date) -> str:
    """The one form that dates have in text: 3 March 2024."""
    return f"{day.day} {day:%B} {day.year}"


def month_day(month: int, day: int) -> date:
    """A day of a simulated month, counted from 0."""
    return date(FIRST_DAY.year + month // 12, month % 12 + 1, day)
