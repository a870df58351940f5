"""The Haystack component inside a Haystack pipeline, saved and loaded."""

import asyncio
import os

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
pytest.importorskip("haystack", reason="haystack-ai is not installed")

from haystack import Pipeline
from haystack.utils import Secret

from assay.errors import ConfigError
from assay.integrations.haystack import AssayDocumentRetriever
from assay.serve.http.settings import ServerSettings
from assay.serve.keys import KeyStore
from tests.serve.server_fixtures import make_store, serving


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("haystack") / "kb"
    make_store(path).close()
    return str(path)


def test_it_runs_in_a_pipeline_that_was_saved_and_loaded(store):
    pipeline = Pipeline()
    pipeline.add_component(
        "retriever", AssayDocumentRetriever(store=store, top_k=2, search_options={"pipeline": "bm25"})
    )
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["assay.integrations.haystack"])
    for one in (pipeline, loaded):
        documents = one.run({"retriever": {"query": "signing key"}})["retriever"]["documents"]
        assert [document.meta["doc_id"] for document in documents] == ["keys", "gauges"]
        assert documents[0].score > documents[1].score
        few = one.run({"retriever": {"query": "signing key", "top_k": 1}})["retriever"]["documents"]
        assert len(few) == 1


def test_to_dict_and_from_dict_are_inverse_and_keep_no_key(store, monkeypatch):
    monkeypatch.setenv("MY_ASSAY_KEY", "assay_1_secret")
    made = AssayDocumentRetriever(url="http://localhost:1", api_key=Secret.from_env_var("MY_ASSAY_KEY"), top_k=3)
    saved = made.to_dict()
    assert "secret" not in str(saved)
    assert saved["type"] == "assay.integrations.haystack.AssayDocumentRetriever"
    again = AssayDocumentRetriever.from_dict(saved)
    assert again.to_dict() == made.to_dict()
    assert again.api_key.resolve_value() == "assay_1_secret"


def test_a_wrong_option_is_refused_when_it_is_given(store):
    with pytest.raises(ConfigError, match="no option 'filter'"):
        AssayDocumentRetriever(store=store, search_options={"filter": "x"})


def test_over_a_server_that_asks_for_a_key(tmp_path, monkeypatch):
    keys = KeyStore(tmp_path / "keys.json")
    monkeypatch.setenv("MY_ASSAY_KEY", keys.create("haystack", "read", None, 1.0)[1])
    with make_store(tmp_path / "kb") as kb, serving(kb, ServerSettings(keys_required=True), keys) as (client, _):
        component = AssayDocumentRetriever(
            url=str(client.base_url), api_key=Secret.from_env_var("MY_ASSAY_KEY"), top_k=1
        )
        assert component.run("signing key")["documents"][0].meta["doc_id"] == "keys"
        found = asyncio.run(component.run_async("Teeküche"))["documents"]
    assert found[0].meta["doc_id"] == "tee"
