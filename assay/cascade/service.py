"""Opens and searches a vector cascade: a bank, its index and its next-vector model.

A `CascadeQuery` becomes a `Query` (its extra fields are in `query.extra`); its k0, k1, k and λ become settings of the
pipeline. The result is an `Answer` with trace, parts and digests.
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
from assay.config.load import from_dict, load, read_toml
from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, ModelError, QueryError
from assay.legs.ivf import Ivf
from assay.score.tmd import Tmd
from assay.select.top_k import TopK
from assay.types import Query, Vector


@dataclass(frozen=True, eq=False)
class CascadeQuery:
    """One request. A value that is None comes from the pipeline (`nprobe` by lane); `lane` comes from the code."""

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

    def to_query(self) -> Query:
        fields = {
            "tmd_bits": self.tmd_bits,
            "lane": self.lane,
            "nprobe": self.nprobe,
            "context": self.context_ids or None,
            "exclude": self.exclude_ids or None,
        }
        extra = {name: value for name, value in fields.items() if value is not None}
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
    """A snapshot of a bank and the pipeline that searches it. Safe to share between threads."""

    def __init__(self, snapshot: BankSnapshot, base: Pipeline, config: Mapping[str, Any]) -> None:
        self.snapshot = snapshot
        self.base = base
        self._config = config
        self.pipeline = lru_cache(maxsize=256)(self._pipeline)
        """The pipeline with other numbers, cached."""

    @property
    def settings(self) -> CascadeSettings:
        """The defaults of a request."""
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

    def settings_for(self, request: CascadeQuery) -> CascadeSettings:
        defaults = self.settings
        return CascadeSettings(
            defaults.k0 if request.k0 is None else request.k0,
            defaults.k1 if request.k1 is None else request.k1,
            defaults.k if request.k is None else request.k,
            defaults.weight if request.weight is None else request.weight,
        )

    def _pipeline(self, settings: CascadeSettings) -> Pipeline:
        legs = {name: {**leg, "k": settings.k0} for name, leg in self._config["legs"].items()}
        changes: Mapping[str, Mapping[str, Any]] = {"k1": {"k": settings.k1}, "tmd": {"weight": settings.weight}}
        steps = [{**step, **changes.get(step.get("name", step["use"]), {})} for step in self._config["step"]]
        return from_dict({**self._config, "k": settings.k, "legs": legs, "step": steps}, self.base.name)

    def search(self, request: CascadeQuery, clock: Callable[[], float] = lambda: 0.0) -> Answer:
        """Answer one request; `clock` (seconds) only measures. QueryError names the wrong field."""
        self.snapshot.check_vector(request.vector)
        if request.lane is None and request.tmd_bits is not None:
            request = replace(request, lane=int(self.snapshot.layout.lanes(request.tmd_bits)))
        return self.pipeline(self.settings_for(request)).run(request.to_query(), self.snapshot, clock=clock)


def make_cascade(snapshot: BankSnapshot, pipeline: str = "cascade") -> Cascade:
    """A cascade over an open bank: the preset, or a TOML file with one leg `ivf` and the steps `k1` and `tmd`."""
    base = load(pipeline)
    names = {plan.name: type(plan.step) for plan in base.steps}
    if len(base.legs) != 1 or not isinstance(base.legs[0].leg, Ivf):
        raise ConfigError(f"pipeline {pipeline!r} is no cascade: its one leg is ivf", "start from the preset cascade")
    if names.get("k1") is not TopK or names.get("tmd") is not Tmd:
        raise ConfigError(f"pipeline {pipeline!r} has no top_k called k1, or no tmd", "start from the preset cascade")
    result = Cascade(snapshot, base, tomllib.loads(read_toml(pipeline)))
    try:
        result.settings  # noqa: B018 - checked here, else every request would fail
    except QueryError as error:
        raise ConfigError(f"pipeline {pipeline!r}: {error.message}", error.cure) from error
    return result


def open_cascade(
    bank: str | Path, index: str | Path, model: str | Path | None = None, pipeline: str = "cascade"
) -> Cascade:
    """Open a bank, its index and a next-vector model, and check that they belong together."""
    opened = open_bank(bank)
    bank_index = open_index(index, opened)
    bank_index.open()
    next_vector = None if model is None else open_model(model)
    if next_vector is not None and next_vector.dim != opened.dim:
        raise ModelError(
            f"the model {next_vector.name} was trained on {next_vector.dim} numbers, the bank has {opened.dim}",
            "train one on this bank: assay lvm train",
        )
    bits = next((plan.step.layout for plan in load(pipeline).steps if isinstance(plan.step, Tmd)), "spec")
    return make_cascade(BankSnapshot(opened, bank_index, next_vector, bits), pipeline)
