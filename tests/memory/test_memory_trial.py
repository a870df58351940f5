"""A trial as a new user would make it: sixty memories, fifty-six questions, asked at once, later, and a year later.

The two files were written before any recall was run on them, and are frozen: their hash stands here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from assay import memory
from assay.embed import default_spec
from assay.memory.entries import new_entry
from assay.memory.writer import draft_entries, write_drafts
from assay.types import DAY

NOW = 1_790_000_000.0
TRIAL = Path(__file__).parent / "trial"
FROZEN = "01509126ce4d9cd8d4d071b9d84ebc4ff50c5861e6791fe42f9009f319d7e411"


def read_rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (TRIAL / name).read_text("utf-8").splitlines()]


MEMORIES = read_rows("memories.tsv")


def test_the_trial_is_the_one_that_was_frozen() -> None:
    content = b"".join((TRIAL / name).read_bytes() for name in ("memories.tsv", "questions.tsv"))
    assert hashlib.sha256(content).hexdigest() == FROZEN


def test_the_trial_is_large_enough_and_every_question_has_its_memory() -> None:
    memories, questions = read_rows("memories.tsv"), read_rows("questions.tsv")
    assert len(memories) >= 50
    assert len(questions) >= 40
    assert {answer for *_, answer in questions} <= {name for name, _ in memories}


@pytest.mark.skipif(default_spec() == "none", reason="no embedding model is installed")
@pytest.mark.parametrize("days", [0, 60, 365])
def test_the_right_memory_is_among_the_first_five_at_any_age(tmp_path: Path, days: int) -> None:
    questions = read_rows("questions.tsv")
    with memory.open(tmp_path / "m", clock=lambda: NOW) as trial:
        entries = [new_entry(text, "global", "fact", 0.7, (), NOW - days * DAY, None, NOW) for _, text in MEMORIES]
        drafts = draft_entries(trial.kb, entries)
        write_drafts(trial.kb, drafts, "stored", NOW)
        ids = {name: draft.memory.id for (name, _), draft in zip(MEMORIES, drafts, strict=True)}
        right = [
            ids[answer] in [hit.id for hit in trial.recall(text, scope="global", k=5).hits]
            for _, text, answer in questions
        ]
    assert sum(right) / len(right) >= 0.88, [
        row for row, is_right in zip(questions, right, strict=True) if not is_right
    ]
