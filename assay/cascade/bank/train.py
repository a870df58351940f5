"""Trains a next-vector model on the training half; the last tenth of its windows is held out to select the model.

A document's windows are contiguous in a sequence file, so at most one document is in both parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.sequences import NONE, Pairs, Sequences
from assay.cascade.lvm.model import NextVectorModel
from assay.cascade.lvm.rank import last_windows, reciprocal_rank
from assay.cascade.lvm.ridge import DECAY, fit_ridge, save_ridge
from assay.cascade.lvm.windows import Windows
from assay.errors import ConfigError, ModelError
from assay.types import Rows, Vectors

ModelKind = Literal["ridge", "recurrent"]
_MOST_KEPT = 5_000
_RUN = 512


def train_model(
    bank: Bank,
    sequences: Sequences,
    folder: Path,
    model: ModelKind = "ridge",
    *,
    context: int = 8,
    decay: float = DECAY,
    seed: int = 1,
    most: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> NextVectorModel:
    """Train a model and write its folder. The manifest records digests, windows and choices, but no time.

    `most` limits the number of windows.
    """
    if not 0.0 <= decay <= 1.0 or context < 0:
        raise ConfigError(f"decay = {decay}, context = {context}", "a decay from 0 to 1, a context from 0")
    training, held_out = split_held_out(_sample(sequences.train, most))
    facts: dict[str, Any] = {
        "bank": bank.digest,
        "sequences": sequences.digest,
        "windows": len(training),
        "kept_back": len(held_out),
        "identity": _measure_identity(bank, held_out),
    }
    if model == "ridge":
        ridge, scores = fit_ridge(iter_windows(bank, training, context), iter_windows(bank, held_out, context), decay)
        return save_ridge(folder, ridge, context, {"training": {**facts, "reciprocal_rank_by_alpha": scores}})
    from assay.cascade.lvm.recurrent import fit_recurrent, save_recurrent

    network, curve = fit_recurrent(
        _load_windows(bank, training, context), _load_windows(bank, held_out, context), seed=seed, progress=progress
    )
    facts |= {"seed": seed, "reciprocal_rank_by_epoch": [ranked for ranked, _ in curve]}
    facts["cosine_by_epoch"] = [cosine for _, cosine in curve]
    return save_recurrent(folder, network, context, {"training": facts})


def split_held_out(pairs: Pairs) -> tuple[Pairs, Pairs]:
    """The windows to train on, and the last tenth, which selects the model."""
    count = len(pairs)
    if count < 2:
        raise ModelError(
            f"{count} windows are too few to train on", "give sequences with a training half of at least 2"
        )
    size = min(_MOST_KEPT, -(-count // 10))
    return _select(pairs, slice(0, count - size)), _select(pairs, slice(count - size, count))


def _sample(pairs: Pairs, most: int) -> Pairs:
    """At most `most` pairs, as evenly spread runs of neighbours, so that documents stay together."""
    if not most or len(pairs) <= most:
        return pairs
    runs = -(-most // _RUN)
    starts = np.linspace(0, len(pairs) - _RUN, runs).astype(np.int64) if len(pairs) > _RUN else np.zeros(1, np.int64)
    return _select(pairs, np.unique(starts[:, None] + np.arange(_RUN))[:most])


def _select(pairs: Pairs, part: slice | Rows) -> Pairs:
    return Pairs(pairs.current[part], pairs.following[part], pairs.context[part])


def _load_windows(bank: Bank, pairs: Pairs, context: int) -> Windows:
    return next(iter_windows(bank, pairs, context, block=len(pairs)))


def _measure_identity(bank: Bank, held_out: Pairs) -> dict[str, float]:
    """The scores of predicting no step on the held-out windows: a model must be better to have learned anything."""
    windows = last_windows(iter_windows(bank, held_out, 0))
    rank, cosine = reciprocal_rank(windows, np.zeros_like(windows.current))
    return {"cosine": cosine, "reciprocal_rank": rank}


def iter_windows(bank: Bank, pairs: Pairs, context: int, block: int = 1_024) -> Iterator[Windows]:
    """Windows in the order of the pairs, with the newest `context` vectors of each."""
    for start in range(0, len(pairs), block):
        part = slice(start, start + block)
        yield Windows(
            bank.vectors[bank.rows(pairs.current[part])],
            load_context(bank, pairs, part, context),
            bank.vectors[bank.rows(pairs.following[part])],
        )


def load_context(bank: Bank, pairs: Pairs, part: slice, context: int) -> Vectors:
    """[n, C, D]; zero rows where there is none."""
    ids = pairs.context[part, max(0, pairs.context.shape[1] - context) :]
    vectors = np.zeros((len(ids), context, bank.dim), np.float32)
    present = ids != NONE
    vectors[:, context - ids.shape[1] :][present] = bank.vectors[bank.rows(ids[present])]
    return vectors
