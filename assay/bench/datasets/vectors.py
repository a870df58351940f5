"""Reads query vectors: an NPZ file with `ids` (texts) and `vectors` (one row each)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.bench.datasets.errors import DatasetError
from assay.bench.datasets.lines import check_id
from assay.bench.types import Topic
from assay.types import Vector

FILE = "queries.npz"


def read_vectors(path: Path) -> dict[str, Vector]:
    """Read id → unit vector; empty if there is no such file."""
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:  # np.load would leave a damaged file open
            arrays = np.load(file, allow_pickle=False)
            ids, rows = arrays["ids"], arrays["vectors"]
    except Exception as error:  # what numpy and zipfile raise on damaged files has no common base
        raise DatasetError(
            f"{path} cannot be read: {error}", "save it with np.savez(path, ids=…, vectors=…)"
        ) from error
    names = [check_id(str(name), str(path)) for name in ids.ravel()]
    if rows.ndim != 2 or len(rows) != len(names) or rows.dtype.kind not in "fiu" or not rows.shape[1]:
        raise DatasetError(
            f"{path} has {len(names)} ids and vectors of shape {rows.shape}, {rows.dtype}",
            "give one row of numbers per id",
        )
    if len(set(names)) != len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise DatasetError(f"{path} has two vectors for query {twice!r}", "give every id one vector")
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(bad):
        raise DatasetError(
            f"{path}: the vector of query {names[bad[0]]!r} has no direction", "give finite, nonzero rows"
        )
    units = (rows / lengths[:, None]).astype(np.float32)
    return dict(zip(names, units, strict=True))


def join_vectors(topics: Mapping[str, Topic], vectors: Mapping[str, Vector]) -> dict[str, Topic]:
    """Add vectors to the topics; a vector without a text becomes a topic."""
    with_vectors = {name: replace(topics.get(name, Topic(name)), vector=vector) for name, vector in vectors.items()}
    return {**topics, **with_vectors}
