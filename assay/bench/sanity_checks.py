"""Sanity checks of datasets and results: leaked answers, self-hits, equal vectors, impossible scores.

A system that is not above random, or that is above the oracle, is an error in the lab.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from assay.bench.receipt import Receipt
from assay.bench.systems import BOUNDS, ORACLE, RANDOM
from assay.bench.types import ALL, Dataset
from assay.bench.workspace import Workspace
from assay.config.findings import Finding
from assay.text.normalisation import fold

TOLERANCE = 1e-9
LEAST = 20
"""With fewer topics, a mean at the level of `random` may be chance, and is a warning."""


def check_dataset(dataset: Dataset, workspace: Workspace) -> list[Finding]:
    """Findings about the data alone, before any system runs."""
    return [*_overlaps(dataset), *_equal_vectors(workspace)]


def _overlaps(dataset: Dataset) -> list[Finding]:
    """Queries whose words are, letter for letter, the title or the text of a document judged relevant to them; queries
    that carry the id of such a document and stand in it, so that they may find themselves. That ids coincide alone
    means nothing: queries and documents may both be numbered. One pass over the documents."""
    queries = {
        fold(" ".join(dataset.topics[t].text.split())): t for t in dataset.scored if dataset.topics[t].text.strip()
    }
    matches: dict[str, list[str]] = {"title": [], "text": []}
    self_judged = []
    for record in dataset.documents:
        name = str(record.get("id", record.get("_id", "")))
        for part, topics in matches.items():
            topic = queries.get(fold(" ".join(str(record.get(part) or "").split())))
            if topic and dataset.judgements[topic].get(name, 0) > 0:
                topics.append(topic)
        if dataset.judgements.get(name, {}).get(name, 0) > 0 and _stands_in(dataset.topics[name].text, record):
            self_judged.append(name)
    findings = []
    for part, topics in matches.items():
        if topics:
            values = {"queries": len(set(topics)), "scored": len(dataset.scored), "part": part, "first": min(topics)}
            findings.append(Finding("warning", "leakage", "query_in_document", values))
    if self_judged:
        values = {"queries": len(self_judged), "first": min(self_judged)}
        findings.append(Finding("warning", "self-hits", "self_judged", values))
    return findings


def _stands_in(text: str, record: Mapping[str, object]) -> bool:
    """Is the query's text a part of the document's title or text?"""
    query = fold(" ".join(text.split()))
    parts = (fold(" ".join(str(record.get(part) or "").split())) for part in ("title", "text"))
    return bool(query) and any(query in part for part in parts)


def _equal_vectors(workspace: Workspace) -> list[Finding]:
    """Chunks with equal vectors are ordered by their ids alone."""
    if not workspace.kb.store.settings["dim"]:
        return []
    rows = workspace.snapshot.live_rows(None)
    seen: Counter[bytes] = Counter()
    for start in range(0, len(rows), 4_096):
        vectors = workspace.snapshot.vectors(rows[start : start + 4_096])
        seen.update(hashlib.blake2b(np.ascontiguousarray(v).tobytes(), digest_size=12).digest() for v in vectors)
    equal = sum(count for count in seen.values() if count > 1)
    if not equal:
        return []
    return [Finding("info", "duplicate vectors", "equal_vectors", {"equal": equal, "chunks": len(rows)})]


def check_results(receipts: Mapping[str, Receipt], metric: str) -> dict[str, list[Finding]]:
    """Findings about results, by system; `metric` is compared with that of `random` and `oracle`."""
    found: dict[str, list[Finding]] = {name: [] for name in receipts}
    judged = {n: r for n, r in receipts.items() if n not in BOUNDS and r.canonical["status"] == "measured"}
    for name, receipt in judged.items():
        found[name] += [
            *_floor(receipt, receipts.get(RANDOM), metric),
            *_ceiling(receipt, receipts.get(ORACLE), metric),
        ]
    names = list(judged)
    for place, name in enumerate(names):
        for other in names[:place]:
            same = judged[name].canonical["rankings"] == judged[other].canonical["rankings"]
            if same and judged[name].canonical["system"]["digest"] != judged[other].canonical["system"]["digest"]:
                found[name].append(Finding("warning", "no effect", "same_rankings", {"other": other}))
    return found


def _floor(receipt: Receipt, chance: Receipt | None, metric: str) -> list[Finding]:
    if chance is None:
        return []
    own, random = (_mean(r, metric) for r in (receipt, chance))
    if own is None or random is None or own > random:
        return []
    level: Literal["error", "warning"] = "error" if len(receipt.canonical["queries"]) >= LEAST else "warning"
    return [Finding(level, "floor", "not_above_random", {"metric": metric, "mean": own, "random": random})]


def _ceiling(receipt: Receipt, oracle: Receipt | None, metric: str) -> list[Finding]:
    if oracle is None:
        return []
    own, best = (_column(r, metric) for r in (receipt, oracle))
    above = [q for q, a, b in zip(receipt.canonical["queries"], own, best, strict=True) if _over(a, b)]
    if not above:
        return []
    return [Finding("error", "ceiling", "above_oracle", {"metric": metric, "queries": len(above), "first": above[0]})]


def _over(value: float | None, best: float | None) -> bool:
    return value is not None and best is not None and value > best + TOLERANCE


def _mean(receipt: Receipt, metric: str) -> float | None:
    found: float | None = receipt.canonical["aggregates"][ALL].get(metric)
    return found


def _column(receipt: Receipt, metric: str) -> Sequence[float | None]:
    found: Sequence[float | None] = receipt.canonical["scores"].get(metric, [None] * len(receipt.canonical["queries"]))
    return found
