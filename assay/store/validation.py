"""What every record of truth refuses alike, in the same words, whatever keeps it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.errors import StoreError
from assay.types import Vector

_LONGEST_NUMBER = 15  # digits of a version; more cannot be one
_NORM = 1e-3  # by how much a unit vector's length may differ from 1


class RefusedWrite(StoreError):
    """What one file or record holds cannot be written; others can."""


class IdInUse(RefusedWrite):
    """A live chunk of another file or record has this id already."""


def in_use(name: str) -> IdInUse:
    return IdInUse(f"chunk id {name!r} is already in use by another file or record", "ids must be unique in a store")


def embedded_anew(where: object) -> StoreError:
    """Vectors of two models never mix: whoever opened a store before it was embedded anew must open it again."""
    return StoreError(f"{where} has been embedded with another model meanwhile", "open it again")


def forgotten(where: object) -> StoreError:
    return StoreError(f"chunks that this view of {where} shows have been forgotten since", "take a new snapshot")


def check_version(version: int, oldest: int, newest: int) -> None:
    """Can this version still be read?"""
    if not oldest <= version <= newest:
        raise StoreError(f"this store has no version {version}", f"it keeps v{oldest} to v{newest}")


def version_of(snapshot: str, tags: Mapping[str, int], oldest: int, newest: int) -> int:
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


def storable(whose: str, vector: Vector, dim: int) -> Vector:
    """A vector as it is stored; one that no search could use is refused, before anything is written."""
    given: Vector = np.asarray(vector, "<f4")
    if given.shape != (dim,):
        raise StoreError(
            f"{whose}: a vector of shape {given.shape}; this store holds vectors of length {dim}",
            "embed with the store's own model, or move the store to yours: assay reembed",
        )
    if not np.isfinite(given).all():
        raise StoreError(f"{whose}: its vector is not finite", "give finite numbers, or no vector")
    return given


def check_unit(name: str, vector: Vector | None, dim: int) -> Vector | None:
    """A store takes vectors of its own model only; length and norm are what can be seen of that."""
    if vector is not None and (vector.shape != (dim,) or abs(float(np.linalg.norm(vector)) - 1.0) > _NORM):
        raise StoreError(
            f"chunk {name}: its vector (shape {vector.shape}) is no unit vector of length {dim}",
            "embed it with the store's own model, or pass none; to move the store to another model: assay reembed",
        )
    return vector
