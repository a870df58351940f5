"""Another order than relevance, by hand."""

import numpy as np
import pytest

from assay.engine.order import arrange
from assay.errors import ConfigError
from assay.select.sort import Sort
from assay.testing.sample import sample_snapshot
from assay.types import Part, Query, Ranking

# created: keys-1 now, keys-2 14 days ago, keys-3 60, food-1 undated, food-2 240; importance 1, .5, 0, .7, 1
IDS = ("food-1", "keys-3", "food-2", "keys-2", "keys-1")


def ranked() -> Ranking:
    falling = np.linspace(1.0, 0.2, len(IDS))
    return arrange(Ranking.of(IDS, [Part("given", "add", falling)], "unit"))


def sorted_by(by: str, pool: int = 50) -> list[str]:
    return Sort(by=by, pool=pool).select(Query(), ranked(), sample_snapshot()).ids.tolist()


def test_orders() -> None:
    assert sorted_by("relevance") == list(IDS)
    assert sorted_by("recency") == ["keys-1", "keys-2", "keys-3", "food-2", "food-1"]
    assert sorted_by("importance") == ["food-2", "keys-1", "food-1", "keys-2", "keys-3"]


def test_only_the_pool_is_sorted() -> None:
    assert sorted_by("recency", pool=3) == ["keys-3", "food-2", "food-1", "keys-2", "keys-1"]


def test_scores_stay() -> None:
    after = Sort(by="recency").select(Query(), ranked(), sample_snapshot())
    assert dict(zip(after.ids.tolist(), after.score.tolist(), strict=True)) == dict(
        zip(IDS, ranked().score.tolist(), strict=True)
    )


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match=r"sort\.by"):
        Sort(by="size")
    with pytest.raises(ConfigError, match=r"sort\.pool"):
        Sort(pool=0)
