"""A leg's k counts what the fuser counts: against the whole ranking, cut by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config.load import from_dict
from assay.engine import overfetch
from assay.engine.overfetch import OverfetchingSearch, cut_to_candidates
from assay.errors import OutOfTime
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import Chunk, Query, Ranking

FIRST = {"use": "bm25"}
NESTED = {"legs": {"bm25": {"k": 3}}, "fuse": {"use": "rrf"}}
GROUPED = {"legs": {"bm25": {"k": 3}}, "fuse": {"use": "rrf", "by": "session_id"}}


def store(sessions: list[int]) -> MemorySnapshot:
    """Chunk n says "key" in a text that grows with n, so BM25 ranks them in order; its session is sessions[n]."""
    return MemorySnapshot(
        [
            Chunk(f"c{n:03d}", f"d{n}", "key " + "x " * n, n + 1, meta={"session_id": f"s{session}"})
            for n, session in enumerate(sessions)
        ]
    )


def run(first: dict, k: int, view: MemorySnapshot):
    config = {"legs": {"first": {**first, "k": k}}, "fuse": {"use": "append_fill", "by": "session_id"}, "k": 1_000}
    return from_dict(config).run(Query("key"), view)


@pytest.mark.parametrize("first", [FIRST, NESTED, GROUPED], ids=["a leg", "a pipeline", "a pipeline by session"])
@given(sessions=st.lists(st.integers(0, 9), min_size=1, max_size=60), k=st.integers(1, 12))
def test_k_counts_sessions(first, sessions, k):
    """Nine chunks of one session in front are one candidate; the list is short only if the store has no more."""
    want = list(dict.fromkeys(sessions))[:k]
    answer = run({**first, **({"legs": {"bm25": {"k": k}}} if "legs" in first else {})}, k, store(sessions))
    chunks = answer.snapshot.chunks(answer.snapshot.rows(answer.chosen.ids))
    assert [chunk.meta["session_id"] for chunk in chunks] == [f"s{session}" for session in want]
    assert answer.chosen.ids.tolist() == [f"c{sessions.index(session):03d}" for session in want]


def test_without_groups_k_counts_chunks():
    config = {"legs": {"first": {**FIRST, "k": 3}}, "fuse": {"use": "append_fill"}}
    assert len(from_dict(config).run(Query("key"), store([0] * 9))) == 3


class Listing:
    """A search over a fixed list of chunks; records how many it was asked for."""

    def __init__(self, size: int) -> None:
        self.size, self.asked, self.cancelled = size, [], False

    def begin(self, k: int) -> Listing:
        self.asked.append(k)
        return self

    def result(self) -> Ranking:
        k = min(self.asked[-1], self.size)
        return found({f"c{n:05d}": 1.0 - n / 100_000 for n in range(k)})

    def cancel(self) -> None:
        self.cancelled = True


def test_the_next_request_goes_by_what_came_so_far():
    """20 chunks were 4 candidates: 20 are expected in 100, and a quarter more is asked for."""
    listing = Listing(1_000)
    ranking = OverfetchingSearch(listing.begin, 20, lambda r: len(r) // 5).result()
    assert listing.asked == [20, 125]
    assert len(ranking) == 125


def test_a_source_that_has_no_more_is_not_asked_again():
    listing = Listing(19)
    assert len(OverfetchingSearch(listing.begin, 20, lambda _: 1).result()) == 19
    assert listing.asked == [20]


def test_one_session_that_fills_the_store_ends_on_the_record(monkeypatch):
    monkeypatch.setattr(overfetch, "MOST_CHUNKS", 100)
    listing = Listing(1_000)
    ranking = OverfetchingSearch(listing.begin, 20, lambda _: 1).result()
    assert listing.asked == [20, 100]
    assert [note.text for note in ranking.notes] == ["stopped after 100 chunks with 1 of 20 candidates"]


def test_it_can_be_called_off():
    listing = Listing(1_000)
    search = OverfetchingSearch(listing.begin, 20, lambda _: search.cancel() or 1)
    with pytest.raises(OutOfTime, match="called off"):
        search.result()
    assert listing.cancelled
    assert listing.asked == [20]


def test_the_cut_ends_with_the_first_chunk_of_the_last_candidate():
    ranking = found({"a1": 0.9, "a2": 0.8, "b1": 0.7, "b2": 0.6, "c1": 0.5})
    candidates = found({"a1": 0.9, "b1": 0.7, "c1": 0.5})
    assert cut_to_candidates(ranking, candidates, 2).ids.tolist() == ["a1", "a2", "b1"]
    assert cut_to_candidates(ranking, candidates, 3) is ranking
