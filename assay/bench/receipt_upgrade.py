"""Receipts of schema 1 as schema 2: codes instead of sentences, versions and dataset notes outside the digest.

No query, ranking, score, system or digest of an input changes. `read` upgrades in memory; tools/migrate_receipts.py
rewrites files, and with them the digests by which gates and reports name their runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from string import Formatter
from typing import Any

from assay.config.findings import SENTENCES

_NAMES = frozenset({"first", "skipped", "part", "step", "outcome", "error", "other", "metric", "text"})
"""Values that are words even where they look like numbers."""
_COUNTS = frozenset({"depth", "k", "place", "queries", "scored", "equal", "chunks"})
_WHY = (
    (re.compile(r"(?P<step>.+?) cannot run: .*", re.DOTALL), "cannot_run"),
    (re.compile(r"every query failed, the first with: (?P<error>\w+).*", re.DOTALL), "all_failed"),
    (re.compile(r"degraded for every query: (?P<step>.+?) (?P<outcome>skipped): .*", re.DOTALL), "all_degraded"),
    (re.compile(r"degraded for every query: (?P<step>.+?): .*", re.DOTALL), "all_degraded"),
)

Halves = tuple[dict[str, Any], dict[str, Any]]


def upgrade(kind: str, canonical: Mapping[str, Any], measured: Mapping[str, Any]) -> Halves:
    """Both halves of a schema-1 receipt as schema 2 has them; kinds without runs inside are unchanged."""
    change = _CHANGES.get(kind)
    halves = dict(canonical), dict(measured)
    return change(*halves) if change else halves


def upgrade_run(canonical: dict[str, Any], measured: dict[str, Any]) -> Halves:
    messages: dict[str, Any] = {}
    sentence = canonical.get("why") or ""
    if "why" in canonical:
        canonical["why"] = _parse_why(sentence) if sentence else None
    if sentence:
        messages["why"] = sentence
    failed = canonical.get("failed") or {}
    if failed:
        canonical["failed"] = {query: text.partition(":")[0] for query, text in failed.items()}
        messages["failed"] = dict(failed)
    degraded = canonical.get("degraded") or {}
    if degraded:
        canonical["degraded"] = _count_degraded(degraded)
        messages["degraded"] = sorted(degraded)
    if "preflight" in canonical:
        canonical["preflight"] = [_upgrade_finding(finding) for finding in canonical["preflight"]]
    if messages:
        measured["messages"] = messages
    return _move_out(canonical, measured), measured


def upgrade_grid(canonical: dict[str, Any], measured: dict[str, Any]) -> Halves:
    """A sweep's receipt describes two splits of its dataset, and holds versions as a run does."""
    dataset = canonical.get("dataset")
    if isinstance(dataset, Mapping):
        without = {
            split: {key: value for key, value in dataset[split].items() if key != "notes"}
            for split in ("dev", "test")
            if isinstance(dataset.get(split), Mapping)
        }
        canonical["dataset"] = {**dataset, **without}
    return _move_out(canonical, measured), measured


def upgrade_fusion(canonical: dict[str, Any], measured: dict[str, Any]) -> Halves:
    """The fusion benchmark's own receipts keep what decides them under "inputs"."""
    inputs = dict(canonical["inputs"])
    canonical["inputs"] = _move_out(inputs, measured)
    return canonical, measured


_CHANGES: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], Halves]] = {
    "run": upgrade_run,
    "grid": upgrade_grid,
    "fusion": upgrade_fusion,
}


def _move_out(holder: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    """`holder` without versions and notes, which go to the measured half."""
    if "versions" in holder:
        measured["versions"] = holder.pop("versions")
    dataset = holder.get("dataset")
    if isinstance(dataset, Mapping) and "notes" in dataset:
        if dataset["notes"]:
            measured["notes"] = list(dataset["notes"])
        holder["dataset"] = {key: value for key, value in dataset.items() if key != "notes"}
    return holder


def _parse_why(sentence: str) -> dict[str, Any]:
    for pattern, code in _WHY:
        match = pattern.fullmatch(sentence)
        if match:
            values = match.groupdict()
            return {"code": code, "values": {"outcome": "degraded", **values} if code == "all_degraded" else values}
    return {"code": "text", "values": {"text": sentence}}


def _count_degraded(reasons: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """{"dense skipped: no vector": 3} → {"dense": {"skipped": 3}}"""
    counts: dict[str, dict[str, int]] = {}
    for reason, count in sorted(reasons.items()):
        step, skipped, _ = reason.partition(" skipped: ")
        step, outcome = (step, "skipped") if skipped else (reason.partition(":")[0], "degraded")
        steps = counts.setdefault(step, {})
        steps[outcome] = steps.get(outcome, 0) + count
    return counts


def _upgrade_finding(finding: Mapping[str, Any]) -> dict[str, Any]:
    if "code" in finding:
        return dict(finding)
    return {"level": finding["level"], "where": finding["where"], **parse_sentence(finding["text"])}


def parse_sentence(sentence: str) -> dict[str, Any]:
    """A rendered sentence's code and values; code "text" where no template fits."""
    for code, pattern in _patterns().items():
        match = pattern.fullmatch(sentence)
        if match:
            values = {name: word if name in _NAMES else _number(name, word) for name, word in match.groupdict().items()}
            return {"code": code, "values": values}
    return {"code": "text", "values": {"text": sentence}}


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """A pattern for every template; a number may have commas, a sign and an exponent."""
    return {code: re.compile(_pattern(template)) for code, template in SENTENCES.items() if code != "text"}


def _pattern(template: str) -> str:
    parts = []
    for text, name, _, _ in Formatter().parse(template):
        parts.append(re.escape(text))
        if name:
            parts.append(f"(?P<{name}>{'.+?' if name in _NAMES else r'-?[0-9][0-9,.]*(?:e[+-]?[0-9]+)?'})")
    return "".join(parts)


def _number(name: str, word: str) -> int | float:
    plain = word.replace(",", "")
    return int(plain) if name in _COUNTS else float(plain)
