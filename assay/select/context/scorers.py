"""Sentence scorers, by name: how well each sentence answers a query, on any scale.

embedding  the cosine of the model's vectors of query and sentence

A scorer is a function (queries, sentences, model) → a line for each query with one number per sentence; `NONE` is the
name for going without one.
Vectors of sentences are kept in the user's cache, so a sentence is encoded once; a cold and a warm cache give the same
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from assay.embed.vector_cache import CachedEmbedder
from assay.errors import ModelError
from assay.types import Floats

NONE = "none"
SentenceScorer = Callable[[Sequence[str], Sequence[str], str], Floats]


def score_by_embedding(queries: Sequence[str], sentences: Sequence[str], model: str) -> Floats:
    """Cosines in float64, each added in a fixed order (law 5)."""
    embedder = open_embedder(model)
    vectors = embedder.encode(sentences).astype(np.float64)
    asked = [embedder.encode_query(query).astype(np.float64) for query in queries]
    cosines: Floats = np.array([np.einsum("ij,j->i", vectors, query) for query in asked])
    return cosines.reshape(len(queries), len(sentences))


SENTENCE_SCORERS: Mapping[str, SentenceScorer] = {"embedding": score_by_embedding}


@lru_cache(maxsize=2)
def open_embedder(model: str) -> CachedEmbedder:
    """Load a model with its cache of vectors, once per process."""
    from assay.embed import load

    found = load(model)
    if found is None:
        raise ModelError(f"{model!r} names no embedding model", 'name one that is installed, or set scorer = "none"')
    return CachedEmbedder(found)
