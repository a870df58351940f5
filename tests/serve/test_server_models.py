"""/v1/rerank and /v1/embeddings with the local model, in the shapes of their ecosystems."""

import base64

import numpy as np
import pytest

import assay
from tests.serve.server_fixtures import RECORDS, problem, serving


@pytest.fixture(scope="module")
def no_model():
    """Here the model is wanted."""


@pytest.fixture(scope="module")
def client(no_model, tmp_path_factory):
    with assay.open(tmp_path_factory.mktemp("models") / "kb", embedder="minilm") as base:
        base.add(RECORDS)
        with serving(base) as (found, _):
            yield found


def test_embeddings_are_unit_vectors_that_do_not_depend_on_each_other(client):
    texts = ["Rotate the signing key.", "Water the plants."]
    many = client.post("/v1/embeddings", json={"input": texts, "model": "text-embedding-3-small", "user": "u"}).json()
    assert [one["index"] for one in many["data"]] == [0, 1]
    vectors = np.array([one["embedding"] for one in many["data"]], np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0], abs=1e-5)
    one = client.post("/v1/embeddings", json={"input": texts[1], "encoding_format": "base64"}).json()
    assert base64.b64decode(one["data"][0]["embedding"]) == vectors[1].tobytes()
    assert many["usage"] == {"prompt_tokens": 9, "total_tokens": 9}


def test_rerank_puts_the_relevant_text_first(client):
    documents = ["Water the plants on Friday.", {"text": "The signing key is rotated every ninety days."}]
    body = {"query": "How often is the signing key rotated?", "documents": documents, "return_documents": True}
    for model in ("embedding", "late_interaction"):
        found = client.post("/v1/rerank", json={**body, "model": model, "top_n": 1}).json()
        (best,) = found["results"]
        assert best["index"] == 1
        assert 0.0 < best["relevance_score"] <= 1.0
        assert best["document"]["text"].startswith("The signing key")
    assert "late_interaction" in problem(client.post("/v1/rerank", json={**body, "model": "nope"}), 409)["cure"]


def test_a_search_embeds_the_question(client):
    found = client.post("/search", json={"text": "how often must keys be changed?"}).json()
    assert found["hits"][0]["doc_id"] == "keys"
    assert {one["leg"] for one in found["legs"]} == {"bm25", "dense"}
    lines = client.get("/metrics").text.splitlines()
    assert any(line.startswith('assay_vector_cache_total{result="miss"}') for line in lines)
