"""Breaks a cluster under load: three Qdrant nodes, a PostgreSQL primary with a synchronous standby.

One thread writes, one keeps the index in step, two search; each has connections of its own, as on machines of their
own. All operations are recorded with the times at which they began and ended. The checker asks of every search that it
finds, whole, each document whose write had returned before the search began, and none whose deletion had. A search may
fail while PostgreSQL is down; it may never be wrong. What was under way during a fault may be there or not, never half.
"""

from __future__ import annotations

import importlib.util
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.backend.addresses import create_backend, open_backend
from assay.errors import StoreError
from assay.testing.backends import DIM, random_vector
from assay.testing.postgres import FAST, PostgresServer, find_binaries
from assay.testing.qdrant import QdrantNodes, fetch_binary, find_binary
from assay.types import Chunk, Query
from benchmarks.torture.task import Task, summarise

ABOUT = (
    "nodes killed, paused, lost under load: nothing acknowledged is lost, nothing deleted returns, no answer is wrong"
)
ROUNDS = 3
"""Trials of each fault."""
BEFORE_S, DURING_S, AFTER_S = 3.0, 4.0, 3.0
_PARTS = 2
"""Chunks of a document: a document is there whole or not at all."""
_PATIENCE_S = 120.0
_ADDRESS = re.compile(r"(?:postgres|qdrant|http)s?://[^\s'\";]+")


@dataclass
class Operation:
    """One write or deletion of a document; `done` is None while it is under way, and for good when it failed."""

    begun: float
    done: float | None = None


@dataclass
class History:
    """What was done to every document, and what every search saw."""

    writes: dict[int, Operation] = field(default_factory=dict)
    deletions: dict[int, Operation] = field(default_factory=dict)
    searches: list[tuple[int, float, float, int]] = field(default_factory=list)
    """(document, begun, done, chunks found)"""
    failures: list[tuple[float, str]] = field(default_factory=list)
    degraded: int = 0
    indexed: int = 0
    """Searches that the index served."""
    wrong: list[str] = field(default_factory=list)

    def check(self) -> list[str]:
        """A sentence for every search that no order of the operations explains."""
        return [*self.wrong, *filter(None, map(self._explain, self.searches))]

    def _explain(self, search: tuple[int, float, float, int]) -> str:
        number, begun, done, found = search
        write, deletion = self.writes[number], self.deletions.get(number)
        if found not in (0, _PARTS):
            return f"document {number} was seen with {found} of {_PARTS} chunks"
        written = write.done is not None and write.done < begun
        if written and (deletion is None or deletion.begun > done) and not found:
            return f"document {number} was written and not found"
        if deletion is not None and deletion.done is not None and deletion.done < begun and found:
            return f"document {number} was deleted and found again"
        return "" if not found or write.begun < done else f"document {number} was found before it was written"


@dataclass
class Cluster:
    """The servers of one trial."""

    primary: PostgresServer
    standby: PostgresServer
    nodes: QdrantNodes

    @property
    def address(self) -> str:
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.primary, self.standby))
        options = "schema=torture&target_session_attrs=read-write&connect_timeout=2"
        index = f"index={self.nodes.address}&index_shards=3&index_replicas=2&index_vectors=exact&index_timeout=2"
        return f"postgres://postgres@{hosts}/postgres?{options}&{index}"


def _kill_nodes(*numbers: int) -> Callable[[Cluster], Callable[[], None]]:
    def break_it(cluster: Cluster) -> Callable[[], None]:
        for number in numbers:
            cluster.nodes.nodes[number].end()
        return lambda: [cluster.nodes.run(number) for number in numbers] and None

    return break_it


def _pause_node(cluster: Cluster) -> Callable[[], None]:
    cluster.nodes.nodes[0].pause()
    return cluster.nodes.nodes[0].resume


def _kill_primary(cluster: Cluster) -> Callable[[], None]:
    cluster.primary.kill()
    cluster.standby.promote()
    return lambda: None


def _restart_all(cluster: Cluster) -> Callable[[], None]:
    for node in cluster.nodes.nodes:
        node.end()
    cluster.primary.kill()

    def heal() -> None:
        cluster.primary.run()
        for node in cluster.nodes.nodes:
            cluster.nodes.run(node.number)

    return heal


def _drop_collection(cluster: Cluster) -> Callable[[], None]:
    from qdrant_client import QdrantClient

    client = QdrantClient(url=cluster.nodes.nodes[0].url, check_compatibility=False, timeout=60)
    for collection in client.get_collections().collections:
        client.delete_collection(collection.name)
    client.close()
    return lambda: None


FAULTS: dict[str, Callable[[Cluster], Callable[[], None]]] = {
    "one Qdrant node killed": _kill_nodes(2),
    "two Qdrant nodes killed": _kill_nodes(1, 2),
    "a Qdrant node paused": _pause_node,
    "the PostgreSQL primary killed, its standby promoted": _kill_primary,
    "everything killed and restarted": _restart_all,
    "the collection dropped": _drop_collection,
}


def campaign(task: Task) -> dict[str, Any]:
    missing = find_missing()
    if missing:
        return {"trials": 1, "outcomes": {f"not run: {missing}": 1}, "failures": []}
    names = list(FAULTS)

    def trial(number: int) -> dict[str, Any]:
        name = names[number % len(names)]
        return run_trial(name, FAULTS[name], start_cluster, number, task.short)

    return report_faults(task.each(task.count(ROUNDS * len(names), 1), trial))


def report_faults(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The report of trials: what happened, by fault."""
    played = [result for result in results if "searches" in result]
    faults = {name: [r for r in played if r["what"] == name] for name in dict.fromkeys(r["what"] for r in played)}
    return {
        **summarise(results, ["wrong", "not recovered"]),
        "wrong": [sentence for result in played for sentence in result["wrong"]][:50],
        "writes": sum(result["writes"] for result in played),
        "searches": sum(result["searches"] for result in played),
        "by_fault": {
            name: {
                "searches": sum(r["searches"] for r in found),
                "failed_searches": sum(r["failed"] for r in found),
                "degraded_searches": sum(r["degraded"] for r in found),
                "searches_by_index": sum(r["indexed"] for r in found),
                "seconds_to_answer": [r["seconds_to_answer"] for r in found],
                "seconds_to_index": [r["seconds_to_index"] for r in found],
                "messages": sorted({message for r in found for message in r.get("messages", ())})[:6],
            }
            for name, found in faults.items()
        },
    }


def find_missing() -> str:
    """Why no cluster can be started here; "" where it can."""
    if find_binaries() is None or importlib.util.find_spec("qdrant_client") is None:
        return "PostgreSQL or the client of Qdrant is not installed"
    try:
        if find_binary() is None:
            fetch_binary()
    except StoreError as error:
        return error.message
    return ""


def run_trial(
    name: str,
    fault: Callable[[Any], Callable[[], None]],
    start: Callable[[], AbstractContextManager[Cluster]],
    seed: int,
    short: bool,
) -> dict[str, Any]:
    """Break a cluster under load, heal it, and check everything that was seen."""
    with start() as cluster:
        create_backend(
            cluster.address,
            {"embedder": "none", "model": "m", "dim": DIM, "language": "english", "profile": "default"},
        ).close()
        history, stop = History(), threading.Event()
        load = _start_load(cluster, history, stop, seed)
        pace = 0.4 if short else 1.0
        _wait_for_index(history)  # a fault before it serves would test PostgreSQL alone
        time.sleep(BEFORE_S * pace)
        broken = time.monotonic()
        heal = fault(cluster)
        time.sleep(DURING_S * pace)
        heal()
        time.sleep(AFTER_S * pace)
        stop.set()
        for thread in load:
            thread.join()
        answered = [done for _, begun, done, _ in history.searches if begun > broken]
        indexed = _verify(cluster, history)
        wrong = history.check()
        return {
            "what": name,
            "outcome": "wrong" if wrong else "kept" if indexed is not None else "not recovered",
            "wrong": wrong[:10],
            "writes": sum(write.done is not None for write in history.writes.values()),
            "searches": len(history.searches),
            "failed": len(history.failures),
            "messages": sorted({_ADDRESS.sub("ADDRESS", message) for _, message in history.failures})[:6],
            "degraded": history.degraded,
            "indexed": history.indexed,
            "seconds_to_answer": round(min(answered) - broken, 2) if answered else None,
            "seconds_to_index": None if indexed is None else round(indexed, 2),
        }


@contextmanager
def start_cluster() -> Iterator[Cluster]:
    """Three Qdrant nodes, a PostgreSQL primary and its standby, on loopback."""
    with ExitStack() as stack:
        primary = stack.enter_context(PostgresServer.start(FAST))
        standby = stack.enter_context(primary.start_standby())
        yield Cluster(primary, standby, stack.enter_context(QdrantNodes.start(3)))


def _start_load(cluster: Cluster, history: History, stop: threading.Event, seed: int) -> list[threading.Thread]:
    works = [_write, _maintain, _search, _search]
    threads = [
        threading.Thread(target=_repeat, args=(work, cluster, history, stop, seed * 10 + place), daemon=True)
        for place, work in enumerate(works)
    ]
    for thread in threads:
        thread.start()
    return threads


def _wait_for_index(history: History) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not history.indexed:
        if time.monotonic() > until:
            raise StoreError("the index of the cluster did not come into service", "see the logs of its nodes")
        time.sleep(0.1)


def _repeat(work: Any, cluster: Cluster, history: History, stop: threading.Event, seed: int) -> None:
    """Do one kind of work with a connection of its own until the trial ends; a failed step is recorded."""
    drawn = random.Random(seed)
    backend = None
    while not stop.is_set():
        try:
            backend = backend or open_backend(cluster.address)
            work(backend, history, drawn)
        except StoreError as error:
            history.failures.append((time.monotonic(), error.message.splitlines()[0][:600]))
            time.sleep(0.05)
    if backend is not None:
        backend.close()


def _write(backend: Any, history: History, drawn: random.Random) -> None:
    """Write a document, and delete one of the older ones now and then."""
    number = len(history.writes)
    operation = history.writes[number] = Operation(time.monotonic())
    backend.put((chunk, random_vector(drawn)) for chunk in _document(number))
    operation.done = time.monotonic()
    known = [n for n, write in list(history.writes.items()) if write.done is not None and n not in history.deletions]
    if number % 4 == 3 and known:
        gone = drawn.choice(known)
        deletion = history.deletions[gone] = Operation(time.monotonic())
        backend.remove([chunk.id for chunk in _document(gone)])
        deletion.done = time.monotonic()


def _document(number: int) -> list[Chunk]:
    name = _word(number)
    return [
        Chunk(f"{name}-{part}", name, f"the ledger of {name} has page {part} in the archive", 9)
        for part in range(_PARTS)
    ]


def _word(number: int) -> str:
    """A word that no other document has, and that no stemmer shortens to another one's."""
    letters = np.base_repr(number + 1, 21)
    return "doc" + "".join("bcdfghjklmnpqrstvwxyz"[int(digit, 21)] for digit in letters) + "q"


def _maintain(backend: Any, _: History, drawn: random.Random) -> None:
    backend.compact()
    time.sleep(0.2 + drawn.random() * 0.2)


def _search(backend: Any, history: History, drawn: random.Random) -> None:
    if not history.writes:
        time.sleep(0.02)
        return
    number = drawn.randrange(len(history.writes))
    begun = time.monotonic()
    view = backend.snapshot()
    matches = view.lexical(Query(_word(number)), 10)
    chunks = view.chunks(matches.rows)
    done = time.monotonic()
    expected = {chunk.id: chunk.text for chunk in _document(number)}
    history.wrong += [f"a search for {number} gave {c.id}: {c.text!r}" for c in chunks if expected.get(c.id) != c.text]
    history.degraded += any(note.kind == "degraded" for note in matches.notes)
    history.indexed += any(note.text.startswith("Qdrant") for note in matches.notes)
    history.searches.append((number, begun, done, len(chunks)))


def _verify(cluster: Cluster, history: History) -> float | None:
    """After everything is healed: search for every document, then wait for the index. Seconds until it served."""
    began = time.monotonic()
    backend = _open_patiently(cluster)
    if backend is None:
        return None
    try:
        for number in list(history.writes):
            view = backend.snapshot()
            begun = time.monotonic()
            found = view.lexical(Query(_word(number)), 10)
            history.searches.append((number, begun, time.monotonic(), len(found.rows)))
        while time.monotonic() - began < _PATIENCE_S:
            try:
                backend.compact()
                notes = backend.snapshot().lexical(Query("ledger"), 5).notes
                if any(note.text.startswith("Qdrant") for note in notes):
                    return time.monotonic() - began
            except StoreError:
                pass
            time.sleep(0.3)
        return None
    finally:
        backend.close()


def _open_patiently(cluster: Cluster) -> Any | None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        try:
            return open_backend(cluster.address)
        except StoreError:
            time.sleep(0.3)
    return None
