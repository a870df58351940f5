"""The real process over streamable HTTP on the loopback interface."""

import json
import signal

import anyio
import httpx
import pytest
from mcp import Client

from assay.memory import service
from tests.serve.client import ERAS, call, listening, made, run
from tests.serve.story import is_gone, tell


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return made(tmp_path_factory.mktemp("http") / "store")


@pytest.fixture(scope="module")
def address(store):
    with listening(store) as (where, _):
        yield where


@pytest.mark.parametrize("era", ERAS)
def test_the_whole_story(address, era):
    async def talk():
        async with Client(address, mode=era) as client:
            await tell(client)

    run(talk)


def test_two_clients_at_once_write_and_read(address):
    async def write(client: Client, who: str) -> None:
        for number in range(8):
            await call(client, "memory_store", text=f"{who} counted {number} otters at pond {who}-{number}", tags=[who])
            await call(client, "memory_recall", query=f"how many otters did {who} count?")

    async def talk():
        async with Client(address) as one, Client(address, mode="legacy") as two:
            async with anyio.create_task_group() as group:
                group.start_soon(write, one, "Ada")
                group.start_soon(write, two, "Bob")
            for reader, writer in ((one, "Bob"), (two, "Ada")):
                found = await call(reader, "memory_list", tags=[writer])
                assert len(found["memories"]) == 8
            name = found["memories"][0]["id"]
            await call(one, "memory_forget", id=name)
            for client in (one, two):
                await is_gone(client, name, found["memories"][0]["text"], "otters pond")

    run(talk)


@pytest.mark.parametrize("era", ERAS)
def test_cancelled_calls_are_whole_or_not_there(address, era):
    notes = [f"Badger number {number} lives at the {era} hill" for number in range(12)]
    acknowledged: set[str] = set()

    async def store_one(client: Client, note: str, patience: float) -> None:
        with anyio.move_on_after(patience):
            acknowledged.add((await call(client, "memory_store", text=note))["memory"]["text"])

    async def talk():
        async with Client(address, mode=era) as client:
            async with anyio.create_task_group() as group:
                for number, note in enumerate(notes):
                    group.start_soon(store_one, client, note, number * 0.01)
            listed = await call(client, "memory_list", limit=200)
            found = [memory["text"] for memory in listed["memories"] if memory["text"].startswith("Badger")]
            own = [text for text in found if f"the {era} hill" in text]
            assert acknowledged <= set(own) <= set(notes)
            assert len(own) == len(set(own))

    run(talk)


def test_a_client_that_hangs_up_in_the_middle_disturbs_nobody(address):
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
    }
    headers = {"Accept": "application/json, text/event-stream"}
    for _ in range(3):
        with httpx.Client() as rude:
            hello = rude.post(address, json=body, headers=headers)
            session = {**headers, "Mcp-Session-Id": hello.headers["mcp-session-id"]}
            rude.post(address, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
            questions = {"name": "memory_store", "arguments": {"text": "The rude client saw a kingfisher in June"}}
            message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": questions}
            with rude.stream("POST", address, json=message, headers=session) as answer:
                assert answer.status_code == 200  # and it hangs up before it reads the answer

    async def talk():
        async with Client(address) as client:
            await call(client, "memory_stats")

    run(talk)


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
DISCOVER = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
WAYS = {
    "legacy": (INITIALIZE, {}),
    "2026": (DISCOVER, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Host", "evil.example:80", 421),
        ("Host", "127.0.0.1.evil.example", 421),
        ("Host", "127.0.0.1:1", 421),
        ("Host", "localhost", 421),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://127.0.0.1:1", 403),
        ("Origin", "https://127.0.0.1", 403),
    ],
)
def test_a_page_that_points_its_own_name_here_is_refused(address, way, header, value, status):
    message, era = WAYS[way]
    headers = {"Accept": "application/json, text/event-stream", **era, header: value}
    assert httpx.post(address, json=message, headers=headers).status_code == status


@pytest.mark.parametrize("way", WAYS)
def test_our_own_names_are_let_in(address, way):
    message, era = WAYS[way]
    port = httpx.URL(address).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        headers = {"Accept": "application/json, text/event-stream", **era, "Host": host, "Origin": f"http://{host}"}
        answer = httpx.post(address, json=message, headers=headers)
        assert answer.status_code == 200, answer.text


def test_a_body_without_end_is_refused(address):
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    assert httpx.post(address, content=b" " * (5 * 1024 * 1024), headers=headers).status_code == 413


def test_sigterm_ends_it_in_order_and_leaves_the_store_whole(tmp_path):
    store = made(tmp_path / "store")
    notes = [f"Heron number {number} nests at the west lake" for number in range(30)]
    acknowledged: set[str] = set()

    async def write(client: Client, note: str) -> None:
        result = await client.call_tool("memory_store", {"text": note})
        if not result.is_error:
            acknowledged.add(note)

    async def talk(where, process):
        with anyio.move_on_after(60):
            try:
                async with Client(where) as client, anyio.create_task_group() as group:
                    for note in notes:
                        group.start_soon(write, client, note)
                    while len(acknowledged) < 3:
                        await anyio.sleep(0.005)
                    process.send_signal(signal.SIGTERM)
            except* Exception:
                pass  # the server goes away under its clients: that is the test

    with listening(store) as (where, process):
        run(talk, where, process)
        out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert out == ""
    assert "Traceback" not in errors
    with service.open(store) as memory:
        found = [entry.text for entry in memory.list(scope="global", limit=None)]
    assert len(acknowledged) >= 3
    assert acknowledged <= set(found) <= set(notes)
    assert len(found) == len(set(found))
    assert json.dumps(found)
