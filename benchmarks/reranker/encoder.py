"""all-MiniLM-L6-v2 as torch modules, so that its upper layers can be trained. Parameters have the names of the
safetensors file, so trained weights go through the same ONNX writer as the shipped encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from assay.embed.onnx_graph import EPSILON, HEAD
from assay.text.wordpiece import CLS, SEP

DIM, LAYERS, LOWER = 384, 6, 4
"""LOWER layers are frozen and read query and passage apart, so their states are computed once per text."""


class Layer(nn.Module):
    """One transformer layer of BERT (post-norm)."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.attended = nn.Linear(DIM, DIM)
        self.wide = nn.Linear(DIM, 4 * DIM)
        self.narrow = nn.Linear(4 * DIM, DIM)
        self.norm_attention = nn.LayerNorm(DIM, EPSILON)
        self.norm_output = nn.LayerNorm(DIM, EPSILON)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x [batch, t, d]; mask [batch, 1, 1, t] is true where there is a token."""
        batch, length, _ = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, DIM // HEAD, HEAD).permute(2, 0, 3, 1, 4)
        # Spelt out: the gradient of torch's fused attention costs a third of a training step on a processor.
        scores = (query @ key.transpose(2, 3) * HEAD**-0.5).masked_fill(~mask, -torch.inf)
        mixed = scores.softmax(dim=3).to(value.dtype) @ value
        x = self.norm_attention(x + self.attended(mixed.transpose(1, 2).reshape(batch, length, DIM)))
        out: Tensor = self.norm_output(x + self.narrow(nn.functional.gelu(self.wide(x))))
        return out


NAMES: Mapping[str, str] = {
    "attended": "attention.output.dense",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "norm_attention": "attention.output.LayerNorm",
    "norm_output": "output.LayerNorm",
}


def build_layers(weights: Mapping[str, Any], start: int, end: int) -> nn.ModuleList:
    """Layers start … end − 1 with these weights."""
    layers = nn.ModuleList()
    for number in range(start, end):
        at, layer = f"encoder.layer.{number}", Layer()
        state: dict[str, Any] = {}
        for kind in ("weight", "bias"):
            parts = [weights[f"{at}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
            state[f"qkv.{kind}"] = torch.from_numpy(np.concatenate(parts))
            for name, full in NAMES.items():
                state[f"{name}.{kind}"] = torch.from_numpy(np.array(weights[f"{at}.{full}.{kind}"]))
        layer.load_state_dict(state)
        layers.append(layer)
    return layers


def name_weights(layers: nn.ModuleList, start: int) -> dict[str, np.ndarray]:
    """The layers' weights under the names of the safetensors file."""
    named = {}
    for number, layer in enumerate(layers, start):
        at, state = f"encoder.layer.{number}", layer.state_dict()
        for kind in ("weight", "bias"):
            for part, rows in zip(("query", "key", "value"), state[f"qkv.{kind}"].chunk(3), strict=True):
                named[f"{at}.attention.self.{part}.{kind}"] = rows.float().numpy()
            for name, full in NAMES.items():
                named[f"{at}.{full}.{kind}"] = state[f"{name}.{kind}"].float().numpy()
    return named


class FrozenEncoder:
    """The whole encoder without gradients: states after LOWER layers and after the last, a batch of texts at a time."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        self._words = torch.from_numpy(np.array(weights["embeddings.word_embeddings.weight"]))
        place = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
        self._places = torch.from_numpy(np.array(place))
        self._norm = nn.LayerNorm(DIM, EPSILON)
        self._norm.load_state_dict(
            {kind: torch.from_numpy(np.array(weights[f"embeddings.LayerNorm.{kind}"])) for kind in ("weight", "bias")}
        )
        self._layers = build_layers(weights, 0, LAYERS)

    def states(self, texts: Sequence[Sequence[int]], bf16: bool) -> list[tuple[np.ndarray, np.ndarray]]:
        """(lower, last) per text, float16[t, d] with [CLS] and [SEP]."""
        lengths = [len(ids) + 2 for ids in texts]
        ids = torch.zeros(len(texts), max(lengths), dtype=torch.long)
        for row, pieces in enumerate(texts):
            ids[row, : lengths[row]] = torch.tensor([CLS, *pieces, SEP])
        mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None])[:, None, None, :]
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            x = self._norm(self._words[ids] + self._places[: max(lengths)])
            for number, layer in enumerate(self._layers):
                if number == LOWER:
                    lower = x.half()
                x = layer(x, mask)
            last = x.half()
        rows = zip(lower, last, lengths, strict=True)
        return [(low[:length].numpy(), high[:length].numpy()) for low, high, length in rows]
