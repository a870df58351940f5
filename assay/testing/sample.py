"""Eight chunks that differ in every fact a component can read; small enough to compute by hand."""

from __future__ import annotations

import numpy as np

from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import DAY, Chunk, Query

NOW = 20_000 * DAY
"""The moment the sample's ages are counted from: 2024-10-04."""

CHUNKS = (
    Chunk("keys-1", "keys", "Rotate the signing key every 90 days.", 8, NOW, 1.0, {"title": "Keys", "lang": "en"}),
    Chunk("keys-2", "keys", "The signing key lives in JINA_API_KEY.", 9, NOW - 14 * DAY, 0.5, {"title": "Keys"}),
    Chunk("keys-3", "keys", "Never commit a key.", 5, NOW - 60 * DAY, 0.0, {"title": "Keys", "section": "Rules"}),
    Chunk("food-1", "food", "The kitchen closes at six.", 6, float("nan"), 0.7, {"title": "Food", "lang": "en"}),
    Chunk("food-2", "food", "Die Küche schließt um sechs.", 9, NOW - 240 * DAY, 1.0, {"lang": "de", "scope": "team"}),
    Chunk("long-1", "long", "An audit of the signing key. " * 40, 320, NOW - 1 * DAY, 1.0, {"size": 7}),
    Chunk("odd-1", "odd", "", 0, NOW, 1.0, {}),
    Chunk("odd-2", "odd", "🔑", 1, NOW, 1.0, {"title": "签名 密钥"}),
)
"""Dated and undated, important and not, long and empty, in three scripts."""

_VECTORS = np.array(
    [
        [1.0, 0.0, 0.0],
        [0.96, 0.28, 0.0],
        [0.6, 0.8, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0],
        [0.8, 0.0, 0.6],
        [0.0, 0.0, 0.0],
        [-1.0, 0.0, 0.0],
    ],
    np.float32,
)

QUERIES = (
    Query("signing key", vector=np.array([1.0, 0.0, 0.0], np.float32), at=NOW),
    Query("signing key"),
    Query('JINA_API_KEY "signing key"', vector=np.array([0.0, 0.6, 0.8], np.float32), at=NOW - 30 * DAY),
    Query("", at=NOW),
    Query('\ud800\0 " ( 🔑 \u202e', at=NOW),
)
"""Dated and undated, with a vector and without, an empty one and a hostile one."""


def sample_snapshot(*, vectors: bool = True) -> MemorySnapshot:
    """The sample as a snapshot; row i holds CHUNKS[i]."""
    return MemorySnapshot(CHUNKS, _VECTORS if vectors else None)
