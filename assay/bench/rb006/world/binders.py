"""What binders share. A binder chooses facts of a department and the words that ask for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from assay.bench.rb006.world.facts import FactKey
from assay.bench.rb006.world.library import DepartmentLibrary
from assay.bench.rb006.world.names import PEOPLE, NameBook
from assay.bench.rb006.world.organisation import VERSIONS, Department, PolicyEdition
from assay.bench.rb006.world.queries import Binding

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


def find_homonyms(context: Context) -> tuple[str, str] | None:
    """The person of this department who shares a name with one of the department before, and that one."""
    index = context.state.index
    if index % 2 == 0:
        return None
    names = NameBook(context.library.seed, context.library.templates.words)
    return f"person:{index}:{PEOPLE - 1}", f"person:{index - 1}:{names.homonym_place(index)}"


def choose_past(context: Context, service: str, attribute: str) -> tuple[FactKey, str]:
    """A value that is no longer valid and a day on which it was."""
    past = context.library.state_of(service).facts.history(service, attribute)[:-1]
    fact = context.random.choice(past)
    last = fact.end or fact.start
    day = max(fact.start, last - timedelta(days=context.random.randint(5, 60)))
    return fact.key, day.isoformat()
