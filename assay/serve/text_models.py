"""Reranks and embeds texts that a request brings, with the models of the server; nothing is stored."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from assay.embed.installed_models import list_models, models_folder
from assay.errors import ModelError, nearest
from assay.kb import KnowledgeBase
from assay.protocols import Embedder
from assay.rerank.text_scorers import CrossEncoderScorer, LateInteractionScorer
from assay.types import Floats, Vector

EMBEDDING, LATE_INTERACTION = "embedding", "late_interaction"
_NAME = re.compile(r"\w[\w.-]*")


def rerank_models(kb: KnowledgeBase) -> list[str]:
    """The models that `score_texts` takes here."""
    cross = [path.parent.name for path in sorted(models_folder().glob("*/tokenizer.json"))]
    own = [EMBEDDING] if kb.store.settings["dim"] else []
    late = [LATE_INTERACTION] if any(model.name == "minilm" for model in list_models()) else []
    return [*own, *late, *cross]


def score_texts(kb: KnowledgeBase, model: str, query: str, texts: Sequence[str]) -> Floats:
    """The relevance of each text for a query, from 0 to 1: the cosine of the store's model (`embedding`), MaxSim of
    token vectors (`late_interaction`), or an installed cross-encoder by its name. One text at a time: the score of a
    text must not depend on the others."""
    if model == EMBEDDING:
        encoder = _encoder(kb)
        vector = encoder.encode_query(query)
        cosines = [float(np.dot(encoder.encode([text])[0], vector)) for text in texts]
        return np.clip(np.array(cosines, np.float64), 0.0, 1.0)
    if model == LATE_INTERACTION:
        return LateInteractionScorer().score(query, texts)
    if not _NAME.fullmatch(model) or not (models_folder() / model / "tokenizer.json").is_file():
        raise ModelError(f"no reranker here is called {model[:60]!r}", nearest(model[:60], rerank_models(kb)))
    return CrossEncoderScorer(str(models_folder() / model)).score(query, texts)


def embed_text(kb: KnowledgeBase, text: str, as_query: bool) -> Vector:
    """The unit vector of one text by the store's model."""
    encoder = _encoder(kb)
    return encoder.encode_query(text) if as_query else encoder.encode([text])[0]


def _encoder(kb: KnowledgeBase) -> Embedder:
    if kb.embedder is None:
        raise ModelError("this store was made without an embedding model", "on the server: assay optimize --embed")
    return kb.embedder
