"""When does a leg run? Triggers read the rankings so far and the config's k, never the caller's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.protocols import Fired
from assay.types import Query, Ranking

TRIGGERS: Mapping[str, str] = {"fewer_than": "assay.triggers:FewerThan", "fill_to_k": "assay.triggers:FillToK"}


def _found(rankings: Mapping[str, Ranking]) -> int:
    return len({name for ranking in rankings.values() for name in ranking.ids.tolist()})


@dataclass(frozen=True, slots=True)
class FewerThan:
    """Fires when the legs so far found fewer than `count` different chunks (000: the must-coverage gate)."""

    count: int = 3

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigError(f"fewer_than: count = {self.count} can never fire", "count is at least 1")

    def fires(self, query: Query, rankings: Mapping[str, Ranking], k: int) -> Fired:
        found = _found(rankings)
        return Fired(found < self.count, f"{found} found so far, fewer_than {self.count}")


@dataclass(frozen=True, slots=True)
class FillToK:
    """Fires when the legs so far cannot fill the pipeline's k."""

    def fires(self, query: Query, rankings: Mapping[str, Ranking], k: int) -> Fired:
        found = _found(rankings)
        return Fired(found < k, f"{found} found so far, k is {k}")
