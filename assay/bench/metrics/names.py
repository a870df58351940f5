"""Metrics and their names: `str(parse(name))` is the canonical spelling, which parses to the same metric.

    nDCG@10        the first 10 documents
    nDCG           every document returned (RR, AP and nDCG only)
    ER@400tok      a context of at most 400 tokens

Names are spelt as ir_measures spells them, so a name from a receipt means the same there. Usual other spellings
(`ndcg@10`, `recall@10`, `MRR@10`, `MAP`, `hit@1`) are read and normalised; case does not matter when reading.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

from assay.errors import AssayError, nearest

Unit = Literal["rank", "token"]
"""The unit of a cutoff: ranks of a ranking, or tokens of a context."""

MAX_CUTOFF = 999_999
"""The largest cutoff, in either unit."""


class MetricError(AssayError):
    """A metric's name cannot be read, or a run does not fit the dataset it is scored on."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Measure:
    """A formula: the unit of its cutoff, its other spellings, and its description."""

    unit: Unit
    needs_cutoff: bool
    aliases: tuple[str, ...]
    about: str


MEASURES: dict[str, Measure] = {
    "nDCG": Measure("rank", False, (), "gain by grade, discounted by log2 of the rank, over the best possible"),
    "RR": Measure("rank", False, ("mrr",), "1 / rank of the first relevant document"),
    "AP": Measure("rank", False, ("map",), "mean of the precision at each relevant document"),
    "R": Measure("rank", True, ("recall",), "the part of the relevant documents that was found"),
    "AllR": Measure("rank", True, ("recall_all",), "1 when every relevant document was found"),
    "Success": Measure("rank", True, ("hit", "recall_any"), "1 when a relevant document was found"),
    "P": Measure("rank", True, ("precision",), "the part of the places that a relevant document holds"),
    "Judged": Measure("rank", True, (), "the part of the documents found that somebody judged"),
    "ER": Measure("token", True, (), "the part of the facts that stand in the context"),
    "EP": Measure("token", True, (), "the part of the context's tokens that are evidence"),
    "A": Measure("token", True, (), "1 when every fact stands in the context"),
    "A_strict": Measure("token", True, (), "A, and nothing in the context contradicts it"),
    "AIC": Measure("token", True, (), "1 when an answer string stands in the context"),
}

_SPELLINGS = {spelling.lower(): name for name, measure in MEASURES.items() for spelling in (name, *measure.aliases)}
_NAME = re.compile(r"(?P<base>[A-Za-z_]+)(?:@(?P<cutoff>[1-9][0-9]{0,5})(?P<tokens>tok)?)?", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Metric:
    """A measure and its cutoff; None means every document returned."""

    measure: str
    cutoff: int | None = None

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise MetricError(f"there is no metric {self.measure!r}", nearest(self.measure, MEASURES))
        if self.cutoff is None and MEASURES[self.measure].needs_cutoff:
            example = Metric(self.measure, 400 if self.unit == "token" else 10)
            raise MetricError(f"{self.measure} needs a cutoff", f"write {example}")
        if self.cutoff is not None and not 1 <= self.cutoff <= MAX_CUTOFF:
            raise MetricError(f"{self.measure} cannot look at {self.cutoff}", f"a cutoff lies in 1..{MAX_CUTOFF}")

    @property
    def unit(self) -> Unit:
        return MEASURES[self.measure].unit

    def __str__(self) -> str:
        if self.cutoff is None:
            return self.measure
        return f"{self.measure}@{self.cutoff}{'tok' if self.unit == 'token' else ''}"


def parse(name: str) -> Metric:
    """Parse a metric's name. `A@400` is read as `A@400tok`: measures by tokens have no form by rank."""
    found = _NAME.fullmatch(name.strip())
    base = name.strip().partition("@")[0]
    if base.lower() not in _SPELLINGS:
        raise MetricError(f"there is no metric {name!r}", _suggest(base))
    measure = _SPELLINGS[base.lower()]
    if found is None:
        raise MetricError(
            f"{name!r} has no cutoff that can be read", f"write {measure}@ and a whole number from 1 to {MAX_CUTOFF}"
        )
    if found["tokens"] and MEASURES[measure].unit == "rank":
        raise MetricError(f"{name!r}: {measure} counts documents, not tokens", f"write {measure}@{found['cutoff']}")
    return Metric(measure, int(found["cutoff"]) if found["cutoff"] else None)


def _suggest(base: str) -> str:
    """The cure for a misspelt name: the nearest measure, then all of them."""
    close = difflib.get_close_matches(base.lower(), _SPELLINGS, n=1)
    return nearest(_SPELLINGS[close[0]] if close else base, MEASURES)
