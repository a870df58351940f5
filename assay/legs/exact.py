"""Exact leg: chunks that hold the query's identifiers and quoted phrases literally."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.protocols import Snapshot
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Exact:
    """score = weight of the query's keys that a chunk holds / weight of all its keys, scale unit.

    A key is an identifier (`JINA_API_KEY`, `v1.29.3`, `CVE-2024-1234`) or a phrase in double quotes; it weighs
    the idf of its rarest term. A query without keys finds nothing; that is not a degradation.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"exact"})

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        matches = snapshot.exact(query, k)
        ids = snapshot.ids(matches.rows)
        return Ranking.of(ids, matches.parts, "unit", rows=matches.rows, notes=matches.notes)
