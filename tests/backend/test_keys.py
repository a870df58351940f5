"""Keys are looked for letter for letter, in texts that are never all held at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.backend.shared import exact_match as keys
from assay.types import Chunk, Rows


def read(rows: Rows, asked: list[int]) -> list[Chunk]:
    """Row r holds KEY_1 when r is a multiple of 3, and its words apart when not."""
    asked.append(len(rows))
    return [Chunk(str(row), "d", "say KEY_1" if row % 3 == 0 else "a key, and 1", 3) for row in rows.tolist()]


@given(st.lists(st.integers(0, 10_000), unique=True, max_size=40), st.integers(1, 9))
def test_however_many_are_read_at_once(rows: list[int], at_once: int) -> None:
    asked: list[int] = []
    before, keys._TEXTS = keys._TEXTS, at_once
    try:
        found = keys.filter_exact("key_1", np.array(rows, np.int64), lambda part: read(part, asked))
    finally:
        keys._TEXTS = before
    assert found.tolist() == [row for row in rows if row % 3 == 0]
    assert sum(asked) == len(rows)
    assert max(asked, default=0) <= at_once
