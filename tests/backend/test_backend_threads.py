"""Many threads on one knowledge base: no error, and every answer is that of some committed version."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay import kb as knowledge
from assay.backend.local import backend as local
from assay.backend.local.snapshot import LocalSnapshot
from assay.kb import KnowledgeBase
from assay.types import Chunk, Query
from assay.where import parse


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns much more often than usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run(jobs: list[Callable[[], None]]) -> list[BaseException]:
    """Each in a thread of its own; what they raised."""
    raised: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def version_text(version: int) -> list[Chunk]:
    """Ten chunks that all say which version wrote them; a mixture of two would show."""
    return [Chunk(f"c{i}", f"d{i}", f"gateway round{version} part{i} " + "filler " * 20, 24) for i in range(10)]


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_searching_while_writing_and_compacting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.backend.shared.filter_cache._MAX_ENTRIES", 1)  # the cache is cleared at every filter
    base = knowledge.open(tmp_path / "kb", embedder="none")
    base.backend.put((chunk, None) for chunk in version_text(0))
    base.backend.put((Chunk(f"still{i:04d}", "s", "gateway quiet", 2), None) for i in range(800))
    done = threading.Event()
    seen: list[tuple[int, str]] = []

    def search() -> None:
        while not done.is_set():
            view = base.snapshot()
            texts = [chunk.text for chunk in view.chunks(view.lexical(Query("gateway part0 part5"), 900).rows)]
            rounds = {text.split()[1] for text in texts if "round" in text}
            assert len(rounds) == 1, f"a mixture of versions: {rounds}"
            assert len(texts) == 810
            assert all("round" in text for text in texts[:2])
            assert len(base.search("gateway", k=20)) == 20
            seen.append((view.version, rounds.pop()))

    def filtered() -> None:
        number = 0
        while not done.is_set():
            number += 1
            query = Query("gateway", where=parse(f"tokens > {number % 40}"))
            found = base.snapshot().lexical(query, 2_000).rows
            assert len(found) == (810 if number % 40 < 2 else 10 if number % 40 < 24 else 0)

    def write() -> None:
        try:
            for version in range(1, 600):  # on a busy machine searches need more time to see some of them
                base.backend.put((chunk, None) for chunk in version_text(version))
                if version >= 60 and len({seen_at for seen_at, _ in list(seen)}) > 5:
                    return
        finally:
            done.set()

    def compact() -> None:
        while not done.is_set():
            base.optimize(force=True)

    assert run([search] * 6 + [filtered] * 2 + [write, compact]) == []
    assert len({version for version, _ in seen}) > 5
    assert all(text == f"round{max(version - 2, 0)}" for version, text in seen), "not what that version held"
    base.close()


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_old_versions_while_the_present_moves(tmp_path: Path) -> None:
    """Threads that read the past, each another version, while the present is written and indexed."""
    base = knowledge.open(tmp_path / "kb", embedder="none")
    for version in range(8):
        base.backend.put((chunk, None) for chunk in version_text(version))
    base.optimize()
    done = threading.Event()
    count = iter(range(10**6))

    def past(version: int) -> Callable[[], None]:
        def work() -> None:
            for _ in range(4):
                found = base.search("gateway", snapshot=f"v{version + 1}", pipeline="bm25")
                assert {hit.text.split()[1] for hit in found} == {f"round{version}"}
                next(count)

        return work

    def write() -> None:
        for version in range(8, 20):
            base.backend.put((chunk, None) for chunk in version_text(version))
            base.optimize(force=True)
        done.set()

    assert run([past(version) for version in (0, 2, 4, 5, 7)] + [write]) == []
    assert next(count) == 20
    base.close()


def test_a_search_is_not_held_up_by_an_old_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an index of the past is being built, the present is searched."""
    base = knowledge.open(tmp_path / "kb", embedder="none")
    for version in range(2):
        base.backend.put((chunk, None) for chunk in version_text(version))
    base.optimize()
    building, go_on = threading.Event(), threading.Event()
    index = base.backend.build_index

    def slow(*given: object, **more: object) -> object:
        building.set()
        assert go_on.wait(30)
        return index(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(base.backend, "build_index", slow)
    thread = threading.Thread(target=lambda: base.search("gateway", snapshot="v1"))
    thread.start()
    assert building.wait(30)
    assert len(base.search("gateway")) == 10
    base.backend.put([(Chunk("x", "x", "gateway", 1), None)])
    assert len(base.search("gateway", k=50)) == 11
    go_on.set()
    thread.join()
    base.close()


def test_a_held_answer_outlives_its_index(tmp_path: Path) -> None:
    """An answer keeps what it was made of: later writes, indexes and sweeps change nothing in it."""
    base = knowledge.open(tmp_path / "kb", embedder="none")
    base.backend.put((chunk, None) for chunk in version_text(0))
    base.optimize()
    held = [base.search("gateway", pipeline="bm25") for _ in range(2)]
    digest = held[0].digest
    for version in range(1, 5):
        base.backend.put((chunk, None) for chunk in version_text(version))
        base.optimize(force=True)
        base.optimize(force=True)
    assert {hit.text.split()[1] for hit in held[0]} == {"round0"}
    assert held[0].digest == digest
    view = held[1].snapshot
    assert isinstance(view, LocalSnapshot)
    assert len(view.chunks(view.live_rows(None))) == 10
    assert view.matches("tokens > 0", view.live_rows(None)).all()
    generations = tmp_path / "kb" / "generations"
    assert len(list(generations.iterdir())) >= 2
    del held, view
    base.optimize(force=True)
    base.optimize()
    assert len(list(generations.iterdir())) <= 2  # the one in use, and the one this process just left
    base.close()


def test_background_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding much starts an index in the background; nobody waits for it, closing does."""
    monkeypatch.setattr(local, "COMPACT_FROM", 50)
    base = knowledge.open(tmp_path / "kb", embedder="none")
    base.add([{"id": str(i), "text": f"gateway {i}"} for i in range(49)])
    assert base._compactor is None
    base.add([{"id": "one more", "text": "gateway"}])
    assert len(base.search("gateway", k=100)) == 50
    base.close()
    with knowledge.open(tmp_path / "kb") as again:
        assert again.backend.generation is not None
        assert again.backend.pending == 0
        assert len(again.search("gateway", k=100)) == 50


def test_a_compaction_that_fails_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is quiet; the tail answers, and `optimize` says what is wrong."""
    monkeypatch.setattr(local, "COMPACT_FROM", 5)
    base: KnowledgeBase = knowledge.open(tmp_path / "kb", embedder="none")
    (tmp_path / "kb" / "generations").write_text("in the way")
    base.add([{"id": str(i), "text": f"gateway {i}"} for i in range(20)])
    deadline = time.monotonic() + 30
    while base._compactor is None or base._compactor.is_alive():
        assert time.monotonic() < deadline
    assert len(base.search("gateway", k=100)) == 20
    with pytest.raises(knowledge.StoreError, match="could not be written"):
        base.optimize()
    base.close()
