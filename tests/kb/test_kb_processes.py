"""Several processes on one store: nothing lost, nothing doubled, nobody sees half a file."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from child import Child
from corpus import expected, write

import assay
from assay import kb as knowledge


def counts(store: Path) -> Counter[str]:
    """Live chunks per document."""
    with assay.open(store) as base:
        assert base.store.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        chunks = list(base.chunks())
        assert len({chunk.id for chunk in chunks}) == len(chunks), "a chunk stands there twice"
        assert [chunk.id for chunk in chunks] == sorted(chunk.id for chunk in chunks)
        return Counter(chunk.doc_id for chunk in chunks)


def sizes(folder: Path, source: str) -> dict[str, int]:
    return {f"{source}/{p.name}": len(expected(p, f"{source}/{p.name}")) for p in sorted(folder.iterdir())}


@pytest.mark.slow
@pytest.mark.parametrize("writers", [2, 4])
def test_writers_with_folders_of_their_own(
    tmp_path: Path, children: Callable[[int], list[Child]], writers: int
) -> None:
    """They begin at once, on a store that is not there yet; a reader looks on all the time."""
    *adding, reading = children(writers + 1)
    store, start, stop, log = (tmp_path / name for name in ("kb", "start", "stop", "log"))
    wanted: dict[str, int] = {}
    for number, child in enumerate(adding):
        folder = write(tmp_path / f"docs{number}", range(number * 1_000, number * 1_000 + 40))
        wanted |= sizes(folder, folder.name)
        child.start("add_folder", store=str(store), folder=str(folder), batch=10, start=str(start))
    start.touch()
    while not (store / "assay.sqlite").exists():
        time.sleep(0.001)
    reading.start("search_until", store=str(store), stop=str(stop), log=str(log), sizes=wanted)
    assert [child.wait() for child in adding] == [0] * writers
    time.sleep(0.1)
    stop.touch()
    assert reading.wait() == 0
    assert counts(store) == wanted
    said, rounds, seen = json.loads(log.read_text())
    assert (said, seen) == ("rounds", len(wanted))
    assert rounds > 1


@pytest.mark.slow
def test_writers_of_the_same_folder(tmp_path: Path, children: Callable[[int], list[Child]]) -> None:
    crew = children(4)
    store, start = tmp_path / "kb", tmp_path / "start"
    folder = write(tmp_path / "docs", range(60))
    for child in crew:
        child.start("add_folder", store=str(store), folder=str(folder), batch=15, start=str(start))
    start.touch()
    assert [child.wait() for child in crew] == [0] * 4
    assert counts(store) == sizes(folder, "docs")
    with assay.open(store) as base:
        version = base.store.version()
        report = base.add(folder)
        assert (report.unchanged, report.chunks_added, report.version) == (60, 0, version)
        dead = base.store.db.execute("SELECT count(*) FROM chunk WHERE died IS NOT NULL").fetchone()[0]
        assert dead == 0, "the same content was written over and over"


@pytest.mark.slow
def test_one_name_for_two_folders(tmp_path: Path, children: Callable[[int], list[Child]]) -> None:
    """Two folders that share a name, added at once: one is refused; nobody's chunks are deleted."""
    crew = children(2)
    store, start = tmp_path / "kb", tmp_path / "start"
    knowledge.open(store, embedder="none").close()
    for turn in range(5):
        start.unlink(missing_ok=True)
        folders = [
            write(tmp_path / f"{side}{turn}" / f"docs{turn}", range(n, n + 5)) for side, n in (("a", 0), ("b", 9))
        ]
        for child, folder in zip(crew, folders, strict=True):
            child.start("add_folder", store=str(store), folder=str(folder), start=str(start))
        start.touch()
        ends = [child.wait() for child in crew]
        assert sorted(ends) == [0, 1]
        with assay.open(store) as base:
            there = set(base.store.files(f"docs{turn}"))
        winner = folders[ends.index(0)]
        assert there == set(sizes(winner, f"docs{turn}"))


@pytest.mark.slow
def test_readers_while_another_compacts(tmp_path: Path, children: Callable[[int], list[Child]]) -> None:
    """Generations are swapped and swept under two readers, and chunks come and go meanwhile."""
    compacting, first, second, third = children(4)
    store, stop = tmp_path / "kb", tmp_path / "stop"
    folder = write(tmp_path / "docs", range(80))
    more = write(tmp_path / "more", range(500, 540))
    wanted = sizes(folder, "docs") | sizes(more, "more")
    with knowledge.open(store, embedder="none") as base:
        base.add(folder)
    for number, child in enumerate((first, second)):
        child.start("search_until", store=str(store), stop=str(stop), log=str(tmp_path / f"log{number}"), sizes=wanted)
    compacting.start("compact_until", store=str(store), stop=str(stop), log=str(tmp_path / "compacted"))
    third.start("add_folder", store=str(store), folder=str(more), batch=6)
    assert third.wait() == 0
    time.sleep(1.0)
    stop.touch()
    assert [child.wait() for child in (compacting, first, second)] == [0, 0, 0]
    built = [json.loads(line)[1] for line in (tmp_path / "compacted").read_text().splitlines()]
    assert len(set(built)) > 3, "too few generations came and went"
    for number in range(2):
        assert json.loads((tmp_path / f"log{number}").read_text())[1] > 3
    assert counts(store) == wanted
    with assay.open(store) as base:
        base.optimize()
        assert [p.name for p in (store / "generations").iterdir()] == [base.store.setting("generation")]


@pytest.mark.slow
def test_old_versions_read_by_several_processes(tmp_path: Path, children: Callable[[int], list[Child]]) -> None:
    """An index of an old version is built on demand: processes that want the same one, or others, do not collide."""
    crew = children(3)
    store = tmp_path / "kb"
    with knowledge.open(store, embedder="none") as base:
        states = []
        for number in range(6):
            base.add(write(tmp_path / "docs", [number, number + 1]))
            answer = base.search("common", k=10_000, pipeline="bm25")
            states.append((base.store.version(), sorted(answer.chosen.ids.tolist())))
        base.optimize()
    asked = [version for version, _ in states[:-1]]
    orders = [asked * 2, asked[::-1] * 2, asked[1:] + asked[:1] + asked]
    for number, (child, order) in enumerate(zip(crew, orders, strict=True)):
        child.start("read_old_versions", store=str(store), versions=order, log=str(tmp_path / f"log{number}"))
    assert [child.wait() for child in crew] == [0, 0, 0]
    scores: dict[int, list[float]] = {}
    for number in range(3):
        lines = [json.loads(line) for line in (tmp_path / f"log{number}").read_text().splitlines()]
        assert [line[0] for line in lines] == orders[number]
        for version, ids, score in lines:
            assert ids == dict(states)[version]
            assert scores.setdefault(version, score) == score
    assert not [p.name for p in (store / "snapshots").iterdir() if p.is_dir() and p.name.startswith(".")]
