"""The settings a store is made with. They are chosen once and kept by the store; asking for others is an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay import embed
from assay.errors import ConfigError, Reason, StoreError, nearest
from assay.index.similarity import K1, B, Bm25Similarity
from assay.ingest.chunker import PROFILES
from assay.ingest.triples import load_annotator
from assay.text.analyser import Analyser

_NEW_STORE = "make a new store with it"


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What a caller of `assay.open` asks for; the defaults ask for nothing in particular."""

    embedder: str = "auto"
    language: str = "english"
    profile: str = "default"
    triples: str = "none"
    k1: float | None = None
    b: float | None = None

    def __post_init__(self) -> None:
        Bm25Similarity(K1 if self.k1 is None else self.k1, B if self.b is None else self.b)

    def of_new_store(self, address: str, no_vectors: Reason | None) -> dict[str, Any]:
        """The settings that a new store keeps. "auto" is the local model where it is installed, else none."""
        if self.profile not in PROFILES:
            raise ConfigError(f"there is no chunking profile {self.profile!r}", nearest(self.profile, PROFILES))
        language = Analyser(language=self.language).language
        if no_vectors and self.embedder not in ("auto", "none"):
            raise ConfigError(f"{address} cannot hold vectors of {self.embedder}: {no_vectors.text}", no_vectors.cure)
        spec = "none" if no_vectors else embed.default_spec() if self.embedder == "auto" else self.embedder
        model = embed.load(spec)
        similarity = Bm25Similarity(K1 if self.k1 is None else self.k1, B if self.b is None else self.b)
        return {
            "embedder": spec,
            "model": model.digest if model else "",
            "dim": model.dim if model else 0,
            "language": language,
            "profile": self.profile,
            **({} if load_annotator(self.triples) is None else {"triples": self.triples}),
            **similarity.settings,
        }

    def check(self, existing: Mapping[str, Any], no_vectors: Reason | None) -> None:
        """Refuse to open a store under other settings than it was made with."""
        move = _NEW_STORE if self.embedder == "none" else f"move it: assay reembed --embedder {self.embedder}"
        similarity = Bm25Similarity.from_settings(existing)
        triples = f"read them: assay optimize --triples {self.triples}"
        settings: list[tuple[str, object, object, object, str]] = [
            # name, asked for, of the store, default, cure
            ("embedder", self.embedder, existing["embedder"], "auto", no_vectors.cure if no_vectors else move),
            ("language", self.language, existing["language"], "english", _NEW_STORE),
            ("profile", self.profile, existing["profile"], "default", _NEW_STORE),
            ("triples", self.triples, existing.get("triples", "none"), "none", triples),
            ("k1", self.k1, similarity.k1, None, _NEW_STORE),
            ("b", self.b, similarity.b, None, _NEW_STORE),
        ]
        for name, requested, actual, default, cure in settings:
            if requested not in (actual, default):
                raise StoreError(
                    f"this store was made with {name} {actual!r}, not {requested!r}", f"leave {name} out, or {cure}"
                )
