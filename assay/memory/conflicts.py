"""Finds known memories that a new one may replace: the same subject and attribute, another value.

    subject     both name the same person or thing; without names, a third of their terms are the same
    attribute   cosine ≥ 0.75, or ≥ 0.55 with a value of the same kind (number, date, name), or ≥ 0.5 with a change word
    value       it is no duplicate

It is a proposal: nothing is superseded before the caller says so. Measured on the dev split of changing_facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.memory.types import Conflict, NearDuplicate
from assay.text.analyser import Analyser
from assay.text.statements import find_names, find_value_kinds, has_change_word

COSINE, COSINE_OF_KIND, COSINE_OF_CHANGE = 0.75, 0.55, 0.5
OVERLAP = 1 / 3
OVERLAP_ALONE = 0.5
"""The overlap required without a model."""


def find_conflicts(
    text: str, created: float, near: Sequence[NearDuplicate], analyser: Analyser
) -> tuple[Conflict, ...]:
    """Find the memories near a new text that it may replace, most similar first."""
    return tuple(
        Conflict(candidate.memory, why)
        for candidate in near
        if not candidate.duplicate and candidate.memory.created <= created
        for why in _reasons(text, candidate, analyser)
    )


def _reasons(text: str, candidate: NearDuplicate, analyser: Analyser) -> Iterator[str]:
    """Yield why a memory may be replaced, once; nothing when it may not."""
    known = candidate.memory.text
    names = _read_names(text) & _read_names(known)
    shared = {term for name in names for term in analyser.query_terms(name)}
    if not shared and candidate.overlap < OVERLAP:
        return
    attribute = _same_attribute(text, known, candidate)
    if attribute:
        subject = f"both are about {', '.join(sorted(names))}" if names else "both are about the same thing"
        yield f"{subject}, {attribute}"


def _same_attribute(text: str, known: str, candidate: NearDuplicate) -> str:
    cosine = candidate.cosine
    if cosine is None:
        return f"overlap {candidate.overlap:.2f}" if candidate.overlap >= OVERLAP_ALONE else ""
    if cosine >= COSINE:
        return f"cosine {cosine:.2f}"
    if cosine >= COSINE_OF_CHANGE and has_change_word(text):
        return f"cosine {cosine:.2f}, and the new one speaks of a change"
    kinds = find_value_kinds(text) & find_value_kinds(known)
    if cosine >= COSINE_OF_KIND and kinds:
        return f"cosine {cosine:.2f}, and both have a {min(kinds)}"
    return ""


def _read_names(text: str) -> set[str]:
    """The names of a statement; its first word counts if it is capitalised, because the subject stands there."""
    return {*find_names(text), *find_names(f"– {text}")} - _STARTS


_STARTS = frozenset(
    {
        *("A", "An", "The", "This", "That", "These", "Those", "I", "We", "You", "He", "She", "It", "They", "My", "Our"),
        *("Your", "His", "Her", "Their", "In", "On", "At", "For", "From", "Since", "Now", "If", "When", "Not", "No"),
        *("Never", "Use", "Always", "Please", "Correction"),
    }
)
"""Words that begin a sentence and name nothing."""
