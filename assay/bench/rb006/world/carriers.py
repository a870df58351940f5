"""The simulated documents that a body of real text needs: those that answer, contradict or are named by a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.bench.rb006.world.documents import WorldChunk
from assay.bench.rb006.world.library import DepartmentLibrary, render_department
from assay.bench.rb006.world.organisation import department_of
from assay.bench.rb006.world.queries import WorldQuery


def find_carriers(
    library: DepartmentLibrary, queries: Sequence[WorldQuery], departments: range
) -> Iterator[WorldChunk]:
    """The chunks of these departments whose documents are needed, in the order of the simulated corpus.

    A document is needed if a sentence of it is evidence for a query or contradicts its evidence, or if it is about
    something that an out-of-scope query names: that something must be known, only what is asked about it is not.
    """
    needed = _find_needed_documents(library, queries, departments)
    # Out-of-scope queries are asked at every scale, so what they name is in the first stage.
    unanswered = [query.text for query in queries if not query.groups] if departments.start == 0 else []
    for index in departments:
        if index not in needed and not unanswered:
            continue
        state = library[index].state
        named = [label for label in state.labels.values() if any(label in text for text in unanswered)]
        chunks = list(render_department(library.seed, library.templates, state))
        documents = needed.get(index, set()) | {
            document_of(chunk.id)
            for chunk in chunks
            if any(label in chunk.title or label in chunk.text for label in named)
        }
        yield from (chunk for chunk in chunks if document_of(chunk.id) in documents)


def document_of(chunk_id: str) -> str:
    """The document that a chunk is cut from: d4e89f1e642c5-00 belongs to d4e89f1e642c5."""
    return chunk_id.rpartition("-")[0]


def _find_needed_documents(
    library: DepartmentLibrary, queries: Sequence[WorldQuery], departments: range
) -> dict[int, set[str]]:
    """Department → documents with evidence or its contradiction."""
    needed: dict[int, set[str]] = {}
    for query in queries:
        for group in query.groups:
            index = department_of(group.fact.subject)
            if index in departments:
                twins = library.conflicts(group.fact) if query.is_answerable else ()
                documents = needed.setdefault(index, set())
                documents.update(document_of(sentence.chunk_id) for sentence in (*group.sentences, *twins))
    return needed
