"""Compresses token vectors: a row of bytes per token of a text.

    bits = 8    int8[t, d]         round(127 · x / max |x|), x a token's unit vector; half to even
    bits = 1    uint8[t, ⌈d / 8⌉]  the signs of x, eight to a byte, the first one highest; x ≥ 0 is a 1

A cosine depends on directions only, so no scale is stored. Unpacked, a code is a row of whole numbers: of -127 … 127,
or of -1 and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.embed.unit_vectors import compute_digest
from assay.errors import ConfigError, ModelError
from assay.types import Vectors

Codes = NDArray[np.integer[Any]]  # one row per token: int8 numbers, or uint8 packed signs

BITS = (1, 8)
FORMAT = 1
TOP = 127.0
WIDEST = 1040  # dimensions: 127² · 1,040 < 2²⁴, so float32 adds the products of two codes without rounding

_SIGNS = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1).astype(np.float32) - 1.0


@runtime_checkable
class TokenEncoder(Protocol):
    """A model that returns one unit vector per token."""

    @property
    def digest(self) -> str: ...
    @property
    def dim(self) -> int: ...
    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]: ...


@dataclass(frozen=True, slots=True, eq=False)
class TokenCoder:
    """Encodes texts as codes of `bits` per dimension with a model."""

    encoder: TokenEncoder
    bits: int
    digest: str

    def encode(self, texts: Sequence[str]) -> list[Codes]:
        """Return one row of bytes per token of each text. A text's codes depend on the text alone (law 5)."""
        return [quantise_vectors(vectors, self.bits) for vectors in self.encoder.token_vectors(texts)]

    def from_bytes(self, raw: bytes) -> Codes:
        """Return the codes of which `raw` is `codes.tobytes()`."""
        if self.bits == 1:
            return np.frombuffer(raw, np.uint8).reshape(-1, -(-self.encoder.dim // 8))
        return np.frombuffer(raw, np.int8).reshape(-1, self.encoder.dim)


def open_coder(encoder: object, bits: int) -> TokenCoder:
    """Return the coder of a model, at 1 or 8 bits per dimension."""
    if bits not in BITS:
        raise ConfigError(f"token vectors of {bits} bits cannot be kept", f"give one of {', '.join(map(str, BITS))}")
    if not isinstance(encoder, TokenEncoder):
        raise ModelError("this model gives no token vectors", "name one that does: minilm or gte-small")
    if encoder.dim > WIDEST:
        raise ModelError(f"token vectors of {encoder.dim} dimensions are too wide", f"at most {WIDEST} are compared")
    return TokenCoder(encoder, bits, compute_digest({"model": encoder.digest, "bits": bits, "format": FORMAT}))


def quantise_vectors(vectors: Vectors, bits: int) -> Codes:
    """Return the codes of unit vectors, by the formulas above."""
    if bits == 1:
        return np.packbits(vectors >= 0.0, axis=1)
    wide = vectors.astype(np.float64)
    codes: Codes = np.rint(wide * (TOP / np.abs(wide).max(axis=1, keepdims=True, initial=0.0))).astype(np.int8)
    return codes


def unpack_codes(codes: Codes, dim: int) -> Vectors:
    """Return codes as rows of whole numbers, float32[t, dim]."""
    if codes.dtype == np.uint8:
        return np.take(_SIGNS, codes, axis=0).reshape(len(codes), 8 * codes.shape[1])[:, :dim]
    return codes.astype(np.float32)
