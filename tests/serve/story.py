"""What an agent does with a memory, told once and run over every way in."""

from mcp import Client

from tests.serve.client import call, refused

QUERY = "which editor does Ada use?"
LATER = "2027-01-01"  # scores move with the clock, so what is compared has the same
EVERY = {"limit": 200, "everything": True}


async def tell(client: Client) -> None:
    """Store, recall with the reason, explain, update, forget, and never see it again."""
    stored = await call(
        client, "memory_store", text="Ada writes all her Python in the editor Helix", tags=["tools"], importance=0.9
    )
    assert stored["action"] == "stored"
    name = stored["id"]
    await call(client, "memory_store", text="The lisbon office moved to the third floor in March 2026")

    recalled = await call(client, "memory_recall", query=QUERY)
    first = recalled["hits"][0]
    assert first["memory"]["id"] == name
    assert first["memory"]["tags"] == ["tools"]
    assert first["rank"] == 1
    assert first["why"]
    assert recalled["status"]["found"] >= 1

    first = (await call(client, "memory_recall", query=QUERY, at=LATER))["hits"][0]
    explained = await call(client, "memory_explain", query=QUERY, id=name, at=LATER)
    assert (explained["rank"], explained["score"]) == (1, first["score"])
    assert explained["steps"]
    absent = await call(client, "memory_explain", query="lisbon office floor", id=name)
    assert absent["rank"] is None
    assert absent["reasons"]

    again = await call(client, "memory_store", text="Ada writes all her Python in the editor Helix")
    assert (again["action"], again["id"]) == ("skipped", name)
    noise = await call(client, "memory_store", text="thanks!")
    assert (noise["action"], noise["id"]) == ("refused", None)

    updated = await call(client, "memory_update", id=name, text="Ada writes all her Python in the editor Zed")
    assert (updated["id"], updated["importance"]) == (name, 0.9)
    recalled = await call(client, "memory_recall", query=QUERY)
    assert recalled["hits"][0]["memory"]["text"] == "Ada writes all her Python in the editor Zed"
    assert not any("Helix" in hit["memory"]["text"] for hit in recalled["hits"])

    questions = await call(client, "memory_forget", query=QUERY, limit=1)
    assert (questions["done"], [memory["id"] for memory in questions["memories"]]) == (False, [name])
    assert (await call(client, "memory_recall", query=QUERY))["hits"]
    gone = await call(client, "memory_forget", query=QUERY, limit=1, confirm=questions["token"])
    assert (gone["done"], [memory["id"] for memory in gone["memories"]]) == (True, [name])
    await is_gone(client, name, "Ada writes all her Python in the editor", QUERY)


async def is_gone(client: Client, name: str, text: str, query: str) -> None:
    """No tool shows the memory, or can be made to touch it."""
    for question in (query, text):
        recalled = await call(client, "memory_recall", query=question, limit=50)
        assert name not in [hit["memory"]["id"] for hit in recalled["hits"]]
        assert text not in str(recalled["hits"])
    listed = await call(client, "memory_list", **EVERY)
    assert name not in [memory["id"] for memory in listed["memories"]]
    assert text not in str(listed)
    for tool, arguments in {
        "memory_explain": {"query": query, "id": name},
        "memory_update": {"id": name, "importance": 0.1},
        "memory_forget": {"id": name},
        "memory_store": {"text": "Another thing that is true of Ada since June", "supersedes": [name]},
    }.items():
        assert text not in await refused(client, tool, **arguments)
