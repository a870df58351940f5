"""The same run again, from its receipt alone: the same digest, or the first place where it differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.bench import suspicion
from assay.bench.datasets import load
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import from_spec
from assay.bench.workspace import IndexSettings, prepare
from assay.types import Progress


@dataclass(frozen=True)
class ReceiptReplay:
    """`differences` is empty when the digests agree; else it names what differs, causes before effects."""

    receipt: Receipt
    again: Receipt
    differences: tuple[str, ...]

    @property
    def same(self) -> bool:
        return self.receipt.digest == self.again.digest


def replay(receipt: Receipt, source: str | None = None, progress: Progress = lambda *_: None) -> ReceiptReplay:
    """Run a receipt again. `source` says where its dataset is, where the receipt's own word does not find it."""
    if receipt.kind != "run":
        raise ReceiptError(f"a receipt of kind {receipt.kind!r} holds no run", "replay the runs it was made from")
    said = receipt.canonical
    dataset = load(source or said["dataset"]["source"], said["dataset"]["split"])
    index = said["index"]
    plan = RunPlan(tuple(said["scores"]), said["depth"], said["seed"], "abstention" in said)
    system = from_spec(said["system"]["name"], said["system"]["spec"])
    with prepare(dataset, IndexSettings(index["embedder"], index["language"], index["profile"]), progress) as workspace:
        bench = Bench(dataset, workspace, plan)
        again = bench.receipt(system, bench.run(system, progress), suspicion.of_dataset(dataset, workspace))
    return ReceiptReplay(receipt, again, tuple(differences(said, again.canonical)))


def differences(old: Any, new: Any) -> list[str]:
    """What differs between two canonical halves: inputs first, then what went wrong, then the first query."""
    found = [
        f"{part}.{key}: {_brief(old[part].get(key))} → {_brief(new[part].get(key))}"
        for part in ("dataset", "system", "index", "versions")
        for key in sorted({*old[part], *new[part]})
        if old[part].get(key) != new[part].get(key)
    ]
    failed = {query: said for query, said in new["failed"].items() if said != old["failed"].get(query)}
    found += [f"query {query}: failed, the first of {len(failed)}: {said}" for query, said in list(failed.items())[:1]]
    found += [
        f"degraded: {reason} ({old['degraded'].get(reason, 0)} → {count} times)"
        for reason, count in new["degraded"].items()
        if old["degraded"].get(reason, 0) != count
    ]
    if old["queries"] != new["queries"]:
        return [*found, "the scored queries differ"]
    for place, query in enumerate(old["queries"]):
        if old["rankings"][place] != new["rankings"][place]:
            changed = sum(a != b for a, b in zip(old["rankings"], new["rankings"], strict=True))
            found.append(f"query {query}: its ranking differs, the first of {changed}")
            break
    for metric, values in old["scores"].items():
        for query, a, b in zip(old["queries"], values, new["scores"].get(metric, values), strict=True):
            if a != b:
                return [*found, f"query {query}: {metric} {a} → {b}"]
    found += [f"{part} differs" for part in sorted(old) if old[part] != new.get(part)] if not found else []
    return found


def _brief(value: Any) -> str:
    said = str(value)
    return said if len(said) <= 60 else f"{said[:57]}…"
