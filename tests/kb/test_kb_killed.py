"""kill -9 at random moments: what was acknowledged is there, nothing is half there, indexes recover by themselves."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from child import Child
from corpus import expected, mark_of, text_of, write

import assay
from assay.ingest.discovery import hash_content
from assay.kb import KnowledgeBase
from assay.sync import WORKER_BYTES

FILES = 60
KILLS = 40


def acknowledged(log: Path) -> list[list[object]]:
    """Whole lines; a kill may have cut the last."""
    if not log.exists():
        return []
    lines = log.read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def check_sound(base: KnowledgeBase, revisions: dict[str, list[Path]]) -> None:
    """The database is whole, and every file is there with all the chunks of one of its revisions, or not at all."""
    assert base.store.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    live: dict[str, set[str]] = {}
    for origin, name in base.store.db.execute("SELECT origin, id FROM chunk WHERE died IS NULL AND origin <> ''"):
        live.setdefault(origin, set()).add(name)
    files = base.store.files()
    assert live.keys() <= files.keys()
    for origin, facts in files.items():
        told = {hash_content(path): path for path in revisions[origin]}
        assert facts.hash in told, f"{origin} is of no revision that ever was"
        assert live.get(origin, set()) == expected(told[facts.hash], origin).keys(), f"{origin} is half there"


def check_found(base: KnowledgeBase, log: Path) -> None:
    """Every acknowledged write is there, by id and (the newest) by search; every acknowledged removal is gone."""
    state: dict[str, bool] = {}
    for kind, name, *_ in acknowledged(log):
        if kind in ("put", "removed"):
            state[str(name)] = kind == "put"
        elif kind == "removing":
            state.pop(str(name))
    view = base.snapshot()
    for place, (name, there) in enumerate(reversed(state.items())):
        row = int(view.rows([name])[0])
        assert (row >= 0) == there, f"{name} was acknowledged as {'put' if there else 'removed'}"
        if place < 40:
            number = int(name.removeprefix("put"))
            ids = [hit.id for hit in base.search(f"single{number}", k=3, pipeline="bm25")]
            assert (name in ids) == there


@pytest.mark.slow
def test_killed_while_adding(tmp_path: Path, children: Callable[[int], list[Child]]) -> None:
    """One store, many kills: in the middle of single writes, of a folder in many commits, of files with indexing
    between them, and of building an index."""
    (child,) = children(1)
    rng = random.Random(7)
    store, log = tmp_path / "kb", tmp_path / "acks"
    assay.open(store, embedder="none").close()
    folder = write(tmp_path / "docs", range(FILES))
    old = tmp_path / "old"
    revisions = {f"docs/{path.name}": [path] for path in sorted(folder.iterdir())}
    singles = sorted(write(tmp_path / "singles", range(1_000, 1_400)).iterdir())
    revisions.update({path.name: [path] for path in singles})
    acked_files: list[str] = []
    hits = dict.fromkeys(("put", "folder", "files", "compact"), 0)
    for kill in range(KILLS):
        mode = ("put", "folder", "files", "compact")[kill % 4]
        if mode == "put":
            child.start("put_one_by_one", store=str(store), log=str(log), first=kill * 100_000)
        elif mode == "folder":
            changed = rng.sample(range(FILES), 20)
            for path in (folder / f"{number:05d}.md" for number in changed):
                kept = old / f"{kill:03d}-{path.name}"
                kept.parent.mkdir(exist_ok=True)
                path.rename(kept)
                history = revisions[f"docs/{path.name}"]
                history[-1] = kept
                history.append(path)
            write(folder, changed, revision=kill)
            child.start("add_folder", store=str(store), folder=str(folder), batch=12)
        elif mode == "files":
            left = [str(path) for path in singles if path.name not in acked_files]
            child.start("add_files", store=str(store), log=str(log), files=left, optimize_every=7)
        else:
            child.start("compact_forever", store=str(store))
        time.sleep(rng.uniform(0.01, 0.25))
        hits[mode] += child.kill() == -9
        with assay.open(store) as base:
            check_sound(base, revisions)
            check_found(base, log)
            acked_files = [Path(str(name)).name for kind, name, *_ in acknowledged(log) if kind == "file"]
            for name in acked_files[-5:]:
                number = int(name[:5])
                found = {hit.chunk.doc_id for hit in base.search(mark_of(number), k=3, pipeline="bm25")}
                assert found == {name}
            assert set(acked_files) <= base.store.files().keys()
    assert min(hits.values()) >= 3, f"too few were caught at work: {hits}"
    child.start("put_one_by_one", store=str(store), log=str(log), first=KILLS * 100_000)
    while len(acknowledged(log)) <= 10:  # on a busy machine few came through so far
        time.sleep(0.01)
    child.kill()
    with assay.open(store) as base:
        base.add(folder)
        base.optimize()
        check_sound(base, revisions)
        for path in folder.iterdir():
            origin = f"docs/{path.name}"
            assert base.store.live_chunks_of(origin).keys() == expected(path, origin).keys()
    with assay.open(store) as base:  # the index that was open while the next was built goes with a later sweep
        assert not base.optimize()
        named = base.store.setting("generation")
        assert [p.name for p in (store / "generations").iterdir()] == [named], "leftovers of killed builds"
        before = base.search("common gateway", k=50, pipeline="bm25")
        base.optimize(force=True)
        after = base.search("common gateway", k=50, pipeline="bm25")
        assert before.digest == after.digest, "a clean rebuild answers otherwise"
    assert [p.name for p in store.iterdir() if p.name.startswith(".assay.sqlite.")] == []


@pytest.mark.slow
def test_killed_while_making_the_store(tmp_path: Path, children: Callable[[int], list[Child]]) -> None:
    """A store is there whole or not at all."""
    (child,) = children(1)
    rng = random.Random(3)
    folder = write(tmp_path / "docs", range(3))
    made = 0
    for kill in range(8):
        store = tmp_path / f"kb{kill}"
        child.start("add_folder", store=str(store), folder=str(folder))
        time.sleep(rng.uniform(0.0, 0.03))
        child.kill()
        with assay.open(store, embedder="none") as base:
            made += bool(base.store.files())
            base.add(folder)
            assert len(base.store.files()) == 3
            check_sound(base, {f"docs/{path.name}": [path] for path in folder.iterdir()})
    assert made < 8


def helpers_of(pid: int) -> list[int]:
    """The live child processes of a process, by /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_killed_with_helpers(tmp_path: Path, children: Callable[[int], list[Child]]) -> None:
    """A large folder is read by helper processes: they go when the one they work for is killed."""
    (child,) = children(1)
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number:05d}.md").write_text(text_of(number, sections=12, words=1_000), "utf-8")
    assert sum(path.stat().st_size for path in folder.iterdir()) > WORKER_BYTES
    child.start("add_folder", store=str(tmp_path / "kb"), folder=str(folder), batch=500)
    seen: list[int] = []
    while child.pid and len(seen) < 2 and not (tmp_path / "kb" / "generations").exists():
        seen = helpers_of(child.pid)
    time.sleep(0.2)
    assert child.kill() == -9
    assert len(seen) == 2
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in seen):
        assert time.monotonic() < deadline, "a helper outlives the process it works for"
        time.sleep(0.02)
    with assay.open(tmp_path / "kb", embedder="none") as base:
        revisions = {f"docs/{path.name}": [path] for path in folder.iterdir()}
        check_sound(base, revisions)
        report = base.add(folder, compact=False)
        assert (report.added + report.unchanged, report.problems) == (60, [])
        half = base.store.db.execute(
            "SELECT origin FROM file f WHERE chunks <> (SELECT count(*) FROM chunk c WHERE c.origin = f.origin)"
        ).fetchall()
        assert half == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_interrupted_and_on(tmp_path: Path, children: Callable[[int], list[Child]], seed: int) -> None:
    """Ctrl-C at random moments in a program that goes on: no lock stays held, no transaction open, no row doubled."""
    (child,) = children(1)
    store, folder, log = tmp_path / "kb", tmp_path / "docs", tmp_path / "log"
    child.start("interrupted", store=str(store), folder=str(folder), seed=seed, turns=100, log=str(log))
    assert child.wait() == 0
    (caught,) = json.loads(log.read_text())
    assert caught > 15, "too few were caught at work"
    with assay.open(store) as base:
        for path in folder.iterdir():
            origin = f"docs/{path.name}"
            assert base.store.live_chunks_of(origin).keys() == expected(path, origin).keys()
