"""Facts about candidates, of which some are not in the view."""

import numpy as np
import pytest

from assay.engine.facts import chunks_of, matches_of, numbers_of, rows_of, vectors_of
from assay.testing.sample import sample_snapshot
from assay.types import Part, Ranking

SNAPSHOT = sample_snapshot()
IDS = ["keys-3", "elsewhere", "long-1"]


def ranking(rows):
    return Ranking.of(IDS, [Part("found", "add", np.array([0.9, 0.8, 0.7]))], "unit", rows=rows)


@pytest.mark.parametrize("rows", [None, np.array([2, -1, 5])])
def test_unknown_candidates(rows):
    given = ranking(rows)
    assert rows_of(given, SNAPSHOT).tolist() == [2, -1, 5]
    assert numbers_of(given, SNAPSHOT, "tokens").tolist() == pytest.approx([5.0, np.nan, 320.0], nan_ok=True)
    assert vectors_of(given, SNAPSHOT).tolist() == np.array([[0.6, 0.8, 0], [0, 0, 0], [0.8, 0, 0.6]], "f4").tolist()
    assert matches_of(given, SNAPSHOT, "importance < 2").tolist() == [True, False, True]
    assert [chunk and chunk.id for chunk in chunks_of(given, SNAPSHOT)] == ["keys-3", None, "long-1"]


def test_known_candidates_and_none():
    known = ranking(None).take(np.array([0, 2]))
    assert vectors_of(known, SNAPSHOT).shape == (2, 3)
    nobody = Ranking.empty("unit")
    assert chunks_of(nobody, SNAPSHOT) == []
    assert len(numbers_of(nobody, SNAPSHOT, "tokens")) == len(vectors_of(nobody, SNAPSHOT)) == 0
