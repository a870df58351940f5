"""Small banks for tests: plain arrays, and files that break one rule each."""

import numpy as np

from assay.cascade.bank import npz
from assay.cascade.bank.bank import write_bank
from assay.score.tmd_layout import LAYOUTS

SPEC = LAYOUTS["spec"]


def unit(rows: int, dim: int = 8, seed: int = 0) -> np.ndarray:
    given = np.random.default_rng(seed).standard_normal((rows, dim))
    return (given / np.linalg.norm(given, axis=1, keepdims=True)).astype(np.float32)


def columns(rows: int = 6, dim: int = 8) -> dict[str, np.ndarray]:
    bits = SPEC.pack(np.arange(rows) % 16, np.arange(rows) % 32, np.arange(rows) % 64)
    return {
        "vectors": unit(rows, dim),
        "bank_ids": np.arange(10, 10 + rows),
        "tmd_bits": bits,
        "lane_indices": SPEC.lanes(bits),
    }


def bank_of(folder, rows: int = 6, dim: int = 8, name: str = "bank.npz", **other):
    return write_bank(folder / name, *{**columns(rows, dim), **other}.values())


def file_of(folder, name: str = "given.npz", drop: str = "", **other):
    """A bank file as anybody might write it."""
    held = {**columns(), **other}
    held.pop(drop, None)
    path = folder / name
    np.savez(path, **held)
    return path


def pairs(**other) -> dict[str, np.ndarray]:
    return {
        "train_curr_ids": np.array([10, 11]),
        "train_next_ids": np.array([11, 12]),
        "val_curr_ids": np.array([13]),
        "val_next_ids": np.array([14]),
        **other,
    }


def pair_file(folder, drop: str = "", **other):
    held = pairs(**other)
    held.pop(drop, None)
    path = folder / "sequences.npz"
    npz.write(path, held)
    return path
