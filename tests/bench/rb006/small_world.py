"""The seed and the stages of the small world that these tests share."""

from __future__ import annotations

SEED = 11
STAGES = (6_000, 8_000, 10_000)
