"""The tail of a store: the best k by words are those of a scan of every row, ties included, to the last bit."""

import random

import numpy as np
import pytest

import assay
from assay.types import Query
from assay.where import parse

WORDS = ("tea", "cup", "pot", "spoon", "saucer", "kettle")


@pytest.fixture
def snapshot(tmp_path):
    """Three hundred short texts of six words, never compacted, so that many scores are equal; some are gone."""
    pick = random.Random(7)
    with assay.open(tmp_path / "kb", embedder="none") as kb:
        texts = [" ".join(pick.choices(WORDS, k=pick.randint(1, 4))) for _ in range(300)]
        kb.add([{"id": f"d{place}", "text": text, "even": place % 2 == 0} for place, text in enumerate(texts)])
        for place in (3, 50, 299):
            kb.remove(f"d{place}")
        yield kb.snapshot()


@pytest.mark.parametrize("where", [None, "even = true"])
@pytest.mark.parametrize("k", [1, 5, 40, 1_000])
@pytest.mark.parametrize("text", ["tea", "tea spoon tea", "kettle saucer nothing", "nothing"])
def test_the_best_k_are_those_of_a_scan(snapshot, text, k, where):
    query = Query(text, where=None if where is None else parse(where))
    found = snapshot.lexical(query, k)
    every = snapshot.lexical_at(query, snapshot.live_rows(query.where))
    expected = sum((part.column for part in every.parts), np.zeros(len(every.rows)))
    got = sum((part.column for part in found.parts), np.zeros(len(found.rows)))
    kept = np.flatnonzero(expected > 0.0)
    best = kept[np.argsort(-expected[kept], kind="stable")][:k]
    assert got.tolist() == sorted(expected[kept], reverse=True)[:k]
    assert len(set(found.rows.tolist())) == len(best)
    lookup = dict(zip(every.rows.tolist(), expected.tolist(), strict=True))
    assert [lookup[row] for row in found.rows.tolist()] == got.tolist()
