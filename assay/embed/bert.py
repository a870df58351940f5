"""The encoders that Assay installs, on onnxruntime, without torch. Both read English and give 384 dimensions.

`minilm` (all-MiniLM-L6-v2, six layers) is the default; `gte-small` (twelve layers) finds better and takes about three
times as long. Weights have 7 bits per channel, activations 8; `minilm-exact` is the first in float32, 2.5 times slower
(cosine between the two about .996). Both models have the vocabulary of BERT-uncased (`text/wordpiece.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from assay.embed.installed_models import find_model, verify_model
from assay.embed.model_cache import file_state
from assay.embed.onnx_session import open_session
from assay.embed.shipped_models import EXACT, INT8, install_command
from assay.embed.unit_vectors import compute_digest, normalise_rows
from assay.errors import ConfigError, ModelError, nearest
from assay.text.wordpiece import CLS, SEP, encode_pieces
from assay.types import Vector, Vectors
from assay.util.thread_map import count_cores, thread_map

TIERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"gte-small": ("gte-small", INT8), "minilm": ("minilm", INT8), "minilm-exact": ("minilm", EXACT)}
)
"""The installed model and the graph of every spec."""

Hidden = Callable[[list[int]], NDArray[np.float32]]  # piece ids with [CLS] and [SEP] → [t, 384]


@dataclass(frozen=True, slots=True)
class BertEncoder:
    """Text to unit vectors: the mean of the last hidden states, [CLS] and [SEP] among them, divided by its length.

    A text is truncated after `max_tokens` pieces, [CLS] and [SEP] included. Every text is one call of the model, so its
    vector depends on the text alone, not on other texts or on the number of `workers` (law 5). Any string is legal,
    the empty one too.
    """

    name: str
    digest: str
    dim: int
    max_tokens: int
    workers: int
    hidden: Hidden = field(repr=False, compare=False)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in the order of the texts."""
        rows = thread_map(self._mean, texts, self.workers)
        return np.stack(rows) if rows else np.empty((0, self.dim), np.float32)

    def encode_query(self, text: str) -> Vector:
        """The model reads queries as it reads documents."""
        return self._mean(text)

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Return one unit vector per piece of each text, without [CLS] and [SEP]: float32[t, dim]."""
        return thread_map(self._tokens, texts, self.workers)

    def _mean(self, text: str) -> Vector:
        return normalise_rows(self._states(text).mean(axis=0, dtype=np.float64), self.name)

    def _tokens(self, text: str) -> Vectors:
        return normalise_rows(self._states(text)[1:-1], self.name)

    def _states(self, text: str) -> NDArray[np.float32]:
        return self.hidden([CLS, *first_pieces(text, self.max_tokens - 2), SEP])


def first_pieces(text: str, limit: int) -> list[int]:
    """Return `encode_pieces(text)[:limit]` without reading the whole text: a cut at a blank splits no word."""
    window = 64 * limit
    while window < len(text):
        end = text.rfind(" ", 0, window)
        if end > 0 and len(ids := encode_pieces(text[:end])) >= limit:
            return ids[:limit]
        window *= 4
    return encode_pieces(text)[:limit]


def open_encoder(tier: str, *, under: Path | None = None, workers: int | None = None) -> BertEncoder:
    """Open an installed model by its spec; `workers` threads at most, by default one per processor of this process."""
    if tier not in TIERS:
        raise ConfigError(f"no installed encoder is called {tier!r}", nearest(tier, TIERS))
    name, graph = TIERS[tier]
    cure = install_command(name)
    model = find_model(name, under)
    if model is None:
        raise ModelError(f"the embedding model {name} is not installed", cure)
    verify_model(model, graph)  # 15 ms, so that the digest below describes the bytes that run
    session = open_session(model.folder / graph, cure, optimise=False)
    facts = {
        "weights": model.weights,
        "graph": model.files[graph],  # its bytes: vectors of two graphs must not mix, in a store or in the cache
        "numbers": graph,
        "pooling": "mean",
        "max_tokens": model.max_tokens,
    }

    def hidden(ids: list[int]) -> NDArray[np.float32]:
        return session.run(["hidden"], {"ids": np.array(ids, np.int64)})[0]  # type: ignore[no-any-return]

    return BertEncoder(
        name=tier,
        digest=compute_digest(facts),
        dim=model.dim,
        max_tokens=model.max_tokens,
        workers=count_cores() if workers is None else workers,
        hidden=hidden,
    )


def open_minilm(argument: str) -> BertEncoder:
    """Open the spec `minilm`."""
    return _open_tier("minilm", argument)


def open_minilm_exact(argument: str) -> BertEncoder:
    """Open the spec `minilm-exact`."""
    return _open_tier("minilm-exact", argument)


def open_gte_small(argument: str) -> BertEncoder:
    """Open the spec `gte-small`."""
    return _open_tier("gte-small", argument)


def fingerprint(tier: str, argument: str) -> Hashable | None:
    """Return what identifies the installed files of a tier; None when they are missing or the spec is wrong."""
    name, graph = TIERS[tier]
    model = find_model(name)
    if model is None or argument:
        return None
    state = file_state([model.folder / graph])
    facts = (model.weights, model.files.get(graph), model.dim, model.max_tokens)
    return None if state is None else (state, facts, count_cores())


def _open_tier(tier: str, argument: str) -> BertEncoder:
    if argument:
        raise ConfigError(f"the embedder {tier!r} takes no argument, but was given {argument!r}", f"write {tier!r}")
    return open_encoder(tier)
