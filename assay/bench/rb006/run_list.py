"""Every run that left a receipt, in the order of time: the first one on a frozen suite is the verdict of record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench.receipt import Receipt, ReceiptError, read

RECORD, LATER, DEV, PARTIAL = "verdict of record", "later run", "dev world", "not at the declared scale"


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run as the list shows it. `standing` says what it counts for."""

    path: Path
    clock: str
    world: str
    base: str
    scales: tuple[int, ...]
    rerank: str
    standing: str
    verdicts: Mapping[str, str]
    note: str
    digest: str

    def to_json(self) -> dict[str, Any]:
        return {
            "receipt": str(self.path),
            "clock": self.clock,
            "world": self.world,
            "base": self.base,
            "scales": list(self.scales),
            "rerank": self.rerank,
            "standing": self.standing,
            "verdicts": dict(self.verdicts),
            "note": self.note,
            "digest": self.digest,
        }


def list_runs(places: Sequence[Path], skipped: Callable[[ReceiptError], None] = lambda _: None) -> list[ListedRun]:
    """The runs whose receipts are these files or below these folders, oldest first. Other files are passed over; a
    file that is named must be a receipt of this benchmark. `skipped` hears of receipts of this benchmark in a folder
    that were changed or torn."""
    found: dict[str, tuple[Path, Receipt]] = {}
    for place in places:
        for path in sorted(place.rglob("*.json")) if place.is_dir() else [place]:
            try:
                receipt = read(path)
            except ReceiptError as error:
                if not place.is_dir():
                    raise
                if _claims_to_be_run(path):
                    skipped(error)
                continue
            if receipt.kind == "rb006":
                found.setdefault(receipt.digest + str(receipt.measured.get("clock", "")), (path, receipt))
            elif not place.is_dir():
                raise ReceiptError(f"{path} is a receipt of kind {receipt.kind!r}", "name one of `assay bench rb006`")
    runs: list[ListedRun] = []
    decided: set[tuple[str, str]] = set()
    for path, receipt in sorted(found.values(), key=lambda item: (str(item[1].measured.get("clock", "")), item[0])):
        runs.append(_describe(path, receipt, decided))
    return runs


def _claims_to_be_run(path: Path) -> bool:
    """Whether a file begins as a receipt of this benchmark does: `kind` is the second line of one."""
    try:
        return '"kind": "rb006"' in path.read_text("utf-8", errors="replace")[:200]
    except OSError:
        return False


def _describe(path: Path, receipt: Receipt, decided: set[tuple[str, str]]) -> ListedRun:
    canonical = receipt.canonical
    settings, suite = canonical["settings"], canonical["suite"]
    standing = _find_standing(canonical, (suite["digest"], suite["base"]), decided)
    return ListedRun(
        path,
        str(receipt.measured.get("clock", "")),
        suite["templates"],
        suite["base"],
        tuple(int(scale) for scale in canonical["scales"]),
        settings["rerank"],
        standing,
        {verdict["name"]: verdict["outcome"] for verdict in canonical["verdicts"]},
        str(receipt.measured.get("note", "")),
        receipt.digest,
    )


def _find_standing(canonical: Mapping[str, Any], suite: tuple[str, str], decided: set[tuple[str, str]]) -> str:
    if canonical["suite"]["templates"] == "dev" or canonical["settings"]["quick"]:
        return DEV
    if canonical["judged_at"] != canonical["declared"]["scale"]:
        return PARTIAL
    if suite in decided:
        return LATER
    decided.add(suite)
    return RECORD
