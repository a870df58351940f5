"""Scores pairs of numbered texts with a model under training; pairs of like length share a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.reranker.joint import join_pairs

BATCH = 20  # pairs

ReadStates = Callable[[int], np.ndarray]


def score_pairs(states: ReadStates, bf16: bool) -> Callable[[nn.Module, Sequence[tuple[int, int]]], Tensor]:
    """Return the function that scores (query, passage) numbers with a model that reads these states."""

    def score(model: nn.Module, pairs: Sequence[tuple[int, int]]) -> Tensor:
        sizes = [len(states(query)) + len(states(passage)) for query, passage in pairs]
        order = np.argsort(sizes, kind="stable")
        parts = []
        for start in range(0, len(order), BATCH):
            batch = [pairs[place] for place in order[start : start + BATCH]]
            joined = join_pairs([states(query) for query, _ in batch], [states(passage) for _, passage in batch])
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                parts.append(model(joined))
        back = torch.from_numpy(np.argsort(order, kind="stable"))
        return torch.cat(parts)[back]

    return score
