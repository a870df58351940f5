"""IVF leg: nearest vectors in a vector bank, through the inverted lists of its index (vector cascade, stage 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from assay.engine.answer import Answer
from assay.engine.checks import check_whole
from assay.errors import ConfigError, QueryError
from assay.protocols import PredictsNext, Snapshot
from assay.types import Note, Query, Range, Ranking

_PROBED = "nprobe_used = "


@dataclass(frozen=True, slots=True)
class Ivf:
    """score = cos(probe, vector), scale raw, in [−1, 1].

    probe = "x" searches with the query's vector, "yhat" with the next vector that the model predicts; the model's
    rerank then repeats this ranking. The bare step Δ̂ is never a probe: it is a difference of vectors, not a position.

    The search reads `nprobe` lists, or the number that `lanes` has for the query's lane, or the query's own
    `extra["nprobe"]`. A snapshot without lists ignores it. Where those lists hold fewer than k vectors it reads more;
    a note has the number that was read (`nprobe_used`). Ids in `extra["exclude"]` are left out.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"vector", "dense"})

    nprobe: int = 16
    lanes: Mapping[str, int] = field(default_factory=dict)
    probe: Literal["x", "yhat"] = "x"

    def __post_init__(self) -> None:
        check_whole("ivf.nprobe", self.nprobe, 1)
        for lane, nprobe in self.lanes.items():
            if not (lane.isascii() and lane.isdecimal()) or str(int(lane)) != lane:  # "09" never matches a lane
                raise ConfigError(f"ivf.lanes names {lane!r}, which is no lane", 'write a number: lanes = {"9" = 32}')
            check_whole(f"ivf.lanes.{lane}", nprobe, 1)

    def gives(self) -> Range:
        return Range("raw", -1.0, 1.0)

    def probes(self, query: Query) -> int:
        """How many lists the search reads for this query."""
        requested = query.extra.get("nprobe")
        return int(requested) if requested else self.lanes.get(str(query.extra.get("lane")), self.nprobe)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        vector = query.vector
        if self.probe == "yhat":
            vector = snapshot.expected(query) if isinstance(snapshot, PredictsNext) else None
            if vector is None:
                raise QueryError('ivf.probe = "yhat" needs a next-vector model', 'load one, or take probe = "x"')
        probe_query = replace(query, vector=vector, extra={**query.extra, "nprobe": self.probes(query)})
        matches = snapshot.nearest(probe_query, k)
        return Ranking.of(snapshot.ids(matches.rows), matches.parts, "raw", rows=matches.rows, notes=matches.notes)


def probe_notes(nprobe: int, probed: int, k: int) -> tuple[Note, ...]:
    """A note with the number of lists that were read; a remark under the answer where it is not the one asked for."""
    if not probed:
        return ()
    if probed <= nprobe:
        return (Note("detail", f"{_PROBED}{probed}"),)
    return (Note("info", f"{_PROBED}{probed}: {nprobe} lists hold fewer than {k} vectors that may be returned"),)


def nprobe_used(answer: Answer) -> int:
    """How many lists the search behind an answer read; 0 where it read none."""
    for span in answer.trace:
        for note in span.notes:
            if note.text.startswith(_PROBED):
                return int(note.text.removeprefix(_PROBED).partition(":")[0])
    return 0
