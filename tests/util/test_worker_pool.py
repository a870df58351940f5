"""Worker processes: order, bounds, errors, crashes, and no process left running."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from assay.errors import BadFile, ConfigError
from assay.util.worker_pool import MAX_WAITING_PARTS, WorkerCrashed, WorkerPool, WorkersUnavailable, count_workers

WORKER = """
import os, signal, time
from assay.errors import BadFile
from assay.util.worker_pool import serve_tasks

class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a)

def handler(setup):
    def answer(task):
        if task == "die":
            yield "a part"
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "bad":
            raise BadFile("nothing in it", "fill it")
        if task == "odd":
            raise Odd(1, 2)
        if task == "print":
            print("to standard output")
            os.write(1, b"and to the bare descriptor")
        if task == "pid":
            yield os.getpid()
        if task == "slow":
            time.sleep(600)
        if isinstance(task, int):
            for n in range(task):
                yield setup, task, n
    return answer

if __name__ == "__main__":
    serve_tasks(handler)
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "worker_under_test.py").write_text(WORKER)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "worker_under_test"


def test_results_come_in_the_order_of_the_tasks(worker: str) -> None:
    tasks = [3, 0, 5, 1, 2 * MAX_WAITING_PARTS, 4]
    with WorkerPool(worker, "s", tasks, 2) as pool:
        results = [list(parts) for parts in pool]
    assert results == [[("s", task, n) for n in range(task)] for task in tasks]


def test_parts_that_the_caller_does_not_read_are_skipped(worker: str) -> None:
    with WorkerPool(worker, 0, [50, 2, 50, 1], 2) as pool:
        assert [next(parts) for parts in pool] == [(0, 50, 0), (0, 2, 0), (0, 50, 0), (0, 1, 0)]


def test_an_error_of_a_worker_is_raised_in_the_caller(worker: str) -> None:
    with WorkerPool(worker, 0, ["bad", "odd", 1], 1) as pool:
        results = iter(pool)
        with pytest.raises(BadFile, match="nothing in it") as caught:
            list(next(results))
        assert caught.value.cure == "fill it"
        with pytest.raises(Exception, match="Odd: 1"):  # its class cannot be rebuilt, so its text comes
            list(next(results))
        assert list(next(results)) == [(0, 1, 0)]


def test_a_crash_costs_one_task_and_the_worker_restarts(worker: str) -> None:
    with WorkerPool(worker, 0, ["pid", "die", "pid", "die", 2], 1) as pool:
        results = iter(pool)
        first = list(next(results))
        for _ in range(2):
            parts = next(results)
            assert next(parts) == "a part"
            with pytest.raises(WorkerCrashed, match="-9"):
                next(parts)
            if _ == 0:
                assert list(next(results)) != first
        assert list(next(results)) == [(0, 2, 0), (0, 2, 1)]


def test_what_a_task_prints_does_not_disturb_the_results(worker: str, capfd: pytest.CaptureFixture[str]) -> None:
    with WorkerPool(worker, 0, ["print", 1], 1) as pool:
        assert [list(parts) for parts in pool] == [[], [(0, 1, 0)]]
    assert capfd.readouterr() == ("", "")


def test_leaving_in_the_middle_ends_every_process_and_thread(worker: str) -> None:
    before = threading.active_count()
    with WorkerPool(worker, 0, ["pid", "pid", 10_000, "slow", "slow"], 2) as pool:
        results = iter(pool)
        pids = [*next(results), *next(results)]
        assert next(next(results)) == (0, 10_000, 0)
    assert threading.active_count() == before
    for pid in pids:
        with pytest.raises(ProcessLookupError):  # waited for as well: a zombie could still be signalled
            os.kill(pid, 0)


def test_a_worker_that_cannot_start_raises_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkersUnavailable), WorkerPool("no_such_module_at_all", 0, [1], 2):
        pass
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python-here"))
    with pytest.raises(WorkersUnavailable), WorkerPool("no_such_module_at_all", 0, [1], 2):
        pass


def test_workers_end_when_their_program_is_killed(worker: str, tmp_path: Path) -> None:
    code = f"""
    import sys
    sys.path.insert(0, {str(tmp_path)!r})
    from assay.util.worker_pool import WorkerPool
    with WorkerPool({worker!r}, 0, ["pid", 10**9], 1) as pool:
        results = iter(pool)
        print(*next(results), flush=True)
        sys.stdin.read()
    """
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        program.kill()
    while Path(f"/proc/{pid}").exists():  # ends, or the test never does
        if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            break
        time.sleep(0.01)


@pytest.mark.parametrize(("setting", "count"), [("0", 0), ("1", 1), (" 3 ", 3), ("100000", 64)])
def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch, setting: str, count: int) -> None:
    monkeypatch.setenv("ASSAY_WORKERS", setting)
    assert count_workers() == count


def test_a_wrong_number_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in ("two", "-1", "1.5"):
        monkeypatch.setenv("ASSAY_WORKERS", setting)
        with pytest.raises(ConfigError, match="ASSAY_WORKERS"):
            count_workers()


def test_a_packed_program_uses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_WORKERS", raising=False)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert count_workers() == 0
