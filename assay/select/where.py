"""Post-filter: drops candidates that do not satisfy a filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.engine.facts import matches_of
from assay.errors import ConfigError, QueryError
from assay.protocols import Snapshot
from assay.select.drop import keep_only
from assay.types import Query, Range, Ranking
from assay.where import parse


@dataclass(frozen=True, slots=True)
class Where:
    """Keeps the candidates that satisfy a filter expression, e.g. where = 'lang = "en"'.

    It filters after the legs have searched, so the list can become short. A filter that belongs to the query goes into
    `query.where`, which the legs apply while they search. Scores stay as they are.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    where: str

    def __post_init__(self) -> None:
        try:
            parse(self.where)
        except QueryError as error:
            raise ConfigError(f"where.where = {self.where!r}: {error.message}", error.cure) from error

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking):
            return ranking
        return keep_only(ranking, matches_of(ranking, snapshot, self.where), f"does not satisfy {self.where}")

    def gives(self, scores: Range) -> Range:
        return scores
