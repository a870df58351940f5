"""An embedder behind an OpenAI-compatible server: `POST <url>/embeddings {"model", "input": [texts]}`.

Texts are sent in batches: by the contract of that interface a vector depends on its text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.embed.endpoint import Endpoint
from assay.embed.unit_vectors import compute_digest, normalise_rows
from assay.errors import ConfigError, ModelError
from assay.types import Vector, Vectors
from assay.util.thread_map import thread_map

KEY_VARIABLE = "ASSAY_EMBED_KEY"


@dataclass(frozen=True)
class HttpEmbedder:
    """Unit vectors from a server. The digest covers address, model, requested dimensions, and prefixes.

    `dimensions` is sent when set, for models that can shorten their vectors. `max_tokens` is the model's limit; the
    server enforces it. One request holds `batch` texts; `workers` requests run at once. An empty text is sent as one
    blank, because such servers refuse empty strings.
    """

    endpoint: Endpoint
    model: str
    dimensions: int | None = None
    max_tokens: int = 512
    query_prefix: str = ""
    document_prefix: str = ""
    batch: int = 64
    workers: int = 4

    @property
    def name(self) -> str:
        return f"http:{self.model}"

    @property
    def digest(self) -> str:
        prefixes = [self.query_prefix, self.document_prefix]
        return compute_digest(
            {"url": self.endpoint.url, "model": self.model, "dim": self.dimensions, "prefixes": prefixes}
        )

    @cached_property
    def dim(self) -> int:
        """The requested dimensions, else those of a vector that the server returns for a short text."""
        return self.dimensions or len(self._request(["dimension"])[0])

    def encode(self, texts: Sequence[str]) -> Vectors:
        return self._vectors([self.document_prefix + text for text in texts])

    def encode_query(self, text: str) -> Vector:
        return self._vectors([self.query_prefix + text]).reshape(-1)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        dim = self.dim
        batches = [texts[start : start + self.batch] for start in range(0, len(texts), self.batch)]
        rows = [row for answer in thread_map(self._request, batches, self.workers) for row in answer]
        if wrong := [len(row) for row in rows if len(row) != dim]:
            raise self._bad_answer(f"a vector of {wrong[0]} numbers, where {dim} were expected")
        try:
            return normalise_rows(
                np.array(rows, np.float64).reshape(len(rows), dim), f"{self.model} at {self.endpoint.url}"
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise self._bad_answer("a vector with entries that are not numbers") from error

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        """Send one request; return a vector per text, in the order of the texts."""
        # JSON carries valid Unicode only: a lone surrogate becomes "?".
        sent = [text.encode("utf-8", "replace").decode("utf-8") or " " for text in texts]
        payload = {"model": self.model, "input": sent, "encoding_format": "float"}
        answer = self.endpoint.post(payload | ({"dimensions": self.dimensions} if self.dimensions else {}))
        entries: Any = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._bad_answer("no list of vectors under 'data'")
        places = [entry.get("index", place) for place, entry in enumerate(entries)]
        if any(type(place) is not int for place in places) or sorted(places) != list(range(len(sent))):
            raise self._bad_answer(f"{len(entries)} vectors whose indices are not those of the {len(sent)} texts sent")
        rows = dict(zip(places, (entry.get("embedding") for entry in entries), strict=True))
        if not all(isinstance(row, list) and row for row in rows.values()):
            raise self._bad_answer("a vector that is not a list of numbers")
        return [rows[place] for place in range(len(sent))]

    def _bad_answer(self, what: str) -> ModelError:
        return ModelError(
            f"{self.endpoint.url} answered with {what}", "check that the address serves OpenAI-compatible embeddings"
        )


def open_http(url: str, model: str) -> HttpEmbedder:
    """The embedder `model` of the server at `url` (such as https://host/v1); its key is in `$ASSAY_EMBED_KEY`."""
    return HttpEmbedder(Endpoint(f"{url.rstrip('/')}/embeddings", KEY_VARIABLE), model)


def from_spec(argument: str) -> HttpEmbedder:
    """Open the spec `http:https://host/v1#model-name`."""
    url, _, model = argument.partition("#")
    if not url or not model:
        raise ConfigError("the embedder 'http' needs an address and a model", "write http:https://host/v1#model-name")
    return open_http(url, model)
