"""Both clients against a real server; they come from one definition, so most tests run each call in both."""

import asyncio
import inspect
import threading
import time

import pytest

from assay.client import AsyncClient, Client, ServerError
from assay.client.endpoints import ClientMethod, Endpoints
from assay.serve.http.settings import ServerSettings
from assay.serve.keys import KeyStore
from tests.serve.server_fixtures import make_store, serving


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("client") / "kb") as base:
        yield base


@pytest.fixture(scope="module")
def url(kb):
    with serving(kb) as (client, _):
        yield str(client.base_url).rstrip("/")


class Both:
    """Calls a method of both clients and returns the sync result, after comparing it with the async one."""

    def __init__(self, url):
        self.url = url

    def __getattr__(self, name):
        def call(*args, **options):
            async def later():
                async with AsyncClient(self.url) as client:
                    return await getattr(client, name)(*args, **options)

            with Client(self.url) as client:
                found = getattr(client, name)(*args, **options)
            assert type(asyncio.run(later())) is type(found)
            return found

        return call


@pytest.fixture
def both(url):
    return Both(url)


def test_an_answer_is_that_of_the_library(both, kb):
    found = both.search("signing key", 2, where='lang = "en"')
    expected = kb.search("signing key", 2, where='lang = "en"')
    assert [(hit.id, hit.score, hit.text, hit.doc_id) for hit in found] == [
        (hit.id, hit.score, hit.text, hit.doc_id) for hit in expected
    ]
    assert found.data["digests"]["answer"] == expected.digest
    assert found.hits[0].meta["lang"] == "en"
    assert "assay optimize --embed" in found.degraded[0]


def test_contexts_batches_explanations_and_comparisons(both):
    assert "ninety" in both.search("signing key", budget=50).context
    many = both.search_many(["signing key", "Teeküche"], k=1)
    assert [answer.hits[0].doc_id for answer in many] == ["keys", "tee"]
    assert both.explain("signing key", document="keys")["rank"] == 1
    assert both.compare("key", {"pipeline": "bm25"}, {"pipeline": "bm25"})["rbo"] == 1.0
    assert "default" in [one["name"] for one in both.pipelines()]
    assert both.preflight("[legs.bm25]\nk = 5\n")["valid"]
    assert both.ready()["status"] == "ready"


def test_documents_come_and_go(url, tmp_path):
    with Client(url) as client:
        assert client.add([{"id": "a/b c", "text": "A name with a slash and a blank."}])["added"] == 1
        assert client.document("a/b c")["chunks"][0]["text"].startswith("A name")
        assert "records/a/b c" in [one["origin"] for one in client.documents(prefix="records/a")["documents"]]
        assert client.remove("a/b c") == 1
        (tmp_path / "ferry.md").write_text("# Ferry\n\nAt noon.\n")
        events = []
        assert client.upload(tmp_path / "ferry.md", on_event=lambda name, _: events.append(name))["added"] == 1
        assert events == ["received", "progress", "done"]
        with pytest.raises(ValueError, match="name"):
            client.upload(b"bytes")

    async def later():
        async with AsyncClient(url) as client:
            return await client.upload(b"# Ferry\n\nAt two.\n", name="ferry.md")

    assert asyncio.run(later())["changed"] == 1


def test_memories(url):
    with Client(url) as client:
        made = client.remember("Ada lives in Lisbon.", scope="user:ada")["id"]
        assert client.recall("Where does Ada live?", scope="user:ada")["hits"][0]["memory"]["id"] == made
        assert client.update_memory(made, scope="user:ada", text="Ada lives in Porto.")["text"] == "Ada lives in Porto."
        assert len(client.memories(scope="user:ada")["memories"]) == 1
        assert client.forget(made, scope="user:ada")["done"]


def test_a_refusal_has_its_cure_its_status_and_its_id(both):
    with pytest.raises(ServerError) as error:
        both.search("x", pipeline="defualt")
    assert error.value.status == 422
    assert "did you mean 'default'" in error.value.cure
    assert error.value.request_id


def test_nobody_there_and_somebody_else_there():
    with Client("http://127.0.0.1:9") as client, pytest.raises(ServerError, match="cannot be reached"):
        client.ready()


def test_keys_are_sent(kb, tmp_path):
    keys = KeyStore(tmp_path / "keys.json")
    _, key = keys.create("ada", "read", None, 1.0)
    with serving(kb, ServerSettings(keys_required=True), keys) as (http, _):
        url = str(http.base_url)
        with Client(url, key) as client:
            assert len(client.search("key"))
            assert key not in repr(client)
        with Client(url) as client, pytest.raises(ServerError, match="needs a key"):
            client.search("key")


def test_refused_requests_are_sent_again(kb):
    """One worker is held and nothing may wait: without retries the client is refused, with them it is answered."""
    held = threading.Event()
    with serving(kb, ServerSettings(workers=1, waiting=0)) as (http, context):
        url = str(http.base_url)
        context.pool._executor.submit(held.wait)
        context.pool._enter()
        with Client(url, retries=0) as client, pytest.raises(ServerError, match="busy") as error:
            client.search("key")
        assert error.value.status == 503

        def release():
            time.sleep(0.2)
            held.set()
            context.pool._leave()

        threading.Thread(target=release).start()
        with Client(url, retries=3) as client:
            assert len(client.search("key"))


def test_every_method_is_in_both_clients_with_the_signature_of_its_definition():
    names = [name for name, value in vars(Endpoints).items() if isinstance(value, ClientMethod)]
    assert len(names) == 19
    for name in names:
        endpoint = getattr(Client, name)
        assert isinstance(endpoint, ClientMethod)
        assert endpoint is getattr(AsyncClient, name)
        assert endpoint.__doc__
        assert inspect.signature(endpoint.__wrapped__).parameters is not None
