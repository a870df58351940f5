"""What child processes do in the tests of this folder. Acknowledgements are written after the call returned."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import corpus
import numpy as np

import assay
from assay import kb as knowledge
from assay import sync as syncing
from assay.protocols import StoreView
from assay.types import Chunk


class Log:
    """Lines that survive a kill: each goes to the system before the next thing happens."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def line(self, *said: object) -> None:
        os.write(self._file, (json.dumps(said) + "\n").encode())


def put_one_by_one(store: str, log: str, first: int) -> None:
    """Single durable writes, each acknowledged; now and then a removal, acknowledged too."""
    acks = Log(log)
    base = assay.open(store)
    for number in range(first, first + 1_000_000):
        chunk = Chunk(f"put{number:06d}", f"doc{number}", f"single{number} common text", 3)
        base.backend.put([(chunk, None)])
        acks.line("put", chunk.id)
        if number % 5 == 4:
            acks.line("removing", f"put{number - 2:06d}")  # from here on it may be gone, though nobody said so
            base.backend.remove([f"put{number - 2:06d}"])
            acks.line("removed", f"put{number - 2:06d}")


def add_files(store: str, log: str, files: list[str], optimize_every: int) -> None:
    """One source per file, each acknowledged; an index is built every so often."""
    acks = Log(log)
    base = assay.open(store)
    for count, path in enumerate(files):
        base.add(path, compact=False)
        acks.line("file", path)
        if optimize_every and count % optimize_every == optimize_every - 1:
            base.optimize()
            acks.line("optimized", count)


def add_folder(store: str, folder: str, name: str | None = None, batch: int = 8_192, start: str = "") -> None:
    """A whole folder in small commits."""
    _wait_for(start)
    syncing._BATCH_UNEMBEDDED = batch
    with knowledge.open(store, embedder="none") as base:
        report = base.add(folder, name=name)
        assert not report.problems, report.problems


def compact_until(store: str, stop: str, log: str) -> None:
    base = assay.open(store)
    acks = Log(log)
    while not Path(stop).exists():
        base.optimize(force=True)
        acks.line("compacted", base.store.setting("generation"))


def compact_forever(store: str) -> None:
    base = assay.open(store)
    while True:
        base.optimize(force=True)


def search_until(store: str, stop: str, log: str, sizes: dict[str, int]) -> None:
    """Search and read all the time; every document is there whole or not at all, in whatever version we see."""
    base = assay.open(store)
    acks = Log(log)
    rounds = 0
    while not Path(stop).exists():
        answer = base.search("common gateway", k=50)
        assert all("common" in hit.text for hit in answer), [hit.text for hit in answer]
        view = answer.snapshot
        assert isinstance(view, StoreView)
        found: dict[str, int] = {}
        for chunk in view.chunks(view.live_rows(None)):
            found[chunk.doc_id] = found.get(chunk.doc_id, 0) + 1
        assert found == {name: sizes[name] for name in found}, "a document is half there"
        assert view.size == sum(found.values())
        rounds += 1
    acks.line("rounds", rounds, len(found))


def read_old_versions(store: str, versions: list[int], log: str) -> None:
    """Old moments are indexed on demand; several processes do it at once."""
    base = assay.open(store)
    for version in versions:
        answer = base.search("common", k=10_000, snapshot=f"v{version}", pipeline="bm25")
        Log(log).line(version, sorted(answer.chosen.ids.tolist()), [float(s) for s in np.sort(answer.chosen.score)])


def interrupted(store: str, folder: str, seed: int, turns: int, log: str) -> None:
    """Ctrl-C at random moments, and on with the same knowledge base: after each it is sound and does its work."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, stop)
    rng = random.Random(seed)
    docs = corpus.write(Path(folder), range(30))
    base = knowledge.open(store, embedder="none")
    base.add(docs)
    seconds = dict.fromkeys(("add", "search", "optimize", "put", "old", "remove"), 0.01)  # what each takes, at least
    caught = 0
    for turn in range(turns):
        what = rng.choice(sorted(seconds))
        if what == "add":
            corpus.write(docs, rng.sample(range(30), 10), turn + 1)
        work = {
            "add": lambda: base.add(docs),
            "search": lambda: base.search("common gateway", where="tokens > 3"),
            "optimize": lambda: base.optimize(force=True),
            "put": lambda turn=turn: base.add([{"id": f"r{turn}", "text": f"record{turn} common"}]),
            "old": lambda: base.search("common", snapshot=f"v{rng.randint(1, base.store.version())}"),
            "remove": lambda: base.remove(f"docs/{rng.randrange(30):05d}.md"),
        }[what]
        begun = time.perf_counter()
        try:  # the clock strikes once, so nothing comes after this
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0001, seconds[what]))
            try:
                work()
            except assay.errors.StoreError as error:
                if "nothing here is called" not in error.message:
                    raise
            signal.setitimer(signal.ITIMER_REAL, 0)
            seconds[what] = 0.8 * (time.perf_counter() - begun)
        except KeyboardInterrupt:
            caught += 1
        except TypeError as error:  # numpy's tofile turns an interrupt in its first microseconds into this
            if "os.PathLike" not in str(error):
                raise
            caught += 1
        view = base.snapshot()
        shown = [chunk.id for chunk in view.chunks(view.live_rows(None))]
        assert shown == [name for name, _ in base.store.live_at(base.store.version())], "view and store differ"
        assert view.size == len(shown)
        base.add([{"id": "alive", "text": f"alive{turn}"}])
        assert base.search(f"alive{turn}", k=1)[0].text == f"alive{turn}"
    base.add(docs)
    base.optimize(force=True)
    base.close()
    Log(log).line(caught)


def _wait_for(path: str) -> None:
    while path and not Path(path).exists():
        time.sleep(0.001)
