"""Storing a fact of known subject and attribute with another value: the outcome proposes what it may replace."""

from __future__ import annotations

import pytest

from assay.memory.compared_text import TextReader
from assay.memory.conflicts import find_conflicts
from assay.memory.entries import new_entry
from assay.memory.service import MemoryService
from assay.memory.types import NearDuplicate
from assay.text.analyser import Analyser


def near(text: str, cosine: float | None, overlap: float, *, duplicate: bool = False, created: float = 1.0):
    return NearDuplicate(
        new_entry(text, "global", "fact", 0.7, (), created, None, created), cosine, overlap, duplicate, "", ()
    )


@pytest.mark.parametrize(
    ("text", "known", "cosine", "overlap", "proposed"),
    [
        ("Ada has moved to Porto.", "Ada lives in Lisbon.", 0.5, 0.2, True),  # a change word
        ("Ada has moved to Porto.", "Ada lives in Lisbon.", 0.49, 0.2, False),
        ("Ada's flat is in Porto.", "Ada lives in Lisbon.", 0.55, 0.2, True),  # a name for a name
        ("Ada's flat is cosy.", "Ada lives in Lisbon.", 0.55, 0.2, False),
        ("Ada's flat is cosy.", "Ada lives in Lisbon.", 0.75, 0.2, True),
        ("Ben has moved to Porto.", "Ada lives in Lisbon.", 0.9, 0.2, False),  # somebody else
        ("the demo is on friday", "the demo is on monday", 0.9, 0.34, True),  # no names: by terms
        ("the demo is on friday", "the demo is on monday", 0.9, 0.33, False),
        ("the demo is on friday", "the demo is on monday", None, 0.5, True),  # no model
        ("the demo is on friday", "the demo is on monday", None, 0.49, False),
    ],
)
def test_what_may_be_replaced(text: str, known: str, cosine: float | None, overlap: float, proposed: bool) -> None:
    found = find_conflicts(text, 2.0, [near(known, cosine, overlap)], TextReader(Analyser()))
    assert [conflict.memory.text for conflict in found] == ([known] if proposed else [])


def test_a_duplicate_and_a_later_memory_are_not_replaced() -> None:
    text, known = "Ada has moved to Porto.", "Ada lives in Lisbon."
    assert find_conflicts(text, 2.0, [near(known, 0.9, 0.9, duplicate=True)], TextReader(Analyser())) == ()
    assert find_conflicts(text, 2.0, [near(known, 0.9, 0.9, created=3.0)], TextReader(Analyser())) == ()


def test_the_outcome_proposes_and_supersedes_does_it(mem: MemoryService) -> None:
    old = mem.store("The demo of Atlas is on Monday.").id
    stored = mem.store("The demo of Atlas is on Friday.")
    assert [conflict.memory.id for conflict in stored.conflicts] == [old]
    assert f"it may replace {old}" in stored.reason
    assert stored.to_json()["conflicts"][0]["id"] == old
    assert mem.get(old, scope="global").superseded_by == ""  # a proposal, nothing more
    done = mem.store("The demo of Atlas is on Sunday.", supersedes=[old, stored.id])
    assert (done.action, done.conflicts) == ("superseded", ())
