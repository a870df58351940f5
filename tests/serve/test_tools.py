"""The tools as a host sees them: named, described, typed, hinted; and every result is what its schema says."""

import jsonschema
import pytest

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
        assert tool.output_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert all("description" in part for part in tool.input_schema["properties"].values()), tool.name


def test_a_client_sees_which_scopes_it_may_name(store):
    async def talk():
        async with inside(store, "user:ada", "global") as client:
            return (await client.list_tools()).tools

    for tool in run(talk):
        assert tool.input_schema["properties"]["scope"]["anyOf"] == [{"enum": ["user:ada", "global"]}, {"type": "null"}]


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
            schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
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
