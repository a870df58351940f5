"""Helper processes for real: order, bounds, errors, crashes, and nothing left behind."""

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
from assay.util.parallel import AHEAD, Crashed, Crew, NoHelpers, workers

HELPER = """
import os, signal, time
from assay.errors import BadFile
from assay.util.parallel import serve

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
    serve(handler)
"""


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "helper_under_test.py").write_text(HELPER)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "helper_under_test"


def test_answers_come_in_the_order_of_the_tasks_whoever_gave_them(helper: str) -> None:
    tasks = [3, 0, 5, 1, 2 * AHEAD, 4]
    with Crew(helper, "s", tasks, 2) as crew:
        given = [list(parts) for parts in crew]
    assert given == [[("s", task, n) for n in range(task)] for task in tasks]


def test_what_the_caller_does_not_read_is_passed_over(helper: str) -> None:
    with Crew(helper, 0, [50, 2, 50, 1], 2) as crew:
        assert [next(parts) for parts in crew] == [(0, 50, 0), (0, 2, 0), (0, 50, 0), (0, 1, 0)]


def test_an_error_is_raised_here_as_it_was_there(helper: str) -> None:
    with Crew(helper, 0, ["bad", "odd", 1], 1) as crew:
        answers = iter(crew)
        with pytest.raises(BadFile, match="nothing in it") as told:
            list(next(answers))
        assert told.value.cure == "fill it"
        with pytest.raises(Exception, match="Odd: 1"):  # its class cannot be rebuilt, so its words come
            list(next(answers))
        assert list(next(answers)) == [(0, 1, 0)]


def test_a_crash_costs_one_task_and_the_helper_begins_again(helper: str) -> None:
    with Crew(helper, 0, ["pid", "die", "pid", "die", 2], 1) as crew:
        answers = iter(crew)
        first = list(next(answers))
        for _ in range(2):
            parts = next(answers)
            assert next(parts) == "a part"
            with pytest.raises(Crashed, match="-9"):
                next(parts)
            if _ == 0:
                assert list(next(answers)) != first
        assert list(next(answers)) == [(0, 2, 0), (0, 2, 1)]


def test_what_a_task_prints_does_not_disturb_the_answers(helper: str, capfd: pytest.CaptureFixture[str]) -> None:
    with Crew(helper, 0, ["print", 1], 1) as crew:
        assert [list(parts) for parts in crew] == [[], [(0, 1, 0)]]
    assert capfd.readouterr() == ("", "")


def test_leaving_in_the_middle_ends_every_process_and_thread(helper: str) -> None:
    before = threading.active_count()
    with Crew(helper, 0, ["pid", "pid", 10_000, "slow", "slow"], 2) as crew:
        answers = iter(crew)
        pids = [*next(answers), *next(answers)]
        assert next(next(answers)) == (0, 10_000, 0)
    assert threading.active_count() == before
    for pid in pids:
        with pytest.raises(ProcessLookupError):  # waited for as well: a zombie could still be signalled
            os.kill(pid, 0)


def test_a_helper_that_cannot_begin_is_said_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoHelpers), Crew("no_such_module_at_all", 0, [1], 2):
        pass
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python-here"))
    with pytest.raises(NoHelpers), Crew("no_such_module_at_all", 0, [1], 2):
        pass


def test_helpers_go_when_their_program_is_killed(helper: str, tmp_path: Path) -> None:
    code = f"""
    import sys
    sys.path.insert(0, {str(tmp_path)!r})
    from assay.util.parallel import Crew
    with Crew({helper!r}, 0, ["pid", 10**9], 1) as crew:
        answers = iter(crew)
        print(*next(answers), flush=True)
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


@pytest.mark.parametrize(("said", "count"), [("0", 0), ("1", 1), (" 3 ", 3), ("100000", 64)])
def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch, said: str, count: int) -> None:
    monkeypatch.setenv("ASSAY_WORKERS", said)
    assert workers() == count


def test_a_wrong_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for said in ("two", "-1", "1.5"):
        monkeypatch.setenv("ASSAY_WORKERS", said)
        with pytest.raises(ConfigError, match="ASSAY_WORKERS"):
            workers()


def test_a_packed_program_uses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_WORKERS", raising=False)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert workers() == 0
