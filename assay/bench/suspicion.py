"""What makes a result doubtful: leaked answers, self-hits, twins, legs that gave nothing, impossible scores.

A system that cannot beat chance, or that beats the judgements themselves, is an error in the lab.
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
from assay.config.preflight import Finding
from assay.text.fold import fold

TOLERANCE = 1e-9
LEAST = 20
"""Topics below which a mean at the level of chance may be bad luck, and is a warning."""


def of_dataset(dataset: Dataset, workspace: Workspace) -> list[Finding]:
    """What can be known from the data alone, before any system runs."""
    return [*_leaks(dataset), *_self_hits(dataset), *_twins(workspace)]


def _leaks(dataset: Dataset) -> list[Finding]:
    """Topics whose words stand as a whole in a document that is judged relevant: finding it is no feat."""
    asked = {
        fold(" ".join(dataset.topics[t].text.split())): t for t in dataset.scored if dataset.topics[t].text.strip()
    }
    titles, texts = [], []
    for record in dataset.documents:
        name = str(record.get("id", record.get("_id", "")))
        title = asked.get(fold(" ".join(str(record.get("title") or "").split())))
        text = asked.get(fold(" ".join(str(record.get("text") or "").split())))
        if title and dataset.judgements[title].get(name, 0) > 0:
            titles.append(title)
        if text and dataset.judgements[text].get(name, 0) > 0:
            texts.append(text)
    findings = []
    for what, found in (("title", titles), ("text", texts)):
        if found:
            share = f"{len(set(found))} of {len(dataset.scored)} queries"
            text = f"{share} are the {what} of a relevant document, letter for letter (first: {min(found)})"
            findings.append(Finding("warning", "leakage", text))
    return findings


def _self_hits(dataset: Dataset) -> list[Finding]:
    """Topics that carry the id of a document: they may find themselves."""
    asked = set(dataset.scored)
    itself = sorted(
        str(r.get("id", r.get("_id", ""))) for r in dataset.documents if str(r.get("id", r.get("_id", ""))) in asked
    )
    judged = [t for t in itself if dataset.judgements[t].get(t, 0) > 0]
    if not judged:
        return []
    return [
        Finding("warning", "self-hits", f"{len(judged)} queries are judged relevant to themselves (first: {judged[0]})")
    ]


def _twins(workspace: Workspace) -> list[Finding]:
    """Chunks with equal vectors stand in an order that only their ids decide."""
    if not workspace.kb.store.settings["dim"]:
        return []
    rows = workspace.snapshot.live_rows(None)
    seen: Counter[bytes] = Counter()
    for start in range(0, len(rows), 4_096):
        vectors = workspace.snapshot.vectors(rows[start : start + 4_096])
        seen.update(hashlib.blake2b(np.ascontiguousarray(v).tobytes(), digest_size=12).digest() for v in vectors)
    twins = sum(count for count in seen.values() if count > 1)
    if not twins:
        return []
    return [Finding("info", "duplicate vectors", f"{twins:,} of {len(rows):,} chunks share their vector with another")]


def of_results(receipts: Mapping[str, Receipt], metric: str) -> dict[str, list[Finding]]:
    """What only the results show, by system; `metric` is the one that floor and ceiling are held against."""
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
                text = (
                    f"gave the same ranking as {other} for every query: what differs between them changes nothing here"
                )
                found[name].append(Finding("warning", "no effect", text))
    return found


def _floor(receipt: Receipt, chance: Receipt | None, metric: str) -> list[Finding]:
    if chance is None:
        return []
    own, lot = (_mean(r, metric) for r in (receipt, chance))
    if own is None or lot is None or own > lot:
        return []
    level: Literal["error", "warning"] = "error" if len(receipt.canonical["queries"]) >= LEAST else "warning"
    return [Finding(level, "floor", f"{metric} {own:.4f} is not above documents drawn by lot ({lot:.4f})")]


def _ceiling(receipt: Receipt, oracle: Receipt | None, metric: str) -> list[Finding]:
    if oracle is None:
        return []
    own, best = (_column(r, metric) for r in (receipt, oracle))
    above = [q for q, a, b in zip(receipt.canonical["queries"], own, best, strict=True) if _over(a, b)]
    if not above:
        return []
    text = f"{metric} is above what the judgements themselves reach for {len(above)} queries (first: {above[0]})"
    return [Finding("error", "ceiling", text)]


def _over(value: float | None, best: float | None) -> bool:
    return value is not None and best is not None and value > best + TOLERANCE


def _mean(receipt: Receipt, metric: str) -> float | None:
    found: float | None = receipt.canonical["aggregates"][ALL].get(metric)
    return found


def _column(receipt: Receipt, metric: str) -> Sequence[float | None]:
    found: Sequence[float | None] = receipt.canonical["scores"].get(metric, [None] * len(receipt.canonical["queries"]))
    return found
