"""Checks and errors that every chunk store shares."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.errors import StoreError
from assay.types import Vector

_LONGEST_NUMBER = 15  # digits of a version; more cannot be one
_NORM = 1e-3  # by how much a unit vector's length may differ from 1


class RefusedWrite(StoreError):
    """The content of one file or record cannot be written; that of others can."""


class IdInUse(RefusedWrite):
    """A live chunk of another file or record has this id already."""


def id_in_use_error(name: str) -> IdInUse:
    return IdInUse(f"chunk id {name!r} is already in use by another file or record", "ids must be unique in a store")


def model_changed_error(where: object) -> StoreError:
    """Vectors of two models never mix: a store opened before it was embedded anew must be opened again."""
    return StoreError(f"{where} has been embedded with another model meanwhile", "open it again")


def rows_forgotten_error(where: object) -> StoreError:
    return StoreError(f"chunks that this view of {where} shows have been forgotten since", "take a new snapshot")


def check_version(version: int, oldest: int, newest: int) -> None:
    """Refuse a version that cannot be read any more, or not yet."""
    if not oldest <= version <= newest:
        raise StoreError(f"this store has no version {version}", f"it keeps v{oldest} to v{newest}")


def resolve_version(snapshot: str, tags: Mapping[str, int], oldest: int, newest: int) -> int:
    """A version from its tag or its number (`12` or `v12`)."""
    if snapshot in tags:
        return tags[snapshot]
    number = snapshot.removeprefix("v")
    if number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER and int(number) <= newest:
        return int(number)
    raise StoreError(
        f"this store has no snapshot {snapshot!r}",
        f"versions v{oldest} to v{newest}; tags: {', '.join(tags) or 'none'} (assay stats)",
    )


def check_vector(owner: str, vector: Vector, dim: int) -> Vector:
    """A vector as it is stored; StoreError for another length and for numbers that are not finite."""
    stored: Vector = np.asarray(vector, "<f4")
    if stored.shape != (dim,):
        raise StoreError(
            f"{owner}: a vector of shape {stored.shape}; this store holds vectors of length {dim}",
            "embed with the store's own model, or move the store to yours: assay reembed",
        )
    if not np.isfinite(stored).all():
        raise StoreError(f"{owner}: its vector is not finite", "give finite numbers, or no vector")
    return stored


def check_unit_vector(name: str, vector: Vector | None, dim: int) -> Vector | None:
    """Refuse a vector of another model, as far as its length and norm show it."""
    if vector is not None and (vector.shape != (dim,) or abs(float(np.linalg.norm(vector)) - 1.0) > _NORM):
        raise StoreError(
            f"chunk {name}: its vector (shape {vector.shape}) is no unit vector of length {dim}",
            "embed it with the store's own model, or pass none; to move the store to another model: assay reembed",
        )
    return vector
