"""Late interaction on frozen states: a trained projection of token vectors before their signs are stored.

    q_i = unit(W x_i)   d_j = sign(W y_j) / √width     x, y: the encoder's unit token vectors of query and text
    likeness = ½ Σ_i w_i · max_j q_i · d_j  +  ½ mean_j max_i q_i · d_j            w = softmax(attend · q_i)

W starts as the identity and `attend` at 0: the untrained likeness is that of the step late_interaction. The gradient
passes the sign as that of tanh(x / SOFT).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.reranker.encoder import DIM
from benchmarks.reranker.joint import PairBatch

SOFT = 0.05  # about the size of one component of a unit vector of 384
START = 30.0  # of the factor that makes likenesses logits


class TokenProjection(nn.Module):
    def __init__(self, width: int = DIM) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.eye(DIM)[:, :width].clone())
        self.attend = nn.Parameter(torch.zeros(width))
        self.factor = nn.Parameter(torch.tensor(START))

    def forward(self, batch: PairBatch) -> Tensor:
        """One logit per pair; `batch` holds the encoder's last states without [CLS] and [SEP]."""
        x = nn.functional.normalize(batch.states, dim=-1) @ self.matrix
        unit = nn.functional.normalize(x, dim=-1)
        soft = torch.tanh(unit / SOFT)
        signs = soft + (torch.where(unit >= 0.0, 1.0, -1.0) - soft).detach()
        cosines = unit @ (signs.transpose(1, 2) * signs.shape[-1] ** -0.5)
        of_query, of_passage = batch.of_query[:, :, None], batch.of_passage[:, None, :]
        cosines = cosines.masked_fill(~(of_query & of_passage), -2.0)
        shares = (unit @ self.attend).masked_fill(~batch.of_query, -torch.inf).softmax(dim=1)
        forward = (shares * cosines.amax(dim=2)).sum(dim=1)
        backward = (cosines.amax(dim=1) * batch.of_passage).sum(dim=1) / batch.of_passage.sum(dim=1)
        return self.factor * (forward + backward) / 2.0

    def groups(self, rate: float) -> list[dict[str, Any]]:
        return [{"params": [self.matrix], "lr": rate}, {"params": [self.attend, self.factor], "lr": 20.0 * rate}]
