"""The measured recall of an approximate vector search: on which queries, how it is counted, how it is described.

Every index that proposes vectors without comparing all of them measures itself when it is built. The facts are in its
manifest under "vectors": `kind`, `vectors` (how many), `recall`, `recall_depth`, `recall_queries` (what they were).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from assay.types import Rows, Vectors

QUERIES = "differences of two of its vectors and a random direction"
EXACT_KIND = "exact"


def mix_queries(one: Vectors, other: Vectors, rng: np.random.Generator) -> Vectors:
    """Return synthetic queries: unit vectors between two stored vectors each, as real queries are.

    A store's own vectors are easier than real queries, whose neighbours are far and in many lists; the difference of
    two chunks plus a random direction, each of length one, is close to them.
    """
    noise = rng.standard_normal(one.shape)
    raw = one - other + noise / np.linalg.norm(noise, axis=1, keepdims=True)
    unit: Vectors = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    return unit


def mean_recall(truth: Iterable[Rows], found: Iterable[Rows]) -> float:
    """The mean share of the truly nearest rows that a search found."""
    return float(np.mean([np.isin(right, rows).mean() for right, rows in zip(truth, found, strict=True)]))


def approximate_facts(facts: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The facts of an index that may miss a nearest row; None where every vector is compared."""
    return facts if facts and facts.get("kind", EXACT_KIND) != EXACT_KIND else None


def describe_recall(facts: Mapping[str, Any] | None) -> str:
    """The facts in a few words; "" where every vector is compared."""
    facts = approximate_facts(facts)
    if facts is None:
        return ""
    kind = f"vectors by {facts['kind']}"
    if "recall" not in facts:
        return f"{kind}, recall not measured yet"
    shares = {
        **({10: facts["recall_at_10"]} if "recall_at_10" in facts else {}),
        facts["recall_depth"]: facts["recall"],
    }
    return f"{kind}, measured " + ", ".join(f"recall@{depth} {share:.4f}" for depth, share in shares.items())
