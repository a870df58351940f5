"""Breaks a cluster in ways that leave its processes alive: cut links, full disks, a slow node, clocks that differ.

The load, the history and its checker are those of the campaign `cluster`. Networks and disks are made by the campaign
itself, in namespaces of its own; what may not be made here is reported as not run.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.testing.postgres import FAST, PostgresServer
from assay.testing.qdrant import QdrantNode, QdrantNodes
from assay.testing.server_user import open_folder
from benchmarks.torture import _small_disk, _switch
from benchmarks.torture._small_disk import SmallDisk
from benchmarks.torture._switch import CLIENT, NetworkSwitch
from benchmarks.torture.cluster import Cluster, find_missing, report_faults, run_trial, start_cluster
from benchmarks.torture.task import Task

ABOUT = "links cut, disks full, a slow node, clocks a day apart, under load: nothing is lost, no answer is wrong"
ROUNDS, SHORT = 1, 2
"""Trials of each fault; the short form plays the first ones of the table once."""
_DAY = 86_400
_NODE_MB, _PRIMARY_MB = 192, 448
_SOURCE = Path(__file__).with_name("_clock.c")
Start = Callable[[], contextlib.AbstractContextManager[Cluster]]


@dataclass
class BrokenCluster(Cluster):
    """A cluster with what can be broken of it."""

    switch: NetworkSwitch | None = None
    disks: list[SmallDisk] = field(default_factory=list)


@contextmanager
def _on_a_switch() -> Iterator[Cluster]:
    """Every Qdrant node in a network namespace of its own; the client and PostgreSQL in that of this process."""
    with ExitStack() as stack:
        switch = stack.enter_context(NetworkSwitch.make(3))

        def prepare(node: QdrantNode) -> None:
            node.host, node.namespace = switch.address(node.number), switch.namespace(node.number)

        primary = stack.enter_context(PostgresServer.start(FAST))
        standby = stack.enter_context(primary.start_standby())
        nodes = stack.enter_context(QdrantNodes.start(3, prepare=prepare))
        yield BrokenCluster(primary, standby, nodes, switch)


@contextmanager
def _on_a_small_node() -> Iterator[Cluster]:
    """Node 1 stores its data on a small disk."""
    with ExitStack() as stack:
        disks: list[SmallDisk] = []

        def prepare(node: QdrantNode) -> None:
            if node.number == 1:
                disks.append(stack.enter_context(SmallDisk.mount(node.folder / "storage", _NODE_MB)))

        primary = stack.enter_context(PostgresServer.start(FAST))
        standby = stack.enter_context(primary.start_standby())
        nodes = QdrantNodes.start(3, prepare=prepare)
        stack.callback(nodes.close)
        yield BrokenCluster(primary, standby, nodes, disks=disks)


@contextmanager
def _on_a_small_primary() -> Iterator[Cluster]:
    """The PostgreSQL primary has its data on a small disk."""
    with ExitStack() as stack:
        place = open_folder("assay-small-")
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        disk = stack.enter_context(SmallDisk.mount(place, _PRIMARY_MB))
        settings = {**FAST, "max_wal_size": "64MB", "min_wal_size": "32MB", "shared_buffers": "32MB"}
        primary = stack.enter_context(PostgresServer.start(settings, parent=place))
        standby = stack.enter_context(primary.start_standby())
        yield BrokenCluster(primary, standby, stack.enter_context(QdrantNodes.start(3)), disks=[disk])


@contextmanager
def _with_other_clocks() -> Iterator[Cluster]:
    """Every server has a wall clock of its own, up to two days apart."""
    with ExitStack() as stack:
        place = open_folder("assay-clock-")
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        shim = place / "clock.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(_SOURCE)], check=True)
        shim.chmod(0o755)

        def shifted(seconds: int) -> dict[str, str]:
            return {"LD_PRELOAD": str(shim), "CLOCK_SHIFT": str(seconds)}

        def prepare(node: QdrantNode) -> None:
            node.env.update(shifted((_DAY, -_DAY, 3_600)[node.number]))

        primary = stack.enter_context(PostgresServer.start(FAST, env=shifted(_DAY)))
        standby = stack.enter_context(primary.start_standby(env=shifted(-_DAY)))
        yield BrokenCluster(primary, standby, stack.enter_context(QdrantNodes.start(3, prepare=prepare)))


def _cut(one: str, other: str) -> Callable[[Any], Callable[[], None]]:
    def break_it(cluster: Any) -> Callable[[], None]:
        cluster.switch.cut(one, other)
        heal: Callable[[], None] = cluster.switch.heal
        return heal

    return break_it


def _cut_off(cluster: Any) -> Callable[[], None]:
    cluster.switch.cut_off("0")
    heal: Callable[[], None] = cluster.switch.heal
    return heal


def _fill_node(cluster: Any) -> Callable[[], None]:
    cluster.disks[0].fill()

    def heal() -> None:
        cluster.disks[0].free()
        node = cluster.nodes.nodes[1]
        if node.process is not None and node.process.poll() is not None:
            node.end()
            cluster.nodes.run(1)

    return heal


def _fill_primary(cluster: Any) -> Callable[[], None]:
    cluster.disks[0].fill()

    def heal() -> None:
        cluster.disks[0].free()
        if not cluster.primary.is_running:
            cluster.primary.kill()
            cluster.primary.run()

    return heal


def _slow_node(cluster: Any) -> Callable[[], None]:
    """Node 0 stands still four fifths of the time: it answers, and lags behind what it was sent."""
    stop = threading.Event()

    def stutter() -> None:
        while not stop.is_set():
            cluster.nodes.nodes[0].pause()
            stop.wait(0.4)
            cluster.nodes.nodes[0].resume()
            stop.wait(0.1)

    thread = threading.Thread(target=stutter, daemon=True)
    thread.start()

    def heal() -> None:
        stop.set()
        thread.join()
        cluster.nodes.nodes[0].resume()

    return heal


def _kill_with_other_clocks(cluster: Any) -> Callable[[], None]:
    cluster.nodes.nodes[2].end()

    def heal() -> None:
        cluster.nodes.run(2)

    return heal


FAULTS: dict[str, tuple[Start, Callable[[Any], Callable[[], None]]]] = {
    "the link between client and a node cut": (_on_a_switch, _cut(CLIENT, "0")),
    "the disk of a Qdrant node full": (_on_a_small_node, _fill_node),
    "the link between two nodes cut": (_on_a_switch, _cut("0", "1")),
    "a node cut off from everybody": (_on_a_switch, _cut_off),
    "the disk of the PostgreSQL primary full": (_on_a_small_primary, _fill_primary),
    "a node that stands still 80 % of the time": (start_cluster, _slow_node),
    "clocks two days apart, a node killed": (_with_other_clocks, _kill_with_other_clocks),
}


def campaign(task: Task) -> dict[str, Any]:
    missing = find_missing()
    if missing:
        return {"trials": 1, "outcomes": {f"not run: {missing}": 1}, "failures": []}
    obstacles = {_on_a_switch: _switch.find_obstacle(), _with_other_clocks: _find_compiler()}
    obstacles |= dict.fromkeys((_on_a_small_node, _on_a_small_primary), _small_disk.find_obstacle())
    names = list(FAULTS)

    def trial(number: int) -> dict[str, Any]:
        name = names[number % len(names)]
        start, fault = FAULTS[name]
        if why := obstacles.get(start, ""):
            return {"what": name, "outcome": f"not run: {why}"}
        return run_trial(name, fault, start, number, task.short)

    return report_faults(task.each(task.count(ROUNDS * len(names), SHORT), trial))


def _find_compiler() -> str:
    return "" if shutil.which("gcc") else "there is no gcc here"
