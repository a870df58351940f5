"""An agent's story, and the walls between scopes, in every kind of store."""

import json

import pytest

from assay import memory
from assay.errors import StoreError
from tests.serve.client import inside, made, run
from tests.serve.story import tell

CLOCK = 1_772_323_200.0
"""2026-03-01"""


def test_the_whole_story(any_store):
    async def talk():
        async with inside(made(any_store)) as client:
            await tell(client)

    run(talk)


def test_no_path_crosses_the_wall(any_store):
    with memory.open(any_store, embedder="none", clock=lambda: CLOCK) as mem:
        secret = mem.store("The vault is in room 12.", scope="user:eve", tags=["hidden"], category="secret")
        own = mem.store("The vault is in room 12.", scope="user:ada")
        assert (own.action, own.near) == ("stored", ())
        for when in ("new", "indexed"):
            for pipeline in ("memory", "bm25", "weighted"):  # the last walks the graph
                found = mem.recall("where is the vault?", scope="user:ada", k=50, pipeline=pipeline)
                assert [hit.id for hit in found.hits] == [own.id], (when, pipeline)
                assert secret.id not in json.dumps(found.to_json())
            assert [json.loads(line)["id"] for line in mem.export("user:ada")] == [own.id]
            assert [entry.id for entry in mem.list(scope="user:ada", everything=True)] == [own.id]
            payload = mem.stats("user:ada").to_json()
            assert (payload["memories"], payload["by_category"], payload["by_tag"]) == (1, {"fact": 1}, {})
            assert mem.list(scope="user:ada", tags=["hidden"]) == ()
            for read in (mem.get, mem.history, mem.forget, mem.update):
                with pytest.raises(StoreError, match="no memory here"):
                    read(secret.id, scope="user:ada")
            with pytest.raises(StoreError, match="no memory here"):
                mem.explain("vault", secret.id, scope="user:ada")
            mem.kb.optimize(force=True)
        assert mem.get(secret.id, scope="user:eve") == secret.memory
