"""The cross-encoder: MiniLM's upper layers read query and passage together, on states of its frozen lower layers.

    x      = lower(query) ‖ lower(passage) + segment          each text with its own [CLS], [SEP] and positions
    h      = upper layers(x), every token attends to both texts
    logit  = product · (q̄ ∘ p̄) + likeness · Σ_i w_i · max_j cos(h_i, h_j) + first · h_0
             q̄, p̄: mean states of query and passage, of length 1; i over the query's tokens, j over the passage's,
             w = softmax(attend · h_i)

Joining after the lower layers (as PreTTR does) lets training skip them: their states are computed once per text. With
`segment`, `attend` and `first` at 0 and the others equal, the untrained logit is a cosine plus MaxSim, so training
starts from what the encoder knows instead of from a random head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.reranker.encoder import DIM, LAYERS, LOWER, build_layers

START = 10.0  # of the weights of both similarities


@dataclass(frozen=True, eq=False)
class PairBatch:
    """Pairs, padded on the right: states [pair, t, d], and which tokens are the query's and the passage's."""

    states: Tensor
    of_query: Tensor
    of_passage: Tensor


def join_pairs(queries: Sequence[np.ndarray], passages: Sequence[np.ndarray]) -> PairBatch:
    """Put the states of each query before those of its passage."""
    sizes = [(len(query), len(passage)) for query, passage in zip(queries, passages, strict=True)]
    states = np.zeros((len(sizes), max(map(sum, sizes)), DIM), np.float32)
    of_query, of_passage = np.zeros(states.shape[:2], np.bool_), np.zeros(states.shape[:2], np.bool_)
    for row, (own, other) in enumerate(sizes):
        states[row, :own] = queries[row]
        states[row, own : own + other] = passages[row]
        of_query[row, :own] = True
        of_passage[row, own : own + other] = True
    return PairBatch(torch.from_numpy(states), torch.from_numpy(of_query), torch.from_numpy(of_passage))


class JointEncoder(nn.Module):
    """The trained part: upper layers, segment vector and head."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        super().__init__()
        self.layers = build_layers(weights, LOWER, LAYERS)
        self.segment = nn.Parameter(torch.zeros(DIM))
        self.product = nn.Parameter(torch.full((DIM,), START))
        self.likeness = nn.Parameter(torch.tensor(START))
        self.attend = nn.Parameter(torch.zeros(DIM))
        self.first = nn.Parameter(torch.zeros(DIM))

    def forward(self, batch: PairBatch) -> Tensor:
        """One logit per pair."""
        x = batch.states + batch.of_passage[..., None] * self.segment
        mask = (batch.of_query | batch.of_passage)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        with torch.autocast("cpu", enabled=False):
            return self._score(x.float(), batch.of_query, batch.of_passage)

    def _score(self, h: Tensor, of_query: Tensor, of_passage: Tensor) -> Tensor:
        query, passage = (_unit(_mean(h, tokens)) for tokens in (of_query, of_passage))
        unit = _unit(h)
        cosines = (unit @ unit.transpose(1, 2)).masked_fill(~of_passage[:, None, :], -2.0)
        shares = (h @ self.attend).masked_fill(~of_query, -torch.inf).softmax(dim=1)
        best = (shares * cosines.amax(dim=2)).sum(dim=1)
        logits: Tensor = (query * passage) @ self.product + self.likeness * best + h[:, 0] @ self.first
        return logits

    def groups(self, rate: float) -> list[dict[str, Any]]:
        """Parameters for the optimiser: the head learns ten times as fast as the layers."""
        head = [parameter for name, parameter in self.named_parameters() if not name.startswith("layers.")]
        return [{"params": list(self.layers.parameters()), "lr": rate}, {"params": head, "lr": 10.0 * rate}]


def _mean(h: Tensor, tokens: Tensor) -> Tensor:
    return (h * tokens[..., None]).sum(dim=1) / tokens.sum(dim=1, keepdim=True)


def _unit(rows: Tensor) -> Tensor:
    return nn.functional.normalize(rows, dim=-1)
