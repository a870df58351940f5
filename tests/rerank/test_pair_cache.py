"""Scores of pairs are computed once, and a cache changes no score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.rerank.pair_cache import CachedPairs, hash_pair


class CountingReader:
    """Scores a pair by a function of both texts, and counts what it is asked."""

    def __init__(self, digest: str = "model-1", shift: float = 0.0) -> None:
        self.digest, self.shift = digest, shift
        self.asked: list[tuple[str, str]] = []

    def logits(self, query: str, texts: Sequence[str]) -> Any:
        self.asked += [(query, text) for text in texts]
        return np.array([len(query) / 3 - len(text) / 7 + self.shift for text in texts])


def test_a_pair_is_scored_once_and_comes_back_to_the_last_bit(tmp_path: Path) -> None:
    reader = CountingReader()
    cache = CachedPairs(reader, tmp_path / "pairs.sqlite")  # type: ignore[arg-type]
    texts = ["one", "three", "one", "\ud800 odd"]
    first = cache.logits("query", texts)
    assert first.tolist() == CountingReader().logits("query", texts).tolist()
    assert len(reader.asked) == 3, "an equal text of one call is scored once"
    assert (
        cache.logits("query", ["three", "new"]).tolist() == CountingReader().logits("query", ["three", "new"]).tolist()
    )
    assert reader.asked[3:] == [("query", "new")]
    assert (cache.hits, cache.misses) == (1, 4)
    cache.close()

    again = CountingReader(shift=99.0)
    reopened = CachedPairs(again, tmp_path / "pairs.sqlite")  # type: ignore[arg-type]
    assert reopened.logits("query", texts).tolist() == first.tolist()
    assert again.asked == []


def test_another_model_or_query_has_scores_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "pairs.sqlite"
    CachedPairs(CountingReader(), path).logits("query", ["text"])  # type: ignore[arg-type]
    other = CountingReader("model-2", shift=5.0)
    assert CachedPairs(other, path).logits("query", ["text"]).tolist() == other.logits("query", ["text"]).tolist()  # type: ignore[arg-type]
    same = CountingReader()
    CachedPairs(same, path).logits("other query", ["text"])  # type: ignore[arg-type]
    assert same.asked == [("other query", "text")]


def test_keys_do_not_depend_on_where_the_query_ends() -> None:
    assert hash_pair("ab", "c") != hash_pair("a", "bc")
    assert hash_pair("a", "b") != hash_pair("b", "a")


def test_the_file_holds_no_text(tmp_path: Path) -> None:
    cache = CachedPairs(CountingReader(), tmp_path / "pairs.sqlite")  # type: ignore[arg-type]
    cache.logits("a secret question", ["a secret passage"])
    cache.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"secret" not in stored


def test_a_damaged_file_is_bypassed(tmp_path: Path) -> None:
    path = tmp_path / "pairs.sqlite"
    path.write_bytes(b"no database" * 100)
    reader = CountingReader()
    assert CachedPairs(reader, path).logits("q", ["x"]).tolist() == CountingReader().logits("q", ["x"]).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1])
def test_no_pairs(tmp_path: Path, count: int) -> None:
    cache = CachedPairs(CountingReader(), tmp_path / "pairs.sqlite")  # type: ignore[arg-type]
    assert cache.logits("q", ["x"] * count).shape == (count,)
