"""The tools `search` and `get` over a documents store. Memories of the same store are never reached through them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.errors import QueryError, StoreError
from assay.memory.scopes import NO_MEMORIES, SOURCE
from assay.serve.mcp import arguments
from assay.where import Compare

if TYPE_CHECKING:  # the engine is loaded at the first call
    from assay.kb import KnowledgeBase

EXCERPT = 400
"""Characters of a passage in a list of results."""
PAGE = 20_000
"""Characters that one `get` returns."""


def search_documents(kb: KnowledgeBase, args: arguments.SearchArguments) -> Mapping[str, Any]:
    """The best passages of documents, each with an id for `get`."""
    answer = kb.search(args.query, args.limit, where=NO_MEMORIES, since=args.since, until=args.until)
    hits = []
    for hit in answer:
        place = " › ".join(part for part in (hit.title, hit.chunk.section) if part)
        excerpt = hit.excerpt(EXCERPT).text if len(hit.text) > EXCERPT else hit.text
        hits.append({"id": answer.short_id(hit.id), "place": place, "text": excerpt, "score": round(hit.score, 4)})
    return {"hits": hits, "degraded": list(answer.status.degraded)}


def get_document(kb: KnowledgeBase, args: arguments.GetArguments) -> Mapping[str, Any]:
    """The text of a passage by its id or a unique beginning, or of a whole document by its name."""
    view = kb.snapshot()
    rows = view.live_rows(Compare("doc_id", "=", args.id))
    if not len(rows):
        rows = view.rows(_as_ids(kb.full_id(args.id, view)))
    from assay.serve.reading_order import in_reading_order

    chunks = in_reading_order(kb, view.chunks(rows))
    if any(chunk.doc_id.startswith(f"{SOURCE}/") for chunk in chunks):
        raise StoreError(f"no document here has the id {args.id[:60]!r}", "ids are in every result of search")
    text = "\n\n".join(chunk.text for chunk in chunks)
    if args.offset and args.offset >= len(text):
        raise QueryError(f"offset {args.offset:,} is beyond the end: {len(text):,} characters", "begin at 0")
    end = min(args.offset + PAGE, len(text))
    first = chunks[0]
    return {
        "document": first.doc_id,
        "title": first.title,
        "text": text[args.offset : end],
        "next_offset": end if end < len(text) else None,
    }


def _as_ids(name: str) -> Any:
    import numpy as np

    return np.array([name])


def render_search(result: Mapping[str, Any]) -> str:
    """Results as lines: the id, the place, the passage."""
    lines = [f"[{hit['id']}] {hit['place']}\n{hit['text']}" for hit in result["hits"]] or ["Nothing found."]
    lines += [f"degraded: {reason.partition('; cure')[0]}" for reason in result["degraded"]]
    return "\n\n".join(lines)


def render_document(result: Mapping[str, Any]) -> str:
    more = f"\n[more: offset {result['next_offset']}]" if result["next_offset"] is not None else ""
    return f"{result['document']}\n\n{result['text']}{more}"
