from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.util.thread_map import count_cores, thread_map


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=40), st.integers(0, 5))
def test_results_stand_in_the_order_of_the_items(items: list[int], workers: int) -> None:
    assert thread_map(lambda item: item * 2, items, workers) == [item * 2 for item in items]


def test_several_threads_work_at_once() -> None:
    both = threading.Barrier(2, timeout=10)  # passes only when two threads stand at it together
    assert thread_map(lambda item: both.wait() >= 0 and item, [1, 2], 2) == [1, 2]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_error_stops_the_others_and_is_raised(workers: int) -> None:
    seen = []

    def work(item: int) -> int:
        seen.append(item)
        if item == 3:
            raise ValueError("three")
        return item

    before = threading.active_count()
    with pytest.raises(ValueError, match="three"):
        thread_map(work, range(10_000), workers)
    assert len(seen) < 10_000
    assert threading.active_count() == before


def test_ctrl_c_ends_it_quickly() -> None:
    program = """
import signal, sys, time
from assay.util.thread_map import thread_map
def work(item):
    if item == 0: print("ready", flush=True)
    time.sleep(0.01)
try:
    thread_map(work, range(100_000), 4)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=60)
    assert rest == "stopped\n"
    assert child.returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_it_works_in_a_forked_child() -> None:
    program = """
import os
from assay.util.thread_map import thread_map
thread_map(str, range(9), 3)
child = os.fork()
if child == 0:
    os._exit(0 if thread_map(str, range(9), 3) == [str(n) for n in range(9)] else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_there_is_at_least_one_core() -> None:
    assert count_cores() >= 1
