"""A LlamaIndex retriever over a store or a server.

from assay.integrations.llama_index import AssayNodeRetriever
retriever = AssayNodeRetriever(store="./kb", similarity_top_k=5)
nodes = retriever.retrieve("how do I rotate the signing key?")
"""

from __future__ import annotations

from typing import Any

from assay.errors import MissingExtra
from assay.integrations.passages import PassageSearch, RetrievedPassage, check_options

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ModuleNotFoundError as error:
    raise MissingExtra("the LlamaIndex retriever", "llama-index") from error


class AssayNodeRetriever(BaseRetriever):
    """Returns the best chunks as nodes with scores; the source of a node is its document."""

    def __init__(
        self,
        store: str | None = None,
        url: str | None = None,
        api_key: str | None = None,
        kb: Any = None,
        similarity_top_k: int = 10,
        callback_manager: Any = None,
        **search_options: Any,
    ) -> None:
        check_options(search_options, "similarity_top_k")
        self.similarity_top_k = similarity_top_k
        self.search_options = search_options
        self._passages = PassageSearch(store, url, api_key, kb)
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._passages.search(query_bundle.query_str, self.similarity_top_k, **self.search_options)
        return [_node(passage) for passage in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await self._passages.asearch(query_bundle.query_str, self.similarity_top_k, **self.search_options)
        return [_node(passage) for passage in found]


def _node(passage: RetrievedPassage) -> NodeWithScore:
    source = RelatedNodeInfo(node_id=passage.metadata["doc_id"])
    node = TextNode(
        id_=passage.id, text=passage.text, metadata=passage.metadata, relationships={NodeRelationship.SOURCE: source}
    )
    return NodeWithScore(node=node, score=passage.score)
