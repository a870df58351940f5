"""Requests of the vector cascade's endpoints, checked before anything runs; an error names the wrong field."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.cascade.bank.bank import TOLERANCE
from assay.cascade.service import Cascade, CascadeQuery
from assay.errors import QueryError

ResultField = Literal["id", "score", "cos", "lvm", "tmd_bits", "lane"]
FIELDS: tuple[ResultField, ...] = ("id", "score", "lvm", "cos", "tmd_bits", "lane")
MAX_COUNT = 100_000
"""Largest k0, k1 and k, and most ids in a list."""
Id = Annotated[int, Field(ge=0, le=2**63 - 1)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class InvalidRequest(Exception):
    """A request that cannot be answered: where and why, as in the body of a 422."""

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        super().__init__(str(problems))
        self.problems = problems


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FaissOptions(_StrictModel):
    nprobe: Annotated[int, Field(ge=1, le=MAX_COUNT)]


class HybridRequest(_StrictModel):
    """`lambda_tmd` weighs the next-vector score, whatever its name says: final = λ · lvm + (1 − λ) · agreement."""

    query_vec: Annotated[list[Number], Field(min_length=1, max_length=MAX_COUNT, fail_fast=True)]
    tmd_bits: Annotated[int, Field(ge=0, le=65_535)] | None = None
    lane: Annotated[int, Field(ge=0, le=32_767)] | None = None
    k0: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    k1: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    k: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    lambda_tmd: Annotated[Number, Field(ge=0.0, le=1.0)] | None = None
    faiss: FaissOptions | None = None
    return_fields: Annotated[list[ResultField], Field(min_length=1, max_length=len(FIELDS))] | None = None
    context_ids: Annotated[list[Id], Field(max_length=MAX_COUNT, fail_fast=True)] = Field(default_factory=list)
    exclude_ids: Annotated[list[Id], Field(max_length=MAX_COUNT, fail_fast=True)] = Field(default_factory=list)
    truth_id: Id | None = None


class OfflineRequest(_StrictModel):
    """`limit` held-out questions, spread evenly, and more for lanes with few; `baselines` adds the baseline rows."""

    limit: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 200
    baselines: bool = True


def parse_request(kind: type[_StrictModel], body: bytes) -> Any:
    """Parse a body; InvalidRequest names every wrong field."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise InvalidRequest(
            [{"loc": ["body", *one["loc"]], "msg": one["msg"], "type": one["type"]} for one in error.errors()]
        ) from error


def make_query(request: HybridRequest, cascade: Cascade) -> CascadeQuery:
    """The request as the cascade takes it; InvalidRequest where it does not fit this bank."""
    query = CascadeQuery(
        vector=_to_vector(request.query_vec, cascade.snapshot.bank.dim),
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
    for name, ids in (("context_ids", query.context_ids), ("exclude_ids", query.exclude_ids), ("truth_id", truth)):
        try:
            cascade.snapshot.find_rows(ids, name)
        except QueryError as error:
            raise invalid_field(name, error.message) from error
    return query


def _to_vector(numbers: list[float], dim: int) -> Any:
    if len(numbers) != dim:
        raise invalid_field("query_vec", f"has {len(numbers)} numbers, the bank's vectors have {dim}")
    length = math.hypot(*numbers)
    if not abs(length - 1.0) <= TOLERANCE:
        raise invalid_field("query_vec", f"has length {length:.4f}, not 1: divide it by its length")
    return np.array(numbers, np.float32)


def _check_depths(request: HybridRequest, cascade: Cascade) -> None:
    """k0 ≥ k1 ≥ k; the error names a field that the request has."""
    defaults = cascade.settings
    k0, k1, k = request.k0 or defaults.k0, request.k1 or defaults.k1, request.k or defaults.k
    for below, above, small, large in (("k1", "k0", k1, k0), ("k", "k1", k, k1)):
        if small > large:
            where = below if getattr(request, below) is not None else above
            raise invalid_field(
                where, f"{below} = {small} is above {above} = {large}: each stage keeps some of the one before"
            )


def invalid_field(field: str, message: str) -> InvalidRequest:
    return InvalidRequest([{"loc": ["body", field], "msg": message, "type": "value_error"}])
