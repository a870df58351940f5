"""Training a next-vector model on a bank's training half; the last tenth of its windows is kept back to choose by.

Documents stand together in a sequence file, so the windows kept back are of other documents, but for one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.sequences import Pairs, Sequences
from assay.cascade.bank.windows import windows
from assay.cascade.lvm.model import NextVector
from assay.cascade.lvm.rank import deciding, reciprocal_rank
from assay.cascade.lvm.ridge import DECAY, fit, save_ridge
from assay.cascade.lvm.windows import Windows
from assay.errors import ConfigError, ModelError
from assay.types import Rows

Model = Literal["ridge", "recurrent"]
_MOST_KEPT = 5_000
_RUN = 512


def train(
    bank: Bank,
    sequences: Sequences,
    folder: Path,
    model: Model = "ridge",
    *,
    context: int = 8,
    decay: float = DECAY,
    seed: int = 1,
    most: int = 0,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> NextVector:
    """A trained model in its folder. The manifest says on what: digests, windows, choices; no clock.

    `most` learns from so many windows.
    """
    if not 0.0 <= decay <= 1.0 or context < 0:
        raise ConfigError(f"decay = {decay}, context = {context}", "a decay from 0 to 1, a context from 0")
    learned, held = divided(_spread(sequences.train, most))
    said: dict[str, Any] = {
        "bank": bank.digest,
        "sequences": sequences.digest,
        "windows": len(learned),
        "kept_back": len(held),
        "identity": _identity(bank, held),
    }
    if model == "ridge":
        ridge, reached = fit(windows(bank, learned, context), windows(bank, held, context), decay)
        return save_ridge(folder, ridge, context, {"training": {**said, "reciprocal_rank_by_alpha": reached}})
    from assay.cascade.lvm.recurrent import fit_recurrent, save_recurrent

    network, curve = fit_recurrent(
        _whole(bank, learned, context), _whole(bank, held, context), seed=seed, progress=progress
    )
    said |= {"seed": seed, "reciprocal_rank_by_epoch": [ranked for ranked, _ in curve]}
    said["cosine_by_epoch"] = [cosine for _, cosine in curve]
    return save_recurrent(folder, network, context, {"training": said})


def divided(pairs: Pairs) -> tuple[Pairs, Pairs]:
    """What is learned from, and the last tenth, which chooses."""
    count = len(pairs)
    if count < 2:
        raise ModelError(
            f"{count} windows are too few to train on", "give sequences with a training half of at least 2"
        )
    kept = min(_MOST_KEPT, -(-count // 10))
    return _part(pairs, slice(0, count - kept)), _part(pairs, slice(count - kept, count))


def _spread(pairs: Pairs, most: int) -> Pairs:
    """At most so many pairs: runs of neighbours, spread over all, so that documents stay together."""
    if not most or len(pairs) <= most:
        return pairs
    runs = -(-most // _RUN)
    starts = np.linspace(0, len(pairs) - _RUN, runs).astype(np.int64) if len(pairs) > _RUN else np.zeros(1, np.int64)
    return _part(pairs, np.unique(starts[:, None] + np.arange(_RUN))[:most])


def _part(pairs: Pairs, part: slice | Rows) -> Pairs:
    return Pairs(pairs.current[part], pairs.following[part], pairs.context[part])


def _whole(bank: Bank, pairs: Pairs, context: int) -> Windows:
    return next(windows(bank, pairs, context, block=len(pairs)))


def _identity(bank: Bank, held: Pairs) -> dict[str, float]:
    """What staying where one is reaches on the windows kept back: a model that is no better has learned nothing."""
    some = deciding(windows(bank, held, 0))
    rank, cosine = reciprocal_rank(some, np.zeros_like(some.current))
    return {"cosine": cosine, "reciprocal_rank": rank}
