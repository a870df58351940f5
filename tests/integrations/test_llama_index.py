"""The LlamaIndex retriever inside LlamaIndex: nodes, scores, postprocessors, asyncio."""

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")

from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import NodeRelationship, QueryBundle

from assay.errors import ConfigError
from assay.integrations.llama_index import AssayNodeRetriever
from tests.serve.server_fixtures import make_store, serving


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("llama") / "kb") as base:
        yield base


def test_nodes_are_the_hits_of_a_search(kb):
    retriever = AssayNodeRetriever(kb=kb, similarity_top_k=2, pipeline="bm25")
    nodes = retriever.retrieve("signing key")
    hits = kb.search("signing key", 2, pipeline="bm25").hits
    assert [(node.node_id, node.score, node.get_content()) for node in nodes] == [
        (hit.id, hit.score, hit.text) for hit in hits
    ]
    source = nodes[0].node.relationships[NodeRelationship.SOURCE]
    assert source.node_id == "keys"
    later = asyncio.run(retriever.aretrieve(QueryBundle("signing key")))
    assert [node.node_id for node in later] == [node.node_id for node in nodes]


def test_its_nodes_pass_through_a_postprocessor_of_llama_index(kb):
    nodes = AssayNodeRetriever(kb=kb, pipeline="bm25").retrieve("signing key")
    kept = SimilarityPostprocessor(similarity_cutoff=nodes[0].score).postprocess_nodes(nodes)
    assert [node.node_id for node in kept] == [nodes[0].node_id]


def test_a_wrong_option_is_refused_when_it_is_given(kb):
    with pytest.raises(ConfigError, match="no option 'k'") as refused:
        AssayNodeRetriever(kb=kb, k=2)
    assert "similarity_top_k" in refused.value.cure


def test_over_a_server(kb):
    with serving(kb) as (client, _):
        nodes = AssayNodeRetriever(url=str(client.base_url), similarity_top_k=1, where='lang = "de"').retrieve(
            "Teeküche"
        )
    assert nodes[0].metadata["doc_id"] == "tee"
