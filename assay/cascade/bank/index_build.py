"""Builds the index of a bank: FAISS IVF_FLAT by inner product, trained with a seed; measures and records its recall.

One thread trains and adds: with several, the sums of k-means have no fixed order, so lists and results may differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from assay.cascade.bank.bank import Bank, file_stamp, seal
from assay.cascade.bank.index import BankIndex, Kind, open_index
from assay.errors import ConfigError, nearest
from assay.types import Progress, Rows, Vectors
from assay.util.atomic_files import atomic_path, write_text

SEED = 1
NPROBE = 16
_LARGE = 250_000
_FEWEST, _MOST = 512, 1_024
_PER_LIST = 64
"""Vectors that train each list; FAISS itself takes at most 256."""
_ROUNDS = 10
_LINKS, _BUILD_DEPTH = 32, 80
_BLOCK = 32_768
_QUESTIONS = 200
_DEPTHS = (10, 100, 500)
_PROBES = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build. `nlist` 0 means `default_nlist(N)`; `nprobe` is what a search takes that names no other."""

    kind: Kind = "ivf_flat"
    nlist: int = 0
    nprobe: int = NPROBE
    seed: int = SEED

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ConfigError(f"there is no index kind {self.kind!r}", nearest(self.kind, get_args(Kind)))
        if self.nlist < 0 or self.nprobe < 1:
            raise ConfigError(
                f"nlist = {self.nlist} and nprobe = {self.nprobe} make no index", "nlist from 0, nprobe from 1"
            )


def default_nlist(size: int) -> int:
    """√N lists; from 250,000 vectors on, between 512 and 1,024."""
    root = max(1, round(float(np.sqrt(size))))
    return root if size < _LARGE else min(_MOST, max(_FEWEST, root))


def build_index(
    bank: Bank, folder: Path, recipe: Recipe | None = None, progress: Progress = lambda *_: None
) -> BankIndex:
    """Writes `index.faiss` and its manifest `index.json` into a folder, and opens them."""
    recipe = recipe or Recipe()
    folder.mkdir(parents=True, exist_ok=True)
    manifest: dict[str, Any] = {"kind": recipe.kind, "nprobe": recipe.nprobe, "seed": recipe.seed}
    if recipe.kind != "exact":
        import faiss

        with single_thread():
            index = _ivf(bank, recipe, progress) if recipe.kind == "ivf_flat" else _hnsw(bank, progress)
        path = folder / "index.faiss"
        with atomic_path(path) as name:  # a server may have the old one mapped
            faiss.write_index(index, name)
        before = file_stamp(path)
        with path.open("rb") as file:
            manifest["file"] = hashlib.file_digest(file, "sha256").hexdigest()
        seal(path, manifest["file"], before)
        manifest["nlist"] = index.nlist if recipe.kind == "ivf_flat" else 0
        manifest["faiss"] = faiss.__version__
    manifest |= {"bank": bank.digest, "vectors": len(bank), "dim": bank.dim}
    manifest["recall"] = measure_recall(bank, BankIndex(folder, bank, manifest))
    write_text(folder / "index.json", json.dumps(manifest, sort_keys=True, indent=1) + "\n")
    return open_index(folder, bank)


def measure_recall(bank: Bank, index: BankIndex) -> dict[str, Any]:
    """The share of the exact nearest neighbours that a search finds, by depth and nprobe; queries are bank vectors."""
    rows = np.sort(np.random.default_rng(SEED).permutation(len(bank))[:_QUESTIONS])
    queries = np.asarray(bank.vectors[rows])
    deepest = min(max(_DEPTHS), len(bank))
    truth = nearest_exact(bank.vectors, queries, deepest)
    probes = sorted({min(n, index.nlist) for n in (*_PROBES, index.nprobe)}) if index.kind == "ivf_flat" else [0]
    recall: dict[str, Any] = {"questions": len(rows), "of": "vectors of the bank"}
    for nprobe in probes:
        results = [index.nearest(question, deepest, nprobe)[0] for question in queries]
        shares = {}
        for depth in [d for d in _DEPTHS if d <= deepest] or [deepest]:
            hits = [np.isin(t[:depth], f[:depth]).mean() for t, f in zip(truth, results, strict=True)]
            shares[f"@{depth}"] = round(float(np.mean(hits)), 4)
        recall[f"nprobe {nprobe}" if nprobe else index.kind] = shares
    return recall


@contextmanager
def single_thread() -> Iterator[None]:
    """FAISS on one thread, for as long as the block lasts."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _ivf(bank: Bank, recipe: Recipe, progress: Progress) -> Any:
    import faiss

    count = recipe.nlist or default_nlist(len(bank))
    if count > len(bank):
        raise ConfigError(f"nlist = {count} lists for {len(bank)} vectors", "take fewer lists, or kind exact")
    quantizer = faiss.IndexFlatIP(bank.dim)
    index = faiss.IndexIVFFlat(quantizer, bank.dim, count, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed, index.cp.niter, index.cp.spherical = recipe.seed, _ROUNDS, True
    index.cp.min_points_per_centroid = 1
    sample = np.linspace(0, len(bank) - 1, min(len(bank), count * _PER_LIST)).astype(np.int64)
    progress("training lists", 0, 1)
    index.train(np.ascontiguousarray(bank.vectors[sample]))
    _add_vectors(index, bank, progress)
    return index


def _hnsw(bank: Bank, progress: Progress) -> Any:
    import faiss

    index = faiss.IndexHNSWFlat(bank.dim, _LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = _BUILD_DEPTH
    _add_vectors(index, bank, progress)
    return index


def _add_vectors(index: Any, bank: Bank, progress: Progress) -> None:
    for start in range(0, len(bank), _BLOCK):
        index.add(np.array(bank.vectors[start : start + _BLOCK]))
        progress("adding vectors", min(start + _BLOCK, len(bank)), len(bank))


def nearest_exact(vectors: Vectors, queries: Vectors, depth: int) -> Rows:
    """Rows of the nearest vectors of each query, best first by float32, by exhaustive search."""
    best, scores = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        part = np.arange(start, min(start + _BLOCK, len(vectors)))
        scores = np.concatenate([scores, queries @ vectors[start : start + _BLOCK].T], axis=1)
        best = np.concatenate([best, np.broadcast_to(part, (len(queries), len(part)))], axis=1)
        if scores.shape[1] > depth:
            near = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
            best, scores = np.take_along_axis(best, near, 1), np.take_along_axis(scores, near, 1)
    return np.take_along_axis(best, np.argsort(-scores, axis=1, kind="stable"), 1)
