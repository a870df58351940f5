"""A LangChain retriever over a store or a server.

from assay.integrations.langchain import AssayRetriever
retriever = AssayRetriever(store="./kb", k=5)                 # or url="http://localhost:8080"
documents = retriever.invoke("how do I rotate the signing key?")
"""

from __future__ import annotations

from typing import Any

from assay.errors import MissingExtra
from assay.integrations.passages import PassageSearch, RetrievedPassage, check_options

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, PrivateAttr, SecretStr
except ModuleNotFoundError as error:
    raise MissingExtra("the LangChain retriever", "langchain") from error


class AssayRetriever(BaseRetriever):
    """Returns the best `k` chunks as documents; `search_options` are those of a search (pipeline, where, scope, …).

    Give `store`, the address of a store on this machine, `kb`, an open knowledge base, or `url`, a server's, with
    `api_key` where it asks for one. Options of one call go to `invoke`: `retriever.invoke(query, k=3, where='…')`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    store: str | None = None
    kb: Any = None
    url: str | None = None
    api_key: SecretStr | None = None
    k: int = 10
    search_options: dict[str, Any] = Field(default_factory=dict)
    _passages: PassageSearch = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        check_options(self.search_options, "k")
        key = None if self.api_key is None else self.api_key.get_secret_value()
        self._passages = PassageSearch(self.store, self.url, key, self.kb)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, **options: Any
    ) -> list[Document]:
        found = self._passages.search(query, k or self.k, **{**self.search_options, **options})
        return [_document(passage) for passage in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None, **options: Any
    ) -> list[Document]:
        found = await self._passages.asearch(query, k or self.k, **{**self.search_options, **options})
        return [_document(passage) for passage in found]


def _document(passage: RetrievedPassage) -> Document:
    return Document(id=passage.id, page_content=passage.text, metadata=passage.metadata)
