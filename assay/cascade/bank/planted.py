"""A made bank whose next vectors are known: speed and correctness at any size, from a seed.

A *path* starts near one of a few topics and moves by a fixed rotation R (θ in every plane of two dimensions). Eight
documents, its *echoes*, walk along it together, each a little off to its own side at every step and under its own code:

    path(t + 1) = l2(R path(t) + drift)        v_e(t) = l2(path(t) + side · n_e(t))          n fresh at every step

A model that learns R knows where the path goes, and cannot know which echo a vector belongs to: of eight equally good
candidates the code names the right one. So the bare vector finds little, the next-vector model finds the eight, and
Task/Modifier/Domain decides among them. Paths, not documents, are split into the halves.
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
class PlantedPlan:
    """What to plant. `size` is rounded down to whole paths of `echoes` × `steps` vectors."""

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


def plant(
    folder: Path, plan: PlantedPlan | None = None, progress: Callable[[str, int, int], None] = lambda *_: None
) -> Bank:
    """Writes bank.npz and sequences.npz; memory stays at one block, whatever the size."""
    plan = plan or PlantedPlan()
    folder.mkdir(parents=True, exist_ok=True)
    size = plan.paths * plan.echoes * plan.steps
    topics = _unit(np.random.default_rng(plan.seed).standard_normal((plan.topics, plan.dim)))
    bits = np.empty(size, np.uint16)
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        vectors: Vectors = np.memmap(Path(aside) / "vectors", np.float32, "w+", shape=(size, plan.dim))
        for first in range(0, plan.paths, _PATHS_AT_ONCE):
            count = min(_PATHS_AT_ONCE, plan.paths - first)
            rows = slice(first * plan.echoes * plan.steps, (first + count) * plan.echoes * plan.steps)
            vectors[rows], bits[rows] = _block(plan, topics, first, count)
            progress("planting", first + count, plan.paths)
        ids = np.arange(_FIRST_ID, _FIRST_ID + size, dtype=np.int64)
        bank = write_bank(folder / "bank.npz", vectors, ids, bits, LAYOUTS["spec"].lanes(bits))
        del vectors
    write_sequences(folder / "sequences.npz", *halves(plan), bank)
    return bank


def halves(plan: PlantedPlan) -> tuple[Pairs, Pairs]:
    """Every step of every document, by the half its path belongs to."""
    order = np.random.default_rng([plan.seed, 1]).permutation(plan.paths)
    kept = np.sort(order[: max(1, round(plan.val_share * plan.paths))])
    learned = np.setdiff1d(np.arange(plan.paths), kept)
    return _pairs(plan, learned), _pairs(plan, kept)


def _pairs(plan: PlantedPlan, paths: NDArray[np.int64]) -> Pairs:
    document = (paths[:, None] * plan.echoes + np.arange(plan.echoes)).ravel()
    step = np.arange(plan.steps - 1)
    start = _FIRST_ID + document[:, None] * plan.steps
    current = (start + step).ravel()
    before = step[:, None] - np.arange(plan.context, 0, -1)
    context = np.where(before >= 0, start[:, :, None] + before, NONE).reshape(-1, plan.context)
    return Pairs(current, current + 1, context)


def _block(plan: PlantedPlan, topics: Vectors, first: int, count: int) -> tuple[Vectors, NDArray[np.uint16]]:
    """Vectors [count · echoes · steps, D] and their codes; each block has its own seed, so any block can be made."""
    rng = np.random.default_rng([plan.seed, 2, first])
    home = topics[rng.integers(0, plan.topics, count)]
    path = _unit(home + 0.8 * _unit(rng.standard_normal((count, plan.dim), np.float32)))
    made = np.empty((count, plan.echoes, plan.steps, plan.dim), np.float32)
    for step in range(plan.steps):
        aside = _unit(rng.standard_normal((count, plan.echoes, plan.dim), np.float32))
        made[:, :, step] = _unit(path[:, None] + plan.side * aside)
        drift = _unit(rng.standard_normal((count, plan.dim), np.float32))
        path = _unit(turned(path, plan.theta) + plan.drift * drift)
    spec = LAYOUTS["spec"]
    fields = [rng.integers(0, one.count, (count, plan.echoes)) for one in (spec.domain, spec.task, spec.modifier)]
    codes = np.repeat(spec.pack(*fields), plan.steps)
    return made.reshape(-1, plan.dim), codes


def turned(vectors: Vectors, theta: float) -> Vectors:
    """R v: every pair of neighbouring dimensions turned by θ."""
    pairs = vectors.reshape(*vectors.shape[:-1], -1, 2)
    cos, sin = np.float32(np.cos(theta)), np.float32(np.sin(theta))
    one, other = pairs[..., 0], pairs[..., 1]
    return np.stack([cos * one - sin * other, sin * one + cos * other], axis=-1).reshape(vectors.shape)


def _unit(vectors: NDArray[np.floating[Any]]) -> Vectors:
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return unit
