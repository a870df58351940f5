"""The vector cascade, opened and searched: a bank, its index and its next-vector model behind one call.

`CascadeQuery` becomes a `Query` (what the cascade adds travels in `query.extra`); its k0, k1, k and λ become settings of
the pipeline, and the answer is an `Answer` with its trace, parts and digests.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.cascade.bank.bank import open_bank
from assay.cascade.bank.index import open_index
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.lvm.model import open_model
from assay.config.load import from_dict, load, source
from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, ModelError, QueryError
from assay.legs.ivf import Ivf
from assay.score.tmd import Tmd
from assay.select.top_k import TopK
from assay.types import Query, Vector


@dataclass(frozen=True, eq=False)
class CascadeQuery:
    """One request. What is None is taken from the pipeline: `nprobe` by lane, and `lane` is the code's own."""

    vector: Vector
    tmd_bits: int | None = None
    lane: int | None = None
    context_ids: tuple[int, ...] = ()
    exclude_ids: tuple[int, ...] = ()
    k0: int | None = None
    k1: int | None = None
    k: int | None = None
    weight: float | None = None
    nprobe: int | None = None
    id: str = ""

    def __post_init__(self) -> None:
        if self.tmd_bits is not None and not 0 <= self.tmd_bits <= 65_535:
            raise QueryError(f"tmd_bits = {self.tmd_bits} is no code", "give sixteen bits: 0 to 65535")
        if self.nprobe is not None and self.nprobe < 1:
            raise QueryError(f"nprobe = {self.nprobe} looks into no list", "give 1 or more")

    def query(self) -> Query:
        given = {
            "tmd_bits": self.tmd_bits,
            "lane": self.lane,
            "nprobe": self.nprobe,
            "context": self.context_ids or None,
            "exclude": self.exclude_ids or None,
        }
        extra = {name: value for name, value in given.items() if value is not None}
        return Query(vector=self.vector, extra=extra, id=self.id)


@dataclass(frozen=True, slots=True)
class CascadeSettings:
    """The numbers of a cascade: k0 ≥ k1 ≥ k, and λ, the weight of the next-vector score."""

    k0: int
    k1: int
    k: int
    weight: float

    def __post_init__(self) -> None:
        if not self.k0 >= self.k1 >= self.k >= 1:
            raise QueryError(
                f"k0 = {self.k0}, k1 = {self.k1}, k = {self.k}: each stage keeps some of the one before",
                "give k0 ≥ k1 ≥ k ≥ 1",
            )


class Cascade:
    """A snapshot of a bank and the pipeline that searches it. Any number of threads may ask."""

    def __init__(self, snapshot: BankSnapshot, base: Pipeline, config: Mapping[str, Any]) -> None:
        self.snapshot = snapshot
        self.base = base
        self._config = config
        self.pipeline = lru_cache(maxsize=256)(self._pipeline)
        """The pipeline with other numbers; made once for each."""

    @property
    def settings(self) -> CascadeSettings:
        """What a request gets that names no other."""
        steps = {plan.name: plan.step for plan in self.base.steps}
        k1, tmd = steps["k1"], steps["tmd"]
        assert isinstance(k1, TopK)
        assert isinstance(tmd, Tmd)
        return CascadeSettings(self.base.legs[0].k, k1.k, self.base.k, tmd.weight)

    @property
    def leg(self) -> Ivf:
        leg = self.base.legs[0].leg
        assert isinstance(leg, Ivf)
        return leg

    def settings_of(self, ask: CascadeQuery) -> CascadeSettings:
        own = self.settings
        return CascadeSettings(
            own.k0 if ask.k0 is None else ask.k0,
            own.k1 if ask.k1 is None else ask.k1,
            own.k if ask.k is None else ask.k,
            own.weight if ask.weight is None else ask.weight,
        )

    def _pipeline(self, settings: CascadeSettings) -> Pipeline:
        legs = {name: {**leg, "k": settings.k0} for name, leg in self._config["legs"].items()}
        own: Mapping[str, Mapping[str, Any]] = {"k1": {"k": settings.k1}, "tmd": {"weight": settings.weight}}
        steps = [{**step, **own.get(step.get("name", step["use"]), {})} for step in self._config["step"]]
        return from_dict({**self._config, "k": settings.k, "legs": legs, "step": steps}, self.base.name)

    def search(self, ask: CascadeQuery, clock: Callable[[], float] = lambda: 0.0) -> Answer:
        """The answer to one request; `clock` (seconds) only measures. QueryError names the field that is wrong."""
        self.snapshot.checked(ask.vector)
        if ask.lane is None and ask.tmd_bits is not None:
            ask = replace(ask, lane=int(self.snapshot.layout.lanes(ask.tmd_bits)))
        return self.pipeline(self.settings_of(ask)).run(ask.query(), self.snapshot, clock=clock)


def cascade(snapshot: BankSnapshot, pipeline: str = "cascade") -> Cascade:
    """A cascade over an open bank: the preset, or a TOML file with one leg `ivf` and the steps `k1` and `tmd`."""
    base = load(pipeline)
    names = {plan.name: type(plan.step) for plan in base.steps}
    if len(base.legs) != 1 or not isinstance(base.legs[0].leg, Ivf):
        raise ConfigError(f"pipeline {pipeline!r} is no cascade: its one leg is ivf", "start from the preset cascade")
    if names.get("k1") is not TopK or names.get("tmd") is not Tmd:
        raise ConfigError(f"pipeline {pipeline!r} has no top_k called k1, or no tmd", "start from the preset cascade")
    made = Cascade(snapshot, base, tomllib.loads(source(pipeline)))
    try:
        made.settings  # noqa: B018 - else every request would be told of what is wrong here
    except QueryError as error:
        raise ConfigError(f"pipeline {pipeline!r}: {error.message}", error.cure) from error
    return made


def open(bank: str | Path, index: str | Path, model: str | Path | None = None, pipeline: str = "cascade") -> Cascade:
    """Open a bank, its index and a next-vector model, all checked against each other."""
    held = open_bank(bank)
    listed = open_index(index, held)
    listed.open()
    foresees = None if model is None else open_model(model)
    if foresees is not None and foresees.dim != held.dim:
        raise ModelError(
            f"the model {foresees.name} was trained on {foresees.dim} numbers, the bank has {held.dim}",
            "train one on this bank: assay lvm train",
        )
    bits = next((plan.step.layout for plan in load(pipeline).steps if isinstance(plan.step, Tmd)), "spec")
    return cascade(BankSnapshot(held, listed, foresees, bits), pipeline)
