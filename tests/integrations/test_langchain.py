"""LangChain's own suite for retrievers, over a store and over a server."""

import pytest

pytest.importorskip("langchain_tests", reason="langchain-tests is not installed (pip install langchain-tests)")

from langchain_tests.integration_tests import RetrieversIntegrationTests

from assay.errors import ConfigError
from assay.integrations.langchain import AssayRetriever
from tests.serve.server_fixtures import make_store, serving

# The suite has one coroutine and expects asyncio's automatic mode; the base class forbids to override its tests.
pytest.mark.asyncio(RetrieversIntegrationTests.test_ainvoke_returns_documents)


@pytest.fixture(scope="module", autouse=True)
def places(tmp_path_factory):
    path = tmp_path_factory.mktemp("langchain") / "kb"
    with make_store(path) as kb:
        kb.add([f"Key number {number} opens door {number}." for number in range(5)])
        with serving(kb) as (client, _):
            TestStore.address = str(path)
            TestServer.address = str(client.base_url)
            yield


class TestStore(RetrieversIntegrationTests):
    address = ""

    @property
    def retriever_constructor(self):
        return AssayRetriever

    @property
    def retriever_constructor_params(self):
        return {"store": self.address}

    @property
    def retriever_query_example(self):
        return "which key opens the door?"


class TestServer(TestStore):
    @property
    def retriever_constructor_params(self):
        return {"url": self.address, "k": 4}


def test_documents_have_ids_scores_and_sources():
    retriever = AssayRetriever(store=TestStore.address, k=1, search_options={"pipeline": "bm25"})
    (found,) = retriever.invoke("signing key")
    assert found.page_content == "Rotate the signing key every ninety days."
    assert found.metadata["doc_id"] == "keys"
    assert found.metadata["lang"] == "en"
    assert found.metadata["rank"] == 1
    assert retriever.invoke("signing key", where='lang = "de"') == []


def test_wrong_settings_are_errors_with_a_cure():
    with pytest.raises(ConfigError, match="store or a server"):
        AssayRetriever()
    with pytest.raises(ConfigError, match="no option 'filter'"):
        AssayRetriever(store=TestStore.address).invoke("x", filter={})


@pytest.mark.parametrize("option", ["where", "top_k", "api_kee"])
def test_no_option_is_ignored(option):
    """pydantic would drop it: a filter that is not applied."""
    with pytest.raises(ValueError, match=option):
        AssayRetriever(store=TestStore.address, **{option: 'lang = "de"'})
    with pytest.raises(ConfigError, match="no option 'filter'"):
        AssayRetriever(store=TestStore.address, search_options={"filter": "x"})


def test_a_key_is_not_printed():
    assert "secret" not in repr(AssayRetriever(url="http://localhost:1", api_key="secret"))
