"""The real process over standard input and output."""

import json
import signal
import subprocess
from pathlib import Path

import anyio
import pytest
from mcp import Client

from assay.memory import service
from tests.serve.client import ERAS, call, command, inside, made, run, started
from tests.serve.story import tell


@pytest.fixture
def store(tmp_path):
    return made(tmp_path / "store")


@pytest.mark.parametrize("era", ERAS)
def test_the_whole_story(store, era):
    async def talk():
        async with Client(started(store), mode=era) as client:
            assert client.server_info.name == "assay"
            await tell(client)

    run(talk)


def test_two_clients_at_once_on_one_store_lose_nothing(store):
    each = 8

    async def write(client: Client, who: str) -> None:
        for number in range(each):
            await call(client, "memory_store", text=f"{who} counted {number} herons at lake {who}-{number}")
            with anyio.move_on_after(0.002):  # a call that is cancelled, before or after it was heard
                await client.call_tool("memory_recall", {"query": f"how many herons did {who} count?"})

    async def talk():
        async with Client(started(store)) as one, Client(started(store)) as two:
            async with anyio.create_task_group() as group:
                group.start_soon(write, one, "Ada")
                group.start_soon(write, two, "Bob")
            seen = [await call(client, "memory_list", limit=200) for client in (one, two)]
            assert seen[0] == seen[1]
            assert len(seen[0]["memories"]) == 2 * each
            name = seen[0]["memories"][0]["id"]
            await call(one, "memory_forget", id=name)
            for client in (one, two):
                left = await call(client, "memory_list", limit=200)
                assert name not in [memory["id"] for memory in left["memories"]]

    run(talk)


def spoken(*messages: dict[str, object]) -> str:
    return "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)


def test_a_server_recalls_with_the_configuration_it_was_given(store, tmp_path):
    (tmp_path / "mine.json").write_text('{"timeDecayHalfLifeDays": 0, "bm25Weight": 0.3}')

    async def talk(*options):
        async with Client(started(store, *options)) as client:
            await call(client, "memory_store", text="The vault is in room 12", created="2025-01-01")
            found = await call(client, "memory_recall", query="where is the vault?", at="2026-01-01")
            return [hit["memory"]["text"] for hit in found["hits"]]

    assert run(talk) == ["The vault is in room 12"]
    assert run(talk, "--pipeline", "memory") == []  # a year old, it has decayed below the hard minimum
    assert run(talk, "--pipeline", str(tmp_path / "mine.json")) == ["The vault is in room 12"]


HELLO = {
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
READY = {"method": "notifications/initialized"}


def call_message(number: int, tool: str, **arguments: object) -> dict[str, object]:
    return {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_rubbish_on_the_wire_is_survived_and_stdout_is_protocol_only(store):
    lines = (
        spoken(HELLO, READY)
        + "this is no JSON\n\n[]\n{}\n\x00\x01\n"
        + '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "memory_store", "arguments": '
        + '{"text": "half a surrogate \\ud800 in the text of a note"}}}\n'
        + spoken({"id": 8, "method": "tools/call", "params": {"name": 5, "arguments": "x"}})
        + spoken(call_message(9, "memory_stats", at="no date"), call_message(10, "memory_stats"))
    )
    # calls may be answered in any order: these are waited for, then standard input is closed
    process = spawned(store)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(lines.encode())
    process.stdin.flush()
    answers: dict[object, dict[str, object]] = {}
    while not {8, 9, 10} <= answers.keys():
        answer = json.loads(process.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
        answers[answer.get("id")] = answer
    rest, errors = process.communicate()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert process.returncode == 0, errors
    assert b"Traceback" not in errors, errors
    assert "error" in answers[8]
    assert answers[9]["result"]["isError"]
    assert answers[10]["result"]["structuredContent"]["scopes"] == ["global"]


def test_a_client_that_goes_in_the_middle_leaves_the_store_whole(store):
    notes = [f"Heron number {number} nests at the north lake" for number in range(20)]
    questions = [call_message(10 + number, "memory_store", text=note) for number, note in enumerate(notes)]
    process = subprocess.run(
        command(store, "--scope", "user:ada", "--scope", "global"),
        input=spoken(HELLO, READY, *questions).encode(),
        capture_output=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    acknowledged = {
        answer["result"]["structuredContent"]["memory"]["text"]
        for answer in map(json.loads, process.stdout.splitlines())
        if answer.get("id", 0) >= 10 and "result" in answer
    }
    whole(store, acknowledged, set(notes), "user:ada")


def test_sigterm_leaves_the_store_whole(store):
    process = spawned(store)
    assert process.stdin is not None
    assert process.stdout is not None
    notes = [f"Heron number {number} nests at the south lake" for number in range(40)]
    process.stdin.write(spoken(HELLO, READY).encode())
    process.stdin.write(
        spoken(*(call_message(10 + number, "memory_store", text=note) for number, note in enumerate(notes))).encode()
    )
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(6)]  # the handshake, and five of forty
    process.send_signal(signal.SIGTERM)
    rest, errors = process.communicate()
    assert process.returncode == 0, errors
    assert b"Traceback" not in errors, errors
    answers += [json.loads(line) for line in rest.splitlines()]
    acknowledged = {
        answer["result"]["structuredContent"]["memory"]["text"]
        for answer in answers
        if answer.get("id", 0) >= 10 and "result" in answer
    }
    assert len(acknowledged) >= 5
    whole(store, acknowledged, set(notes))


def spawned(store: Path) -> subprocess.Popen[bytes]:
    """The server, its pipes not buffered: `communicate()` passes over what `readline()` has read ahead."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command(store), bufsize=0, **pipes)


def whole(store: Path, acknowledged: set[str], asked: set[str], scope: str = "global") -> None:
    """All that was acknowledged is there, nothing that was not asked for, nothing twice, and it can be written on."""
    with service.open(store) as memory:
        found = [entry.text for entry in memory.list(scope=scope, limit=None)]
        assert not memory.list(scope="global" if scope != "global" else "user:ada")
    assert acknowledged <= set(found) <= asked
    assert len(found) == len(set(found))

    async def talk():
        async with inside(store) as client:
            await call(client, "memory_store", text="The bridge over the weir opened in May 2026")

    run(talk)
