"""The tools as a host sees them: named, described, typed, hinted; and every result is what its schema says."""

import json

import jsonschema
import pytest

from assay.serve.mcp.rendering import PLAIN
from assay.serve.mcp.scopes import ScopeLimits
from assay.serve.mcp.server import describe_tool
from assay.serve.mcp.tools import DOCUMENT_TOOLS, TOOLS
from assay.text.token_count import count_tokens
from tests.serve.client import call, inside, made, refused, run

HINTS = {  # read-only, destructive, idempotent
    "memory_store": (False, False, False),
    "memory_recall": (True, False, True),
    "memory_forget": (False, True, False),
    "memory_update": (False, True, True),
    "memory_list": (True, False, True),
    "memory_stats": (True, False, True),
    "memory_explain": (True, False, True),
}


FIVE = (
    "Ada prefers green tea without sugar and drinks it from her grandmother's cup.",
    "Ada bought the tea for the office from the shop next to the station in May.",
    "The tea kettle on the second floor leaks, so use the one in the kitchen instead.",
    "Ben is allergic to chamomile tea and once had to see a doctor because of it.",
    "Tea for the board meetings is ordered by Carla on the Thursday before each of them.",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return made(tmp_path_factory.mktemp("tools") / "store")


def test_each_tool_says_what_it_is_for_and_what_it_may_do(store):
    async def talk():
        async with inside(store) as client:
            return (await client.list_tools()).tools

    tools = run(talk)
    assert {
        tool.name: (t.read_only_hint, t.destructive_hint, t.idempotent_hint)
        for tool in tools
        for t in [tool.annotations]
    } == HINTS
    for tool in tools:
        assert len(tool.description) > 60
        assert tool.annotations.open_world_hint is False
        assert (tool.output_schema is None) == (tool.name == "memory_recall")  # it answers in lines, unless asked
        assert all(
            "description" in part for name, part in tool.input_schema["properties"].items() if name not in PLAIN
        ), tool.name


def test_a_client_sees_which_scopes_it_may_name(store):
    async def talk():
        async with inside(store, "user:ada", "global") as client:
            return (await client.list_tools()).tools

    for tool in run(talk):
        assert tool.input_schema["properties"]["scope"]["enum"] == ["user:ada", "global"]


def test_all_tools_together_are_short_and_so_is_a_recall(store):
    async def talk():
        async with inside(store, "user:ada", "global") as client:
            tools = {**{tool.name: tool for tool in (await client.list_tools()).tools}}
            for text in FIVE:
                await call(client, "memory_store", text=text)
            answer = await client.call_tool("memory_recall", {"query": "What about the tea of Ada?", "limit": 5})
            return list(tools.values()), answer

    tools, answer = run(talk)
    documents = [describe_tool(name, tool, ScopeLimits(("a", "b"))) for name, tool in DOCUMENT_TOOLS.items()]
    shown = [f"{tool.name}\n{tool.description}\n{json.dumps(tool.input_schema)}" for tool in (*tools, *documents)]
    assert sum(map(count_tokens, shown)) < 1_500
    assert answer.structured_content is None
    *memories, degraded = answer.content[0].text.splitlines()  # the store has no model, which one line says
    assert degraded.startswith("degraded: dense, learned, currency skipped: ")
    assert sorted(line.partition("] ")[2] for line in memories) == sorted(FIVE)
    assert count_tokens("\n".join(memories)) < 2 * sum(map(count_tokens, FIVE))


def test_a_recall_says_in_a_line_that_nothing_is_known_or_that_all_was_dropped(store, tmp_path):
    async def talk():
        async with inside(made(tmp_path / "empty")) as client:
            return (await client.call_tool("memory_recall", {"query": "tea?", "since": "last week"})).content[0].text

    assert run(talk).startswith("Nothing is known here from ")


@pytest.mark.parametrize(
    ("scopes", "asked", "says"),
    [
        (("global",), None, "in the scope global (for another, start: assay mcp --scope NAME)."),
        (("user:ada", "global"), None, "in the scopes global, user:ada (for another, start: assay mcp --scope NAME)."),
        (("user:ada", "global"), "user:ada", "in the scope user:ada (for all: leave scope out)."),
    ],
)
def test_a_recall_that_finds_nothing_names_where_it_looked_and_how_to_look_elsewhere(tmp_path, scopes, asked, says):
    async def talk():
        async with inside(made(tmp_path / "empty"), *scopes) as client:
            arguments = {"query": "where is the vault?"} | ({"scope": asked} if asked else {})
            return (await client.call_tool("memory_recall", arguments)).content[0].text

    assert run(talk).splitlines()[0] == f"Nothing is known here {says}"


def test_a_recall_says_when_the_memories_cannot_answer(tmp_path):
    """The nearest memories are listed all the same, so an agent must be told that none of them answers."""

    async def talk():
        async with inside(made(tmp_path / "m")) as client:
            for text in FIVE:
                await call(client, "memory_store", text=text)
            return [
                (await client.call_tool("memory_recall", {"query": query, "limit": 2})).content[0].text
                for query in ("How many cups of tea does ticket QX-99812 name?", "What does Ben drink?")
            ]

    unknown, known = run(talk)
    assert unknown.splitlines()[0].startswith("[")
    assert unknown.splitlines()[2].startswith("May not be answered here: ")
    assert "'QX-99812'" in unknown.splitlines()[2]
    assert "May not be answered" not in known


def test_a_recall_shows_its_period_as_it_counts(tmp_path):
    async def talk():
        async with inside(made(tmp_path / "m")) as client:
            await call(client, "memory_store", text=FIVE[0], created="2026-02-10")
            asked = {"query": "tea of Ada?", "since": "2026-02-01", "until": "2026-02-10"}
            return (await client.call_tool("memory_recall", asked)).content[0].text

    assert run(talk).splitlines()[1] == "(created from 2026-02-01, before 2026-02-11)"


def test_a_read_only_server_offers_nothing_that_changes(store):
    async def talk():
        async with inside(store, read_only=True) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.annotations.read_only_hint for tool in tools)
            assert len(tools) == 4
            for name in ("memory_store", "memory_forget", "memory_update"):
                assert f"there is no tool '{name}'" in await refused(client, name, id="x", text="y")

    run(talk)


def test_an_unknown_tool_is_answered_with_the_nearest(store):
    async def talk():
        async with inside(store) as client:
            assert "did you mean 'memory_recall'?" in await refused(client, "memory_recal", query="x")

    run(talk)


def test_every_result_is_what_its_schema_says(store):
    async def talk():
        async with inside(store) as client:
            schemas = {name: describe_tool(name, tool).output_schema for name, tool in TOOLS.items()}
            stored = await call(client, "memory_store", text="The staging database of Atlas is called heron")
            calls = {
                "memory_recall": {"query": "what is the staging database of Atlas called?"},
                "memory_explain": {"query": "staging database", "id": stored["id"]},
                "memory_update": {"id": stored["id"], "importance": 0.9},
                "memory_list": {},
                "memory_stats": {},
                "memory_forget": {"id": stored["id"]},
            }
            jsonschema.validate(stored, schemas["memory_store"])
            for name, arguments in calls.items():
                jsonschema.validate(await call(client, name, **arguments), schemas[name])

    run(talk)


def test_a_recall_within_a_budget_has_a_context(store):
    async def talk():
        async with inside(store) as client:
            await call(client, "memory_store", text="The staging database of Borealis is called osprey")
            plain = await call(client, "memory_recall", query="what is the staging database of Atlas called?")
            packed = await call(
                client, "memory_recall", query="what is the staging database of Atlas called?", budget=60
            )
            bad = await refused(client, "memory_recall", query="x", budget=0)
            return plain, packed, bad

    plain, packed, bad = run(talk)
    assert plain["context"] is None
    assert [hit["memory"]["id"] for hit in packed["hits"]] == [hit["memory"]["id"] for hit in plain["hits"]]
    context = packed["context"]
    assert 0 < context["tokens"] <= context["budget"] == 60
    assert {source["citation"] for source in context["sources"]} <= {hit["rank"] for hit in packed["hits"]}
    assert context["text"].startswith("[") or context["sources"][0]["header"]
    assert "budget" in bad
