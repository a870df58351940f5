"""No tool reaches a scope the server was not started with, whatever it is asked."""

import pytest

from assay.memory import service
from tests.serve.client import call, inside, made, refused, run

SECRET = "Bob hides the treasure map behind the grandfather clock"
QUESTION = "where does Bob hide the treasure map?"


@pytest.fixture
def store(tmp_path):
    return made(tmp_path / "store")


@pytest.fixture
def secret(store):
    """A memory of another scope."""
    with service.open(store) as memory:
        return memory.store(SECRET, scope="user:bob", tags=["treasure"], category="decision").id


def test_no_tool_reaches_another_scope(store, secret):
    async def talk():
        async with inside(store, "user:ada", "global") as client:
            seen = [
                await call(client, "memory_recall", query=QUESTION, limit=50),
                await call(client, "memory_list", everything=True, limit=200, tags=["treasure"]),
                await call(client, "memory_list", everything=True, limit=200, category="decision"),
                await call(client, "memory_stats"),
                await call(client, "memory_forget", query=QUESTION, limit=50),
            ]
            seen += [
                await refused(client, "memory_explain", query=QUESTION, id=secret),
                await refused(client, "memory_update", id=secret, text="now it is mine"),
                await refused(client, "memory_forget", id=secret),
                await refused(client, "memory_forget", id=secret, purge=True),
                await refused(client, "memory_store", text="Ada has found the treasure map", supersedes=[secret]),
            ]
            for name in ("user:bob", "*", "user:*", "", "user:ada,user:bob", "user:bob\x00"):
                for tool, arguments in {
                    "memory_store": {"text": "Ada writes into the scope of Bob"},
                    "memory_recall": {"query": QUESTION},
                    "memory_forget": {"id": secret},
                    "memory_update": {"id": secret, "importance": 0.0},
                    "memory_list": {},
                    "memory_stats": {},
                    "memory_explain": {"query": QUESTION, "id": secret},
                }.items():
                    seen.append(await refused(client, tool, **arguments, scope=name))
            # the same text is no duplicate here: what another scope knows is not even hinted at
            own = await call(client, "memory_store", text=SECRET)
            assert (own["action"], own["near"]) == ("stored", [])
            assert not any("grandfather" in str(one) for one in seen)

    run(talk)
    with service.open(store) as memory:
        (kept,) = memory.list(scope="user:bob")
        assert (kept.id, kept.text, kept.importance) == (secret, SECRET, 0.7)


def test_a_token_of_one_server_forgets_nothing_through_another(store, secret):
    async def talk():
        async with inside(store, "user:bob") as bob, inside(store, "user:ada") as ada:
            questions = await call(bob, "memory_forget", query=QUESTION)
            assert [memory["id"] for memory in questions["memories"]] == [secret]
            result = await ada.call_tool("memory_forget", {"query": QUESTION, "confirm": questions["token"]})
            assert SECRET not in str(result)
            assert (await call(bob, "memory_stats"))["memories"] == 1

    run(talk)


def test_a_call_may_narrow_but_not_widen(store, secret):
    async def talk():
        async with inside(store, "user:ada", "global") as client:
            await call(client, "memory_store", text="Ada plays the cello on Sundays")
            await call(client, "memory_store", text="The orchestra rehearses on Tuesdays", scope="global")
            assert (await call(client, "memory_stats"))["memories"] == 2
            assert (await call(client, "memory_stats", scope="global"))["memories"] == 1
            listed = await call(client, "memory_list", scope="user:ada")
            assert [memory["scope"] for memory in listed["memories"]] == ["user:ada"]

    run(talk)
