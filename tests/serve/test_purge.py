"""A purge over the protocol: the text is gone from every file of the store, and the answer names no path of ours."""

from assay.memory import service
from tests.serve.client import call, inside, made, run
from tests.serve.story import is_gone

TEXT = "Ada keeps her xylophone-4711 in the attic of the old mill"


def test_a_purged_text_is_in_no_file_and_no_path_is_told(tmp_path):
    store = made(tmp_path / "store")

    async def talk():
        async with inside(store) as client:
            stored = await call(client, "memory_store", text=TEXT)
            await call(client, "memory_store", text="The bakery at the corner closes on Mondays")
            purged = await call(client, "memory_forget", id=stored["id"], purge=True)
            assert (purged["done"], purged["purged"]) == (True, True)
            assert purged["erased"]
            assert str(tmp_path) not in str(purged)
            await is_gone(client, stored["id"], TEXT, "where is the xylophone?")

    run(talk)
    assert not [path for path in store.rglob("*") if path.is_file() and b"xylophone-4711" in path.read_bytes()]
    with service.open(store) as memory:
        assert len(memory.list(scope="global")) == 1
