"""A request of specification 001, checked whole before anything runs; what is wrong is named by its field."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.cascade.bank.bank import TOLERANCE
from assay.cascade.service import Cascade, CascadeQuery
from assay.errors import QueryError

Name = Literal["id", "score", "cos", "lvm", "tmd_bits", "lane"]
FIELDS: tuple[Name, ...] = ("id", "score", "lvm", "cos", "tmd_bits", "lane")
MOST = 100_000
"""Of k0, k1 and k, and of ids in a list."""
Id = Annotated[int, Field(ge=0, le=2**63 - 1)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class InvalidRequest(Exception):
    """A request that cannot be answered: where and why, as a 422 says it."""

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__(str(problems))
        self.problems = problems


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Faiss(_Strict):
    nprobe: Annotated[int, Field(ge=1, le=MOST)]


class SearchRequest(_Strict):
    """`lambda_tmd` weighs the next-vector score, whatever its name says: final = λ · lvm + (1 − λ) · agreement."""

    query_vec: Annotated[list[Number], Field(min_length=1, max_length=MOST, fail_fast=True)]
    tmd_bits: Annotated[int, Field(ge=0, le=65_535)] | None = None
    lane: Annotated[int, Field(ge=0, le=32_767)] | None = None
    k0: Annotated[int, Field(ge=1, le=MOST)] | None = None
    k1: Annotated[int, Field(ge=1, le=MOST)] | None = None
    k: Annotated[int, Field(ge=1, le=MOST)] | None = None
    lambda_tmd: Annotated[Number, Field(ge=0.0, le=1.0)] | None = None
    faiss: Faiss | None = None
    return_fields: Annotated[list[Name], Field(min_length=1, max_length=len(FIELDS))] | None = None
    context_ids: Annotated[list[Id], Field(max_length=MOST, fail_fast=True)] = Field(default_factory=list)
    exclude_ids: Annotated[list[Id], Field(max_length=MOST, fail_fast=True)] = Field(default_factory=list)
    truth_id: Id | None = None


class OfflineRequest(_Strict):
    """`limit` held-out questions, spread over all; without `baselines` the rows that every report has are left out."""

    limit: Annotated[int, Field(ge=1, le=MOST)] = 200
    baselines: bool = True


def parsed(kind: type[_Strict], body: bytes) -> Any:
    """The request in a body; Refused names every field that is wrong."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise InvalidRequest(
            [{"loc": ["body", *one["loc"]], "msg": one["msg"], "type": one["type"]} for one in error.errors()]
        ) from error


def ask_of(request: SearchRequest, cascade: Cascade) -> CascadeQuery:
    """The request as the cascade takes it; Refused where it does not fit this bank."""
    ask = CascadeQuery(
        vector=_vector(request.query_vec, cascade.snapshot.bank.dim),
        tmd_bits=request.tmd_bits,
        lane=request.lane,
        context_ids=tuple(request.context_ids),
        exclude_ids=tuple(request.exclude_ids),
        k0=request.k0,
        k1=request.k1,
        k=request.k,
        weight=request.lambda_tmd,
        nprobe=None if request.faiss is None else request.faiss.nprobe,
    )
    _check_depths(request, cascade)
    truth = [] if request.truth_id is None else [request.truth_id]
    for name, ids in (("context_ids", ask.context_ids), ("exclude_ids", ask.exclude_ids), ("truth_id", truth)):
        try:
            cascade.snapshot.rows_of(ids, name)
        except QueryError as error:
            raise refused(name, error.message) from error
    return ask


def _vector(given: list[float], dim: int) -> Any:
    if len(given) != dim:
        raise refused("query_vec", f"has {len(given)} numbers, the bank's vectors have {dim}")
    length = math.hypot(*given)
    if not abs(length - 1.0) <= TOLERANCE:
        raise refused("query_vec", f"has length {length:.4f}, not 1: divide it by its length")
    return np.array(given, np.float32)


def _check_depths(request: SearchRequest, cascade: Cascade) -> None:
    """k0 ≥ k1 ≥ k; the field that is named is one the request gave."""
    own = cascade.settings
    k0, k1, k = request.k0 or own.k0, request.k1 or own.k1, request.k or own.k
    for below, above, small, large in (("k1", "k0", k1, k0), ("k", "k1", k, k1)):
        if small > large:
            where = below if getattr(request, below) is not None else above
            raise refused(
                where, f"{below} = {small} is above {above} = {large}: each stage keeps some of the one before"
            )


def refused(field: str, message: str) -> InvalidRequest:
    return InvalidRequest([{"loc": ["body", field], "msg": message, "type": "value_error"}])
