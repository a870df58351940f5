"""Group limit: keeps at most a number of candidates per field value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_whole
from assay.engine.facts import chunks_of
from assay.errors import ConfigError
from assay.protocols import Snapshot
from assay.select.drop import keep_only
from assay.types import Chunk, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class OnePer:
    """Keeps the first `most` candidates of every group; the router policy keeps one per session_id.

    A group is one value of `field`: doc_id, or a metadata field (title, section, session_id, …). Chunks without
    a value belong to no group and stay. Scores stay as they are.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    field: str = "doc_id"
    most: int = 1

    def __post_init__(self) -> None:
        check_whole("one_per.most", self.most, 1)
        if not self.field:
            raise ConfigError("one_per.field = '' names no field", "give doc_id or a metadata field")

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        seen: Counter[str] = Counter()
        keep = []
        for chunk in chunks_of(ranking, snapshot):
            group = self._group(chunk)
            if group:
                seen[group] += 1
            keep.append(not group or seen[group] <= self.most)
        reason = f"more than {self.most} of one {self.field}"
        return keep_only(ranking, np.array(keep, np.bool_), reason)

    def gives(self, scores: Range) -> Range:
        return scores

    def _group(self, chunk: Chunk | None) -> str:
        if chunk is None:
            return ""
        value = chunk.doc_id if self.field == "doc_id" else chunk.meta.get(self.field)
        return "" if value is None else str(value)
