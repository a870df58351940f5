"""Why a document is, or is not, in an answer: its chunk that comes closest is explained."""

from __future__ import annotations

from typing import Any

from assay.engine.answer import Answer
from assay.errors import QueryError
from assay.serve.document_list import NotFound
from assay.serve.visible_documents import AllowedScopes, VisibleDocuments

_MOST_CHUNKS = 10_000


def explain_place(
    documents: VisibleDocuments,
    text: str,
    chunk_id: str | None,
    document: str | None,
    scopes: AllowedScopes,
    options: dict[str, Any],
) -> dict[str, Any]:
    """The explanation of one chunk: the one that is named, or that of a document with the best place."""
    if (chunk_id is None) == (document is None):
        raise QueryError("an explanation takes an id or a document, one of them", "ids are in every result of a search")
    if chunk_id is None:
        chunk_id = _closest_chunk(documents, text, str(document), scopes, options)
    found = documents.explain(text, chunk_id, scopes, **options)
    return {"document": None if found.chunk is None else found.chunk.doc_id, **found.to_json()}


def _closest_chunk(
    documents: VisibleDocuments, text: str, document: str, scopes: AllowedScopes, options: dict[str, Any]
) -> str:
    """The chunk of a document that got farthest: the best in the answer, else the best of the last step that had one,
    else the document's first."""
    own = documents.chunk_ids(document, scopes, options.get("snapshot"))[:_MOST_CHUNKS]
    if not own:
        raise NotFound(f"there is no document called {document[:100]!r}", "names are listed by /documents")
    answer = documents.search(text, scopes, **options)
    wanted = set(own)
    return next((name for name in _by_progress(answer) if name in wanted), own[0])


def _by_progress(answer: Answer) -> list[str]:
    """Every id of the trace: those of the answer, then those of the last step, and so on back to the legs."""
    rankings = [answer.chosen, *(span.ranking for span in reversed(answer.trace))]
    return [name for ranking in rankings for name in ranking.ids.tolist()]
