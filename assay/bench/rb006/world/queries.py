"""The queries of a world: what a query is, and which kinds of queries a suite has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.bench.rb006.world.documents import WorldSentence
from assay.bench.rb006.world.facts import FactKey
from assay.bench.rb006.world.templates import TemplateSplit

ImpossibleKind = Literal["", "listing", "version_diff", "out_of_scope", "long_evidence"]
QuerySource = Literal["anchored", "adversarial", "handwritten"]
Injector = Literal["", "near_duplicate", "contradictory", "buried_identifier", "name_collision", "synonym_tail"]


@dataclass(frozen=True, slots=True)
class Binding:
    """What a query is about: words for the slots of a template and the facts that answer, each with its hop."""

    slots: dict[str, str]
    facts: tuple[tuple[int, FactKey], ...]
    injector: Injector = ""


@dataclass(frozen=True, slots=True)
class EvidenceGroup:
    """A fact that the answer needs, and all sentences that state it: one of them is enough."""

    hop: int
    fact: FactKey
    value: str
    sentences: tuple[WorldSentence, ...]

    @property
    def tokens(self) -> int:
        return min(sentence.tokens for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class WorldQuery:
    """A query with its gold: the minimal sufficient set of evidence groups. Out-of-scope queries have none."""

    id: str
    text: str
    tags: tuple[str, ...]
    archetype: str
    template: str
    template_split: TemplateSplit
    stage: str
    groups: tuple[EvidenceGroup, ...]
    kind: ImpossibleKind = ""
    source: QuerySource = "anchored"
    injector: Injector = ""
    last_department: int = 0
    """The last department that the evidence needs: it says from which scale on the query is in scope."""

    @property
    def is_answerable(self) -> bool:
        """Whether the evidence exists and fits a budget of 400 tokens."""
        return not self.kind

    @property
    def evidence_tokens(self) -> int:
        return sum(group.tokens for group in self.groups)


@dataclass(frozen=True, slots=True)
class QuerySlot:
    """A line of the allocation: how many queries of a binder get which tags."""

    binder: str
    number: int
    tags: tuple[str, ...]
    kind: ImpossibleKind = ""

    @property
    def is_present(self) -> bool:
        """Whether the corpus holds evidence for these queries."""
        return self.kind != "out_of_scope"


def _slot(binder: str, number: int, tags: str, kind: ImpossibleKind = "") -> QuerySlot:
    return QuerySlot(binder, number, tuple(tags.split()), kind)


ALLOCATION: tuple[QuerySlot, ...] = (
    # feasible: 180
    _slot("policy_rule", 17, "thematic"),
    _slot("incident_cause", 4, "thematic"),
    _slot("small_list", 4, "thematic listing"),
    _slot("policy_ambiguous", 10, "thematic ambiguous"),
    _slot("person_ambiguous", 5, "thematic ambiguous"),
    _slot("dpi_person", 10, "dpi"),
    _slot("dpi_service", 10, "dpi"),
    _slot("dpi_ticket", 8, "dpi"),
    _slot("dpi_reference", 6, "dpi"),
    _slot("dpi_project", 3, "dpi"),
    _slot("dpi_vendor", 3, "dpi"),
    _slot("dpi_decision", 7, "dpi thematic"),
    _slot("dpi_ticket_fix", 8, "dpi thematic"),
    _slot("hop2_dpi", 15, "hop2 entity dpi"),
    _slot("hop2_temporal", 8, "hop2 entity temporal"),
    _slot("hop2_ambiguous", 5, "hop2 entity ambiguous"),
    _slot("hop2_plain", 2, "hop2 entity"),
    _slot("hop3_plain", 10, "hop3 entity"),
    _slot("hop3_dpi", 5, "hop3 entity dpi"),
    _slot("compare_value", 8, "comparative entity hop2"),
    _slot("compare_renewal", 7, "comparative entity hop2"),
    _slot("compare_policy", 10, "comparative thematic"),
    _slot("asof_pager", 10, "temporal dpi"),
    _slot("asof_hop2", 5, "temporal dpi hop2"),
    # impossible: 120
    _slot("list_hop3", 9, "listing entity hop3", "listing"),
    _slot("list_entity", 6, "listing entity", "listing"),
    _slot("list_decisions", 10, "listing thematic", "listing"),
    _slot("list_policy_ambiguous", 5, "listing thematic ambiguous", "listing"),
    _slot("list_errors", 10, "listing dpi", "listing"),
    _slot("list_staff", 10, "listing dpi", "listing"),
    _slot("list_compare", 6, "listing comparative", "listing"),
    _slot("diff_policy", 8, "temporal thematic", "version_diff"),
    _slot("diff_compare", 2, "temporal thematic comparative", "version_diff"),
    _slot("diff_compare", 6, "temporal comparative", "version_diff"),
    _slot("diff_release", 6, "temporal comparative", "version_diff"),
    _slot("oos_identifier", 10, "ood dpi", "out_of_scope"),
    _slot("oos_attribute", 11, "ood", "out_of_scope"),
    _slot("oos_hop2", 4, "ood hop2", "out_of_scope"),
    _slot("oos_ambiguous", 5, "ood ambiguous", "out_of_scope"),
    _slot("long_hop2", 6, "hop2", "long_evidence"),
    _slot("long_hop3", 6, "hop3", "long_evidence"),
)
"""The 300 queries of a suite. The tags add up to the strata that the specification asks for."""

TEMPLATE_ARCHETYPES: dict[str, str] = {
    "hop2_dpi": "hop2",
    "hop2_plain": "hop2",
    "hop3_plain": "hop3",
    "hop3_dpi": "hop3",
}
"""Binder → archetype of its templates, where the names differ."""
