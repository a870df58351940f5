"""Finds known memories that a new one may replace: the same subject and attribute, another value.

    subject     both name the same person or thing; without names, a third of their terms are the same
    attribute   cosine ≥ 0.75, or ≥ 0.55 with a value of the same kind (number, date, name), or ≥ 0.5 with a change word
    value       it is no duplicate

It is a proposal: nothing is superseded before the caller says so. Measured on the dev split of changing_facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.memory.compared_text import ComparedText, TextReader
from assay.memory.types import Conflict, NearDuplicate

COSINE, COSINE_OF_KIND, COSINE_OF_CHANGE = 0.75, 0.55, 0.5
OVERLAP = 1 / 3
OVERLAP_ALONE = 0.5
"""The overlap required without a model."""


def find_conflicts(
    text: str, created: float, near: Sequence[NearDuplicate], reader: TextReader
) -> tuple[Conflict, ...]:
    """Find the memories near a new text that it may replace, most similar first."""
    new = reader.read(text)
    return tuple(
        Conflict(candidate.memory, why)
        for candidate in near
        if not candidate.duplicate and candidate.memory.created <= created
        for why in _reasons(new, candidate, reader)
    )


def _reasons(new: ComparedText, candidate: NearDuplicate, reader: TextReader) -> Iterator[str]:
    """Yield why a memory may be replaced, once; nothing when it may not."""
    known = reader.read(candidate.memory.text)
    names = new.names & known.names
    if candidate.overlap < OVERLAP and not any(reader.read(name).terms for name in names):
        return
    attribute = _same_attribute(new, known, candidate)
    if attribute:
        subject = f"both are about {', '.join(sorted(names))}" if names else "both are about the same thing"
        yield f"{subject}, {attribute}"


def _same_attribute(new: ComparedText, known: ComparedText, candidate: NearDuplicate) -> str:
    cosine = candidate.cosine
    if cosine is None:
        return f"overlap {candidate.overlap:.2f}" if candidate.overlap >= OVERLAP_ALONE else ""
    if cosine >= COSINE:
        return f"cosine {cosine:.2f}"
    if cosine >= COSINE_OF_CHANGE and new.has_change_word:
        return f"cosine {cosine:.2f}, and the new one speaks of a change"
    kinds = new.value_kinds & known.value_kinds if cosine >= COSINE_OF_KIND else None
    return f"cosine {cosine:.2f}, and both have a {min(kinds)}" if kinds else ""
