"""Memories that are accepted and not written yet are found like those of a plain comparison with each of them."""

from __future__ import annotations

import numpy as np
import pytest

from assay.ingest.chunker import PROFILES
from assay.memory.duplicates import jaccard
from assay.memory.entries import chunks_from_entry, new_entry
from assay.memory.pending import PendingMemories
from assay.memory.writer import Draft
from assay.types import Vector

PROFILE = PROFILES["default"]
WORDS = ["vault", "room", "key", "ada", "porto", "lisbon", "tea", "lunch", "noon", "locker", "team", "floor"]


def draft(number: int, text: str, vector: Vector | None, expires: float | None) -> Draft:
    entry = new_entry(text, "global", "fact", 0.5, (), float(number), expires, 0.0)
    chunks = tuple(chunks_from_entry(entry, PROFILE))
    return Draft(entry, chunks, (vector,))


@pytest.mark.parametrize("seed", range(6))
def test_neighbours_are_those_of_a_comparison_one_by_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    pending, plain = PendingMemories(), []
    for number in range(150):  # more than the table has room for at first
        text = " ".join(random.choice(WORDS, random.integers(1, 8)))
        vector = random.normal(size=8).astype(np.float32) if number % 7 and seed else None
        vector = None if vector is None else vector / np.linalg.norm(vector)
        expires = 50.0 if number % 11 == 0 else None
        one = draft(number, text, vector, expires)
        pending.add(one, set(text.split()))
        plain.append((set(text.split()), vector, expires))
        if number % 10:
            continue
        terms = set(random.choice(WORDS, 4))
        asked = None if not seed else np.eye(8, dtype=np.float32)[0]
        cosines = [0.0 if v is None or asked is None else float(v.astype(np.float64) @ asked) for _, v, _ in plain]
        overlaps = [jaccard(terms, own) for own, _, _ in plain]
        nearest = set(np.argsort(-np.array(overlaps), kind="stable")[:5].tolist())
        if asked is not None:
            nearest |= set(np.argsort(-np.array(cosines), kind="stable")[:5].tolist())
        wanted = [
            (float(place), None if asked is None else pytest.approx(cosines[place]))
            for place in sorted(nearest)
            if max(overlaps[place], cosines[place]) >= 0.4 and plain[place][2] is None
        ]
        found = pending.neighbours(terms, asked, at=60.0, count=5, least=0.4)
        assert sorted((entry.created, cosine) for entry, cosine in found) == wanted
