"""Bad input gives the same clear answer in Python, on the command line and over MCP; nothing is lost or stored."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

from assay import memory
from assay.cli.main import cli
from assay.errors import QueryError
from assay.memory.safety import StoreLimits
from tests.serve.client import inside, made, refused, run

MEGABYTE = "x" * 1_048_576


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    store = made(tmp_path / "store")
    with memory.open(store) as mem:
        mem.store("The vault is in room 12.", created="2026-02-26")
    return store


@pytest.fixture
def cli_run():
    """Run a command line outside of any store of the caller."""
    env = {"ASSAY_STORE": None}
    return lambda *args, **more: CliRunner(env=env).invoke(cli, [str(part) for part in args], **more)


@pytest.mark.parametrize(
    ("range_", "what"),
    [
        ({"since": "2026-02-02", "until": "2026-02-01"}, "contradict"),
        ({"since": "when pigs fly"}, "not a date"),
        ({"until": "31 February 2026"}, "no 31 February"),
    ],
)
def test_ranges_that_make_no_sense(base, cli_run, range_, what):
    options = [part for name, value in range_.items() for part in (f"--{name}", value)]
    for command, python in (
        (("recall", "vault room"), lambda mem: mem.recall("vault room", scope="global", **range_)),
        (("list",), lambda mem: mem.list(scope="global", **range_)),
    ):
        with memory.open(base) as mem, pytest.raises(QueryError, match=what):
            python(mem)
        said = cli_run("memory", *command, *options, "--store", base)
        assert said.exit_code == 2
        assert what in said.stderr
        assert "cure: " in said.stderr

    async def talk():
        async with inside(base) as client:
            for tool, arguments in (("memory_recall", {"query": "vault room"}), ("memory_list", {})):
                answer = await refused(client, tool, **arguments, **range_)
                assert what in answer
                assert "cure: " in answer

    run(talk)


def test_contradicting_dates_are_shown_as_they_were_written(base):
    with memory.open(base) as mem, pytest.raises(QueryError, match="since '2026-02-02' begins at 2026-02-02, ") as said:
        mem.recall("vault", scope="global", since="2026-02-02", until="2026-02-01")
    assert "until '2026-02-01' ends" in str(said.value)


def test_a_date_that_is_none_is_named_by_its_argument(base, cli_run):
    with memory.open(base) as mem:
        name = mem.list(scope="global")[0].id
        calls = {
            "created": lambda value: mem.store("The boiler was serviced.", created=value),
            "expires": lambda value: mem.store_many([{"text": "The boiler was serviced.", "expires": value}]),
            "at": lambda value: mem.recall("boiler", scope="global", at=value),
        }
        for argument, run_with in calls.items():
            with pytest.raises(QueryError, match=f"{argument} is 'sometime', which is not a date"):
                run_with("sometime")
        with pytest.raises(QueryError, match="expires is '2026-02-30', which is not a date"):
            mem.update(name, scope="global", expires="2026-02-30")
        for read in (lambda: mem.list(scope="global", at="x"), lambda: mem.stats("global", at="x")):
            with pytest.raises(QueryError, match="at is 'x', which is not a date"):
                read()
        done = mem.import_(['{"text": "The boiler was serviced.", "created": "sometime"}'], scope="global")
        assert done.stored == 0
        assert "created is 'sometime'" in done.problems[0][1]
        assert mem.stats("global").memories == 1


def test_a_memory_of_a_megabyte(base, cli_run):
    with memory.open(base) as mem, pytest.raises(QueryError, match="1,048,576 characters"):
        mem.store(MEGABYTE)
    said = cli_run("memory", "store", "--store", base, input=MEGABYTE)
    assert said.exit_code == 2
    assert len(said.stderr) < 2_000

    async def talk():
        async with inside(base) as client:
            answer = await refused(client, "memory_store", text=MEGABYTE)
            assert "at most 100000 characters" in answer
            assert len(answer) < 1_000

    run(talk)
    with memory.open(base) as mem:
        assert mem.stats("global").memories == 1


def test_a_scope_that_does_not_exist(base, cli_run):
    said = cli_run("memory", "recall", "where is the vault?", "--scope", "user:nobody", "--store", base)
    assert "Nothing is known here in the scope user:nobody (for another: --scope NAME)." in said.stdout
    assert "room 12" not in said.stdout

    async def talk():
        async with inside(base) as client:
            answer = await refused(client, "memory_recall", query="where is the vault?", scope="user:nobody")
            assert "room 12" not in answer

    run(talk)


def test_ten_thousand_stores_in_a_minute_are_stored_or_refused_with_the_wait(base):
    with memory.open(base, clock=lambda: 1_772_323_200.0, limits=StoreLimits(per_minute=30)) as mem:

        def store(number):
            try:
                return mem.store(f"Shelf {number} holds box {number * 7}.", scope="user:ada").id
            except QueryError as error:
                return error

        with ThreadPoolExecutor(8) as threads:
            said = list(threads.map(store, range(10_000)))
        stored = [one for one in said if isinstance(one, str)]
        refused_ = [one for one in said if isinstance(one, QueryError)]
        assert len(stored) == len(set(stored)) == 30
        assert len(refused_) == 9_970
        assert {one.cure for one in refused_} == {"try again in 60 s, or import many at once: assay memory import"}
        assert {entry.id for entry in mem.list(scope="user:ada", limit=None)} == set(stored)


def test_two_agents_updating_one_memory_lose_no_state(base):
    with memory.open(base) as one, memory.open(base) as other:
        name = one.list(scope="global")[0].id
        for number in range(3):
            one.update(name, scope="global", text=f"The vault is in room 2{number}.")
            other.update(name, scope="global", importance=number / 10)
        now = one.get(name, scope="global")
        assert (now.text, now.importance) == ("The vault is in room 22.", 0.2)
        assert len(one.history(name, scope="global")) == 7
