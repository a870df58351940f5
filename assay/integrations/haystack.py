"""A Haystack component over a store or a server.

from assay.integrations.haystack import AssayDocumentRetriever
pipeline.add_component("retriever", AssayDocumentRetriever(store="./kb", top_k=5))
"""

from __future__ import annotations

from typing import Any

from assay.errors import MissingExtra
from assay.integrations.passages import PassageSearch, RetrievedPassage, check_options

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ModuleNotFoundError as error:
    raise MissingExtra("the Haystack component", "haystack") from error


@component
class AssayDocumentRetriever:
    """Returns the best chunks as documents. A key is saved as the name of its variable, never as itself."""

    def __init__(
        self,
        store: str | None = None,
        url: str | None = None,
        api_key: Secret | None = None,
        top_k: int = 10,
        search_options: dict[str, Any] | None = None,
    ) -> None:
        check_options(search_options or (), "top_k")
        self.store = store
        self.url = url
        self.api_key = api_key
        self.top_k = top_k
        self.search_options = search_options or {}
        self._passages = PassageSearch(store, url, None if api_key is None else api_key.resolve_value())

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, search_options: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """Search; `top_k` and `search_options` of one run override those of the component."""
        options = {**self.search_options, **(search_options or {})}
        found = self._passages.search(query, top_k or self.top_k, **options)
        return {"documents": [_document(passage) for passage in found]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, top_k: int | None = None, search_options: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        options = {**self.search_options, **(search_options or {})}
        found = await self._passages.asearch(query, top_k or self.top_k, **options)
        return {"documents": [_document(passage) for passage in found]}

    def to_dict(self) -> dict[str, Any]:
        saved: dict[str, Any] = default_to_dict(
            self,
            store=self.store,
            url=self.url,
            api_key=None if self.api_key is None else self.api_key.to_dict(),
            top_k=self.top_k,
            search_options=self.search_options,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AssayDocumentRetriever:
        key = data["init_parameters"].get("api_key")
        if isinstance(key, dict):
            data["init_parameters"]["api_key"] = Secret.from_dict(key)
        made: AssayDocumentRetriever = default_from_dict(cls, data)
        return made


def _document(passage: RetrievedPassage) -> Document:
    return Document(id=passage.id, content=passage.text, score=passage.score, meta=passage.metadata)
