"""Makes a synthetic bank whose next vectors are known, of any size, from a seed.

A *path* starts near one of a few topics and moves by a fixed rotation R (θ in every plane of two dimensions). Eight
documents, its *echoes*, follow it together, each with its own offset at every step and its own code:

    path(t + 1) = l2(R path(t) + drift)        v_e(t) = l2(path(t) + side · n_e(t))          n fresh at every step

A model that learns R predicts the path but not the echo: of eight equally good candidates the code selects the right
one. So the bare vector finds little, the next-vector model finds the eight, and Task/Modifier/Domain decides among
them. The halves are split by path, not by document.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank.bank import Bank, write_bank
from assay.cascade.bank.sequences import NONE, Pairs, write_sequences
from assay.errors import ConfigError
from assay.score.tmd_layout import LAYOUTS
from assay.types import Vectors

_PATHS_AT_ONCE = 64
_FIRST_ID = 1_000


@dataclass(frozen=True, slots=True)
class PlantedSettings:
    """Settings of a planted bank. `size` is rounded down to whole paths of `echoes` × `steps` vectors."""

    size: int = 8_192
    dim: int = 32
    topics: int = 64
    echoes: int = 8
    steps: int = 8
    theta: float = 0.5
    side: float = 0.5
    drift: float = 0.2
    context: int = 4
    val_share: float = 0.1
    seed: int = 1

    def __post_init__(self) -> None:
        if self.paths < 2 or self.dim < 2 or self.dim % 2:
            raise ConfigError(
                f"{self.size} vectors of {self.dim} numbers make no bank",
                f"take at least {2 * self.echoes * self.steps} vectors of an even number of dimensions",
            )

    @property
    def paths(self) -> int:
        return self.size // (self.echoes * self.steps)


def plant_bank(
    folder: Path, settings: PlantedSettings | None = None, progress: Callable[[str, int, int], None] = lambda *_: None
) -> Bank:
    """Writes bank.npz and sequences.npz; memory stays at one block, whatever the size."""
    settings = settings or PlantedSettings()
    folder.mkdir(parents=True, exist_ok=True)
    size = settings.paths * settings.echoes * settings.steps
    topics = _normalise(np.random.default_rng(settings.seed).standard_normal((settings.topics, settings.dim)))
    bits = np.empty(size, np.uint16)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        vectors: Vectors = np.memmap(Path(scratch) / "vectors", np.float32, "w+", shape=(size, settings.dim))
        for first in range(0, settings.paths, _PATHS_AT_ONCE):
            count = min(_PATHS_AT_ONCE, settings.paths - first)
            rows = slice(first * settings.echoes * settings.steps, (first + count) * settings.echoes * settings.steps)
            vectors[rows], bits[rows] = _make_block(settings, topics, first, count)
            progress("planting", first + count, settings.paths)
        ids = np.arange(_FIRST_ID, _FIRST_ID + size, dtype=np.int64)
        bank = write_bank(folder / "bank.npz", vectors, ids, bits, LAYOUTS["spec"].lanes(bits))
        del vectors
    write_sequences(folder / "sequences.npz", *split_pairs(settings), bank)
    return bank


def split_pairs(settings: PlantedSettings) -> tuple[Pairs, Pairs]:
    """Every step of every document, by the half its path belongs to."""
    order = np.random.default_rng([settings.seed, 1]).permutation(settings.paths)
    held_out = np.sort(order[: max(1, round(settings.val_share * settings.paths))])
    learned = np.setdiff1d(np.arange(settings.paths), held_out)
    return _pairs(settings, learned), _pairs(settings, held_out)


def _pairs(settings: PlantedSettings, paths: NDArray[np.int64]) -> Pairs:
    document = (paths[:, None] * settings.echoes + np.arange(settings.echoes)).ravel()
    step = np.arange(settings.steps - 1)
    start = _FIRST_ID + document[:, None] * settings.steps
    current = (start + step).ravel()
    before = step[:, None] - np.arange(settings.context, 0, -1)
    context = np.where(before >= 0, start[:, :, None] + before, NONE).reshape(-1, settings.context)
    return Pairs(current, current + 1, context)


def _make_block(
    settings: PlantedSettings, topics: Vectors, first: int, count: int
) -> tuple[Vectors, NDArray[np.uint16]]:
    """Vectors [count · echoes · steps, D] and their codes; each block has its own seed, so any block can be made."""
    rng = np.random.default_rng([settings.seed, 2, first])
    centres = topics[rng.integers(0, settings.topics, count)]
    path = _normalise(centres + 0.8 * _normalise(rng.standard_normal((count, settings.dim), np.float32)))
    vectors = np.empty((count, settings.echoes, settings.steps, settings.dim), np.float32)
    for step in range(settings.steps):
        offset = _normalise(rng.standard_normal((count, settings.echoes, settings.dim), np.float32))
        vectors[:, :, step] = _normalise(path[:, None] + settings.side * offset)
        drift = _normalise(rng.standard_normal((count, settings.dim), np.float32))
        path = _normalise(rotate(path, settings.theta) + settings.drift * drift)
    spec = LAYOUTS["spec"]
    fields = [rng.integers(0, one.count, (count, settings.echoes)) for one in (spec.domain, spec.task, spec.modifier)]
    codes = np.repeat(spec.pack(*fields), settings.steps)
    return vectors.reshape(-1, settings.dim), codes


def rotate(vectors: Vectors, theta: float) -> Vectors:
    """R v: every pair of neighbouring dimensions turned by θ."""
    pairs = vectors.reshape(*vectors.shape[:-1], -1, 2)
    cos, sin = np.float32(np.cos(theta)), np.float32(np.sin(theta))
    one, other = pairs[..., 0], pairs[..., 1]
    return np.stack([cos * one - sin * other, sin * one + cos * other], axis=-1).reshape(vectors.shape)


def _normalise(vectors: NDArray[np.floating[Any]]) -> Vectors:
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return unit
