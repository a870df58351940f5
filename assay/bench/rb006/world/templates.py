"""What a template set holds: names, sentence frames, filler and query templates. A world is a seed and a set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

LEAST_TEMPLATES = 6
"""Templates per archetype."""

LEAST_WORDS = {"role": 14, "approver": 10, "decision": 36, "item_filed": 12, "setting": 4, "step": 2}
"""How many words of a kind one department uses; every other kind needs one."""

TemplateSplit = Literal["tuning", "heldout"]
_SLOT = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """A query text with slots. Retrievers are tuned on "tuning" templates and judged on "heldout" ones."""

    id: str
    archetype: str
    text: str
    split: TemplateSplit


@dataclass(frozen=True, slots=True)
class PolicyItem:
    """Something a policy regulates. The first name is the common one, the others are rarer synonyms."""

    names: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class TemplateSet:
    """All language of a world. Two worlds with disjoint sets share no sentence and no query template."""

    name: str
    words: Mapping[str, tuple[str, ...]]
    """Name pools and slot words by kind."""
    policies: Mapping[str, tuple[PolicyItem, ...]]
    """Policy topic → what it regulates."""
    frames: Mapping[str, tuple[str, ...]]
    """Archetype → frames of sentences that state a fact."""
    fillers: Mapping[str, tuple[str, ...]]
    """Document kind → sentences that state no fact."""
    titles: Mapping[str, tuple[str, ...]]
    queries: tuple[QueryTemplate, ...]

    def queries_of(self, archetype: str) -> tuple[QueryTemplate, ...]:
        return tuple(template for template in self.queries if template.archetype == archetype)

    def document_texts(self) -> Iterator[str]:
        for group in (self.frames, self.fillers, self.titles):
            for texts in group.values():
                yield from texts


def split_words(text: str, mark: str | None = None) -> tuple[str, ...]:
    """Split a list of words, or of phrases that a mark separates."""
    return tuple(" ".join(word.split()) for word in text.split(mark))


def number_templates(archetypes: Mapping[str, tuple[str, ...]], tuning_share: float = 0.6) -> tuple[QueryTemplate, ...]:
    """Turn archetype → texts into templates with ids; the first share of each archetype is for tuning."""
    return tuple(
        QueryTemplate(
            f"{archetype}.{place + 1}",
            archetype,
            text,
            "tuning" if place < round(len(texts) * tuning_share) else "heldout",
        )
        for archetype, texts in archetypes.items()
        for place, text in enumerate(texts)
    )


def find_template_faults(templates: TemplateSet) -> list[str]:
    """Find archetypes with too few templates, and templates that documents and queries share."""
    faults = [
        f"{group} {name!r} has {len(set(texts))} templates, fewer than {LEAST_TEMPLATES}"
        for group, table in (("frame", templates.frames), ("filler", templates.fillers))
        for name, texts in table.items()
        if len(set(texts)) < LEAST_TEMPLATES
    ]
    archetypes = {template.archetype for template in templates.queries}
    wanted = {template.split for template in templates.queries} | {"heldout"}
    for archetype in sorted(archetypes):
        found = templates.queries_of(archetype)
        if len({template.text for template in found}) < LEAST_TEMPLATES:
            faults.append(f"query {archetype!r} has {len(found)} templates, fewer than {LEAST_TEMPLATES}")
        if {template.split for template in found} != wanted:
            faults.append(f"query {archetype!r} lacks tuning or held-out templates")
    splits: dict[str, set[str]] = {}
    for template in templates.queries:
        splits.setdefault(normalise_template(template.text), set()).add(template.split)
    faults += [f"query template {text!r} is in both splits" for text in sorted(splits) if len(splits[text]) > 1]
    shared = {normalise_template(text) for text in templates.document_texts()} & set(splits)
    return faults + [f"template {text!r} serves documents and queries" for text in sorted(shared) if _has_words(text)]


def find_missing_parts(templates: TemplateSet, model: TemplateSet) -> list[str]:
    """Find what a set lacks that the generator uses. `model` is a complete set: it has every key."""
    tables = ("words", "frames", "fillers", "titles")
    missing = [
        f"{table} {key!r} is missing"
        for table in tables
        for key in getattr(model, table)
        if key not in getattr(templates, table) and "/" not in key
    ]
    missing += [
        f"words {kind!r} has {len(set(words))} words, fewer than {LEAST_WORDS.get(kind, 1)}"
        for kind, words in templates.words.items()
        if len(set(words)) < LEAST_WORDS.get(kind, 1)
    ]
    missing += [
        f"frame {text!r} of {archetype!r} has no slot for the value"
        for archetype, texts in templates.frames.items()
        for text in texts
        if "{value" not in text
    ]
    archetypes = {template.archetype for template in templates.queries}
    needed = {template.archetype for template in model.queries}
    return missing + [f"query {archetype!r} is missing" for archetype in sorted(needed - archetypes)]


def find_shared_templates(one: TemplateSet, other: TemplateSet) -> list[str]:
    """Find the templates that two sets share; disjoint sets give an empty list."""
    mine, theirs = (
        {normalise_template(text) for text in (*texts.document_texts(), *(query.text for query in texts.queries))}
        for texts in (one, other)
    )
    return sorted(text for text in mine & theirs if _has_words(text))


def _has_words(template: str) -> bool:
    """Whether a normalised template has words of its own: "{ticket}" as a title has none to share."""
    return bool(template.replace("{}", "").strip())


def normalise_template(text: str) -> str:
    """A template without its slot names, case and punctuation: what two equal templates have in common."""
    return " ".join(re.findall(r"\w+|\{\}", _SLOT.sub("{}", text).casefold()))
