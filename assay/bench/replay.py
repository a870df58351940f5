"""Runs receipts again from what they say, and compares: the same digest, or what differs first.

Receipts are grouped by dataset and index settings: each corpus is parsed and indexed once, each query embedded once,
and one look-up serves every system that makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

from assay.bench import sanity_checks
from assay.bench.datasets import load_splits
from assay.bench.host import describe_instructions
from assay.bench.messages import degradations, failures, why
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.receipt_effects import dataset_effects, embedder_effects, require_allowed, system_effects
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import from_spec
from assay.bench.workspace import IndexSettings, prepare
from assay.config.findings import Finding
from assay.errors import AssayError
from assay.types import Progress

Key = TypeVar("Key")
Outcome = Literal["same", "same rankings", "differs", "not replayable"]
"""The same digest; every ranking and score the same, though the index or a finding is not; something else."""


@dataclass(frozen=True)
class ReceiptReplay:
    """`again` is the new receipt, None when the run cannot be made here; `details` say what differs, causes before
    effects, or why it cannot be made."""

    receipt: Receipt
    again: Receipt | None
    details: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        if self.again is None:
            return "not replayable"
        if self.receipt.digest == self.again.digest:
            return "same"
        before, after = self.receipt.canonical, self.again.canonical
        inputs = all(before[part]["digest"] == after[part]["digest"] for part in ("dataset", "system"))
        same = inputs and all(before[part] == after[part] for part in ("queries", "rankings", "scores"))
        return "same rankings" if same else "differs"

    @property
    def same(self) -> bool:
        return self.outcome == "same"

    @property
    def other_vectors(self) -> bool:
        """Whether only the vectors can explain a difference: same data, system, model and chunks, another index.

        A quantised model computes slightly different vectors on another processor.
        """
        if self.again is None:
            return False
        before, after = self.receipt.canonical, self.again.canonical
        if any(before[part]["digest"] != after[part]["digest"] for part in ("dataset", "system")):
            return False
        index, new = dict(before["index"]), dict(after["index"])
        return index.pop("digest") != new.pop("digest") and index == new and bool(index["model"])


@dataclass(frozen=True)
class _Group:
    """Runs that share a corpus and an index."""

    source: str
    settings: IndexSettings


def replay(receipt: Receipt, source: str | None = None, progress: Progress = lambda *_: None) -> ReceiptReplay:
    """Run a receipt again. `source` says where its dataset is, where the receipt's own word does not find it."""
    if receipt.kind != "run":
        raise ReceiptError(f"a receipt of kind {receipt.kind!r} holds no run", "replay the runs it was made from")
    ((_, result),) = _replay_group(_group(receipt, source), {0: receipt}, progress)
    return result


def replay_all(
    receipts: Mapping[Key, Receipt],
    source: str | None = None,
    progress: Progress = lambda *_: None,
    embedder: str | None = None,
) -> Iterator[tuple[Key, ReceiptReplay]]:
    """Run receipts of runs again, each result as soon as it is there. What cannot be run here is a result too.

    `embedder` replaces that of the receipts: "none" is enough for systems that use no vectors.
    """
    groups: dict[_Group, dict[Key, Receipt]] = {}
    for key, receipt in receipts.items():
        group = _group(receipt, source)
        if embedder is not None:
            group = replace(group, settings=replace(group.settings, embedder=embedder))
        groups.setdefault(group, {})[key] = receipt
    for group, members in groups.items():
        done: set[Key] = set()
        try:
            for key, result in _replay_group(group, members, progress):
                done.add(key)
                yield key, result
        except AssayError as error:  # no data, no model, an index that cannot be built
            for key in (key for key in members if key not in done):
                yield key, ReceiptReplay(members[key], None, (error.message,))


def _group(receipt: Receipt, source: str | None) -> _Group:
    canonical = receipt.canonical
    return _Group(source or canonical["dataset"]["source"], _index_settings(canonical["index"]))


def _index_settings(index: Mapping[str, Any]) -> IndexSettings:
    """The settings in a receipt's description of its index."""
    names = [field.name for field in fields(IndexSettings)]
    return IndexSettings(**{name: index[name] for name in names if name in index})


def _replay_group(
    group: _Group, members: Mapping[Key, Receipt], progress: Progress
) -> Iterator[tuple[Key, ReceiptReplay]]:
    splits: dict[str, list[Key]] = {}
    for key, receipt in members.items():
        splits.setdefault(receipt.canonical["dataset"]["split"], []).append(key)
    require_allowed([*dataset_effects(group.source), *embedder_effects(group.settings.embedder)])
    datasets = load_splits(group.source, list(splits))
    with prepare(datasets[0], group.settings, progress) as workspace:
        for dataset, keys in zip(datasets, splits.values(), strict=True):
            bench = Bench(dataset, workspace)
            findings = sanity_checks.check_dataset(dataset, workspace)
            for key in keys:
                yield key, _replay_one(members[key], bench, findings, progress)


def _replay_one(receipt: Receipt, bench: Bench, findings: Sequence[Finding], progress: Progress) -> ReceiptReplay:
    canonical = receipt.canonical
    plan = RunPlan(
        tuple(canonical["scores"]),
        canonical["depth"],
        canonical["seed"],
        abstention="abstention" in canonical,
        scoped="scoped" in canonical,
    )
    try:
        system = from_spec(canonical["system"]["name"], canonical["system"]["spec"])
        require_allowed(system_effects(system))
    except AssayError as error:  # a component or an extra that is not installed
        return ReceiptReplay(receipt, None, (error.message,))
    planned = bench.with_plan(plan)
    again = _keep_old_label(receipt, planned.receipt(system, planned.run(system, progress), findings))
    if canonical["status"] == "measured" and again.canonical["status"] != "measured":
        return ReceiptReplay(receipt, None, (why(again),))
    return ReceiptReplay(receipt, again, tuple(find_differences(receipt, again)))


def _keep_old_label(old: Receipt, new: Receipt) -> Receipt:
    """A receipt that says "human" where nobody states who judged is older than the label "unstated"; that alone must
    not make it differ."""
    if (old.canonical["dataset"]["label"], new.canonical["dataset"]["label"]) != ("human", "unstated"):
        return new
    dataset = {**new.canonical["dataset"], "label": "human"}
    return replace(new, canonical={**new.canonical, "dataset": dataset})


def find_differences(old: Receipt, new: Receipt) -> list[str]:
    """What differs between two receipts of a run: inputs and versions first, then what went wrong, then the first
    query. Versions are named only beside another difference: by themselves they change no digest."""
    if old.digest == new.digest:
        return []
    before, after = old.canonical, new.canonical
    lines = [
        f"{part}.{key}: {_shorten(a.get(key))} → {_shorten(b.get(key))}"
        for part, a, b in (
            *((part, before[part], after[part]) for part in ("dataset", "system", "index")),
            ("versions", old.measured.get("versions", {}), new.measured.get("versions", {})),
            ("host", _processor(old), _processor(new)),
        )
        for key in sorted({*a, *b})
        if a.get(key) != b.get(key)
    ]
    errors = failures(new)
    failed = {query: errors[query] for query, code in after["failed"].items() if code != before["failed"].get(query)}
    lines += [f"query {query}: failed, the first of {len(failed)}: {text}" for query, text in list(failed.items())[:1]]
    counts = degradations(old)
    lines += [
        f"degraded: {reason} ({counts.get(reason, 0)} → {count} times)"
        for reason, count in degradations(new).items()
        if counts.get(reason, 0) != count
    ]
    return [*lines, *_query_differences(before, after, bool(lines))]


def _processor(receipt: Receipt) -> dict[str, Any]:
    """The processor's instructions, where the receipt says them: a quantised model rounds differently on others."""
    host = receipt.measured.get("host", {})
    return {"instructions": host["instructions"]} if "instructions" in host else describe_instructions()


def _query_differences(before: Mapping[str, Any], after: Mapping[str, Any], explained: bool) -> Iterator[str]:
    if before["queries"] != after["queries"]:
        yield "the scored queries differ"
        return
    rankings = zip(before["queries"], before["rankings"], after["rankings"], strict=True)
    changed = [query for query, a, b in rankings if a != b]
    if changed:
        yield f"query {changed[0]}: its ranking differs, the first of {len(changed)}"
    for metric, values in before["scores"].items():
        for query, a, b in zip(before["queries"], values, after["scores"].get(metric, values), strict=True):
            if a != b:
                yield f"query {query}: {metric} {a} → {b}"
                return
    if not changed and not explained:
        yield from (f"{part} differs" for part in sorted(before) if before[part] != after.get(part))


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
