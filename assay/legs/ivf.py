"""Nearness in a bank of vectors, through the inverted lists of its index (001, stage 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from assay.engine.checks import check_whole
from assay.errors import ConfigError, QueryError
from assay.protocols import PredictsNext, Snapshot
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Ivf:
    """score = cos(probe, vector), scale raw, in [−1, 1].

    probe = "x": the query's vector. "yhat": where the next-vector model says the next one lies; then the model only
    repeats this ranking. The bare step Δ̂ is never searched with: it is a difference of places, and no place.

    `nprobe` lists are looked into, or as many as `lanes` says for the query's lane, or as the query's own
    `extra["nprobe"]`. A snapshot without lists ignores it. What `extra["exclude"]` names does not come back.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"vector", "dense"})

    nprobe: int = 16
    lanes: Mapping[str, int] = field(default_factory=dict)
    probe: Literal["x", "yhat"] = "x"

    def __post_init__(self) -> None:
        check_whole("ivf.nprobe", self.nprobe, 1)
        for lane, nprobe in self.lanes.items():
            if not (lane.isascii() and lane.isdecimal()) or str(int(lane)) != lane:  # "09" would never be looked up
                raise ConfigError(f"ivf.lanes names {lane!r}, which is no lane", 'write a number: lanes = {"9" = 32}')
            check_whole(f"ivf.lanes.{lane}", nprobe, 1)

    def gives(self) -> Range:
        return Range("raw", -1.0, 1.0)

    def probes(self, query: Query) -> int:
        """How many lists this query looks into."""
        own = query.extra.get("nprobe")
        return int(own) if own else self.lanes.get(str(query.extra.get("lane")), self.nprobe)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        vector = query.vector
        if self.probe == "yhat":
            vector = snapshot.expected(query) if isinstance(snapshot, PredictsNext) else None
            if vector is None:
                raise QueryError('ivf.probe = "yhat" needs a next-vector model', 'load one, or take probe = "x"')
        asked = replace(query, vector=vector, extra={**query.extra, "nprobe": self.probes(query)})
        found = snapshot.nearest(asked, k)
        return Ranking.of(snapshot.ids(found.rows), found.parts, "raw", rows=found.rows, notes=found.notes)
