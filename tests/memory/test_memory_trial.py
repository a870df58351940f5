"""A trial as a new user would make it: sixty memories, fifty-six questions, asked at once, later, and a year later.

The two files were written before any recall was run on them, and are frozen: their hash stands here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

TRIAL = Path(__file__).parent / "trial"
FROZEN = "01509126ce4d9cd8d4d071b9d84ebc4ff50c5861e6791fe42f9009f319d7e411"


def read_rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (TRIAL / name).read_text("utf-8").splitlines()]


def test_the_trial_is_the_one_that_was_frozen() -> None:
    content = b"".join((TRIAL / name).read_bytes() for name in ("memories.tsv", "questions.tsv"))
    assert hashlib.sha256(content).hexdigest() == FROZEN


def test_the_trial_is_large_enough_and_every_question_has_its_memory() -> None:
    memories, questions = read_rows("memories.tsv"), read_rows("questions.tsv")
    assert len(memories) >= 50
    assert len(questions) >= 40
    assert {answer for *_, answer in questions} <= {name for name, _ in memories}
