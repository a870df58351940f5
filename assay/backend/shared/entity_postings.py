"""Cross-links over a graph view: the entities of rows, and the live rows of entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from assay.backend.shared.bm25 import LexicalView, score_groups
from assay.backend.shared.graph_view import GraphView
from assay.backend.shared.query_terms import QueryTerms
from assay.types import Floats, Query, Rows
from assay.where import Mask


@dataclass(frozen=True)
class GraphEntities:
    """Implements `protocols.EntityPostings`. `allowed` returns which rows a query may see; None: every live one.
    `query_terms` returns the terms of a query with their boosts."""

    view: GraphView
    words: LexicalView
    allowed: Callable[[Query], Mask | None]
    query_terms: Callable[[Query], QueryTerms]

    def entities_of(self, rows: Rows) -> tuple[Rows, Rows]:
        return self.view.things_of(rows)

    def rows_of(self, entities: Rows, query: Query | None = None) -> tuple[Rows, Rows]:
        return self.view.rows_of(entities, self.allowed(query or Query()))

    def rows_of_terms(self, terms: Sequence[str], query: Query | None = None) -> tuple[Rows, Rows]:
        allowed = self.allowed(query or Query())
        lists = [self.words.rows_of(term) for term in terms]
        owners = np.repeat(np.arange(len(terms)), [len(rows) for rows in lists])
        rows = np.concatenate([np.empty(0, np.int64), *lists])
        return (owners, rows) if allowed is None else (owners[allowed[rows]], rows[allowed[rows]])

    def score_terms(self, query: Query, terms: Sequence[Collection[str]], groups: Sequence[Rows]) -> list[Floats]:
        return score_groups(self.words, self.query_terms(query), terms, groups)

    def frequency(self, entities: Rows) -> Rows:
        return self.view.frequency[entities]

    def are_names(self, entities: Rows) -> Mask:
        return self.view.is_name[entities]

    def query_entities(self, text: str) -> Rows:
        return np.array(self.view.query_things(text), np.int64)

    def name(self, entity: int) -> str:
        return self.view.name(entity)
