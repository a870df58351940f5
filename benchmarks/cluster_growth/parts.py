"""One part: a collection of one size, kind and number of nodes, whose files stay on disk between build and query."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.qdrant.collection import DEFAULT_WIDTH, PointCollection
from assay.backend.qdrant.filters import visible_filter
from assay.backend.qdrant.recall_measurement import calibrate_width
from assay.backend.qdrant.settings import QdrantSettings
from assay.index.recall import mean_recall, mix_queries
from assay.store.disk_usage import count_bytes
from assay.testing.qdrant import QdrantNode, QdrantNodes, fetch_binary, find_binary
from assay.testing.server_user import change_owner, open_folder
from assay.types import Vectors
from assay.util.qdrant_cluster import QdrantAddress, QdrantCluster
from benchmarks.cluster_growth.sending import WORKERS, send_rows
from benchmarks.data import questions, vectors
from benchmarks.measure import describe_machine, percentiles

DIM, POOL, SHALLOW = 384, 100, 10
QUERIES = 60
_SIZES = {"k": 1_000, "M": 1_000_000}
_NAME = re.compile(r"(?P<kind>exact|hnsw|int8)-(?P<count>\d+)(?P<unit>[kM])-(?P<nodes>[1-9])")
_TICKS = 100.0


@dataclass(frozen=True)
class GrowthPart:
    """A collection to be measured; `home` holds the facts and where its nodes are."""

    name: str
    home: Path

    def __post_init__(self) -> None:
        if _NAME.fullmatch(self.name) is None:
            raise SystemExit(f"{self.name!r} is no part; write KIND-SIZE-NODES, e.g. hnsw-300k-3")

    @property
    def _match(self) -> re.Match[str]:
        match = _NAME.fullmatch(self.name)
        assert match is not None
        return match

    @property
    def size(self) -> int:
        return int(self._match["count"]) * _SIZES[self._match["unit"]]

    @property
    def nodes(self) -> int:
        return int(self._match["nodes"])

    @property
    def settings(self) -> QdrantSettings:
        kind: Any = self._match["kind"]
        return QdrantSettings(vectors=kind, shards=self.nodes, timeout=600.0)

    @property
    def facts(self) -> dict[str, Any]:
        file = self.home / f"{self.name}.json"
        found: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
        return found

    def note(self, **more: Any) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / f"{self.name}.json").write_text(json.dumps({**self.facts, **more}, indent=1))

    # -- building

    def build(self) -> None:
        """Fill a new collection and wait for its graph; leaves the nodes' files, with what it took."""
        if "build" in self.facts:
            return
        folder = open_folder(f"assay-growth-{self.name}-")
        binary = find_binary() or fetch_binary()
        nodes = [_make_node(folder, number, binary) for number in range(self.nodes)]
        self.note(
            commit=describe_machine()["commit"],
            folder=str(folder),
            ports=[[node.http, node.grpc, node.p2p] for node in nodes],
        )
        began, client_cpu = time.monotonic(), time.process_time()
        with self.running() as (running, collection):
            collection.create(DIM, {"store": self.name})
            idle = _cpu_seconds(running)
            self._send(running, collection)
            sent, sent_cpu = time.monotonic() - began, _cpu_seconds(running)
            while not collection.wait_for_graph(lambda *_: None):
                pass
            info = collection.cluster.ask(lambda client: client.get_collection(collection.name))
            assert collection.count() == self.size
            self.note(
                build={
                    "wall_s": round(time.monotonic() - began, 1),
                    "sending_wall_s": round(sent, 1),
                    "server_cpu_s": round(_cpu_seconds(running) - idle, 1),
                    "server_cpu_s_while_sending": round(sent_cpu - idle, 1),
                    "client_cpu_s": round(time.process_time() - client_cpu, 1),
                    "client_workers": WORKERS,
                    "load_5m": round(os.getloadavg()[1], 1),
                    "segments": info.segments_count,
                    "indexed_vectors": info.indexed_vectors_count,
                    "peak_mb": [_status_mb(node, "VmHWM") for node in running.nodes],
                }
            )

    def _send(self, running: QdrantNodes, collection: PointCollection) -> None:
        from qdrant_client import QdrantClient

        node = running.nodes[0]
        client = QdrantClient(
            url=node.url, grpc_port=node.grpc, prefer_grpc=True, check_compatibility=False, timeout=600
        )
        send_rows(client, collection.name, self.size, self.nodes)
        client.close()

    # -- measuring

    def query(self) -> None:
        """Search a built collection with real questions; the machine should do nothing else."""
        if "build" not in self.facts or "query" in self.facts:
            return
        exact = self.settings.vectors == "exact"
        queries = questions()[1][:: len(questions()[1]) // QUERIES][:QUERIES]
        visible = visible_filter(1, None, None, None)
        with self.running() as (running, collection):
            fetched = {depth: collection.fetch_count(depth, exact) for depth in (SHALLOW, POOL)}
            for query in queries:
                collection.nearest(query, fetched[POOL], exact, visible)
            # Before the truth is searched: that reads every vector, and pages that are mapped count as resident.
            serving = [_status_mb(node, "VmRSS") for node in running.nodes]
            chosen = {} if exact else calibrate_width(collection, self._synthetic_queries(), visible, lambda *_: None)
            width = chosen.get("ef", DEFAULT_WIDTH)
            for query in queries[:10]:
                collection.nearest(query, fetched[POOL], exact, visible, width)
            measured: dict[str, Any] = {"chosen": chosen} if chosen else {}
            for depth, fetch in fetched.items():
                server, client, seconds = _cpu_seconds(running), time.process_time(), []
                found = []
                for query in queries:
                    began = time.perf_counter()
                    found.append(collection.nearest(query, fetch, exact, visible, width).rows)
                    seconds.append(time.perf_counter() - began)
                measured[f"k={depth}"] = {
                    **percentiles(seconds),
                    "server_cpu_ms": round((_cpu_seconds(running) - server) / len(queries) * 1_000.0, 3),
                    "client_cpu_ms": round((time.process_time() - client) / len(queries) * 1_000.0, 3),
                    **({} if exact else {"recall": self._recall(collection, queries, visible, depth, found)}),
                }
            self.note(
                query={
                    **measured,
                    "serving_mb": serving,
                    "load_5m": round(os.getloadavg()[1], 1),
                    "resident_mb": [_status_mb(node, "VmRSS") for node in running.nodes],
                    "anonymous_mb": [_status_mb(node, "RssAnon") for node in running.nodes],
                    "disk_mb": round(sum(count_bytes(node.folder / "storage") for node in running.nodes) / 2**20, 1),
                }
            )

    def _synthetic_queries(self) -> Vectors:
        """Queries between two stored vectors each, as an index measures itself with."""
        step = self.size // 2
        return mix_queries(vectors(0, 64), vectors(step, 64), np.random.default_rng(1))

    def _recall(
        self, collection: PointCollection, queries: np.ndarray, visible: Any, depth: int, found: list[Any]
    ) -> float:
        truth = [collection.nearest(query, depth, True, visible).rows for query in queries]
        return round(mean_recall(truth, found), 4)

    @contextmanager
    def running(self) -> Iterator[tuple[QdrantNodes, PointCollection]]:
        """The nodes over their files."""
        facts = self.facts
        folder = Path(facts["folder"])
        nodes = [
            QdrantNode(number, folder / f"node{number}" / "qdrant", folder / f"node{number}", *ports)
            for number, ports in enumerate(facts["ports"])
        ]
        running = QdrantNodes(folder, nodes)
        try:
            for node in nodes:
                running.run(node.number)
            cluster = QdrantCluster(QdrantAddress.parse(running.address), 600.0)
            yield running, PointCollection(cluster, "growth", self.settings)
            cluster.close()
        finally:
            for node in nodes:
                node.end()

    def remove(self) -> None:
        shutil.rmtree(self.facts.get("folder", self.home / "none"), ignore_errors=True)


def _make_node(folder: Path, number: int, binary: Path) -> QdrantNode:
    place = folder / f"node{number}"
    place.mkdir()
    change_owner(place)
    runnable = place / "qdrant"
    shutil.copy2(binary, runnable)
    change_owner(runnable)
    return QdrantNode(number, runnable, place)


def _cpu_seconds(running: QdrantNodes) -> float:
    """Processor seconds that all nodes have used."""
    total = 0.0
    for node in running.nodes:
        assert node.process is not None
        fields = Path(f"/proc/{node.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / _TICKS
    return total


def _status_mb(node: QdrantNode, name: str) -> float:
    assert node.process is not None
    lines = Path(f"/proc/{node.process.pid}/status").read_text().splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024.0, 1)
