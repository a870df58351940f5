"""Searches a collection and proves the result: what Qdrant did not propose cannot be among the best k.

Words: a row's score in the index differs from its BM25 score only by rounding and by how far the mean length has moved
since the weights were computed; both are bounded. Vectors, searched exactly: only by rounding. Where the proof fails,
more is fetched. Rows after the manifest's, and rows that died, are PostgreSQL's to add and to leave out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.backend.postgres.bm25 import TermLookup, search_best
from assay.backend.postgres.filters import Condition
from assay.backend.postgres.vectors import NearestRows, exact_rows, score_candidates
from assay.backend.postgres.version_view import VersionView
from assay.backend.qdrant.collection import DEFAULT_WIDTH, PointCollection, Proposals, ShardCoverage
from assay.backend.qdrant.filters import visible_filter
from assay.backend.qdrant.manifest import IndexManifest
from assay.backend.shared.bm25 import ScoredRows
from assay.errors import Reason
from assay.index.recall import describe_recall
from assay.types import Floats, Note, Query, Rows
from assay.where import And, Filter

if TYPE_CHECKING:
    from qdrant_client import models

_SPARE = 16
_MOST = 20_000
"""Rows that are fetched for a proof at most; beyond, PostgreSQL answers."""
_ROUNDING = 1e-4
"""More than float32 can lose in a sum of a query's terms, relative to the sum."""
_COSINE_ROUNDING = 1e-5
Fetch = Callable[[int], Proposals]


@dataclass(frozen=True)
class IndexReader:
    """Searches one state of the collection for one version of the store."""

    view: VersionView
    manifest: IndexManifest
    collection: PointCollection
    tail: bool
    """Whether the version has rows that the collection lacks."""
    part: Filter | None = None
    """The filter of the part of the store that `view` is of; None for the whole."""

    def restrict(self, view: VersionView, where: Filter) -> IndexReader:
        """The reader of a part of the store; scores go by the statistics of the part."""
        return replace(self, view=view, part=where if self.part is None else And((self.part, where)))

    def _visible(self, query: Query) -> models.Filter:
        parts = tuple(part for part in (self.part, query.where) if part is not None)
        where = And(parts) if len(parts) == 2 else parts[0] if parts else None
        return visible_filter(self.view.version, where, self.view.moment(query), query.scope)

    def best_terms(self, query: Query, lookup: TermLookup, k: int) -> tuple[ScoredRows, Note] | None:
        """The best k rows by BM25 with a note on what served; None where it cannot be proven."""
        known = lookup.known
        numbers = [lookup.numbers[i] for i in known]
        weights = lookup.weights[known].tolist()
        moved = self.view.average / self.manifest.average
        slack = max(1.0, moved) * (1.0 + _ROUNDING)
        visible = self._visible(query)
        holding = Condition("c.terms OPERATOR(pg_catalog.&&) %s::int[]", (numbers,))
        fetch = 2 * k + _SPARE
        while fetch <= _MOST:
            proposals = self.collection.heaviest(numbers, weights, fetch, visible)
            where = self._candidates(proposals.rows, holding)
            found = search_best(self.view, lookup, k, where)
            found = found.take(found.score > 0.0)
            whole = len(proposals.rows) < fetch
            if whole or (len(found.rows) == k and found.score.min() > proposals.scores[-1] * slack):
                return found, self._note("words", proposals.coverage)
            fetch *= 4
        return None

    def nearest(self, query: Query, near: NearestRows) -> tuple[Rows, Floats, Note] | None:
        """The best k rows by cosine, in any order, and a note; None where it cannot be proven."""
        exact = not self.collection.is_approximate(self.view.size)
        visible = self._visible(query)
        tail = self._tail_rows(near) if self.tail else []
        fetch = self.collection.fetch_count(near.k, exact)
        width = self.manifest.vectors.get("ef", DEFAULT_WIDTH)
        while fetch <= _MOST:
            proposals = self.collection.nearest(near.vector, fetch, exact, visible, width)
            rows, scores = score_candidates(self.view, near, proposals.rows.tolist(), tail)
            whole = len(proposals.rows) < fetch
            if len(rows) >= near.k or whole:
                kth = np.sort(scores)[::-1][near.k - 1] if len(rows) >= near.k else -np.inf
                if whole or not exact or kth > proposals.scores[-1] + _COSINE_ROUNDING:
                    return rows, scores, self._note_vectors(exact, proposals.coverage)
            fetch *= 4
        return None

    def _tail_rows(self, near: NearestRows) -> list[int]:
        """Rows that the collection lacks, the nearest of them."""
        behind = Condition(f"{near.seen.sql} AND c.seq > %s", (*near.seen.parameters, self.manifest.seq))
        tail = NearestRows(near.table, near.dim, near.vector, near.k, behind)
        return [int(row[0]) for row in self.view.store.read(lambda db: exact_rows(db, tail))]

    def _candidates(self, rows: Rows, holding: Condition) -> Condition:
        if not self.tail:
            return Condition("c.seq = ANY(%s)", (rows.tolist(),))
        return Condition(
            f"(c.seq = ANY(%s) OR (c.seq > %s AND {holding.sql}))",
            (rows.tolist(), self.manifest.seq, *holding.parameters),
        )

    def _note_vectors(self, exact: bool, coverage: ShardCoverage) -> Note:
        """The note of a vector search; an approximate one names its measured recall."""
        if exact:
            return self._note("vectors", coverage)
        facts = {"kind": self.manifest.layout["vectors"], **self.manifest.vectors}
        return self._note(describe_recall(facts), coverage, {"vectors": facts})

    def _note(self, what: str, coverage: ShardCoverage, more: Mapping[str, Any] = MappingProxyType({})) -> Note:
        data = {"index": {**coverage.to_json(), **more}}
        if coverage.answered < coverage.shards:
            return Note(
                "degraded",
                f"{coverage.answered} of {coverage.shards} shards of the index answered; "
                f"{1 - coverage.share:.1%} of the indexed rows could not be found",
                cure=f"start the nodes that hold {', '.join((*coverage.failed, *coverage.late))}; see assay doctor",
                data=data,
            )
        shards = "1 shard" if coverage.shards == 1 else f"{coverage.shards} shards"
        return Note("info", f"Qdrant ({shards}) proposed {what}, Assay scored them", data=data)


@dataclass(frozen=True, slots=True)
class MissingIndex:
    """Why the index does not serve now. PostgreSQL gives the same answer, more slowly."""

    reason: Reason
    is_fault: bool = True
    """False where the index is only waiting to be built."""

    def note(self) -> Note:
        kind: Literal["degraded", "info"] = "degraded" if self.is_fault else "info"
        return Note(kind, f"PostgreSQL answered without the index: {self.reason.text}", cure=self.reason.cure)
