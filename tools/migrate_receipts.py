"""Rewrites receipts of schema 1 as schema 2: codes instead of sentences, versions and notes outside the digest.

    python -m tools.migrate_receipts                     # receipts/ and tests/golden of this repository
    python -m tools.migrate_receipts my_receipts --check # exit code 1 when something would change

Receipts of schema 2 that call the judgements of a set without a label "human" get the label that the lab gives such a
set now, "unstated" (docs/decisions/0065).

No query, ranking, score, system or input digest changes. A run's own digest does, so every file that names a run by its
digest (gates, comparisons, sweeps, router reports) is rewritten with it. Running it again changes nothing.

`--manifest` prints one line per receipt, "sha256  path", over the parts that must not change: print it before and
after, and compare.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.bench.receipt import SCHEMA, Receipt, canonical_bytes, compute_digest
from assay.bench.receipt_upgrade import upgrade
from assay.util.atomic_files import write_text
from benchmarks.fusion.files import format_receipt

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "receipts", ROOT / "tests" / "golden")
REPORT = "assay/router-report/v1"
UNLABELLED = frozenset(
    [
        "chunking_eval",
        "cranfield",
        "hotpotqa",
        "locomo",
        "locomo_sessions",
        "longmemeval_mini",
        "multihoprag_facts",
        "nfcorpus",
        "scifact",
        "squad2_mini",
    ]
)
"""Sets of the committed receipts whose files do not say who judged."""
_TIMES = ("latency_ms", "stage1_latency_ms", "stage2_latency_ms")


class ReceiptChanged(SystemExit):
    """A file whose digest does not fit it is not migrated."""


def migrate(paths: Iterable[Path]) -> dict[Path, str]:
    """path → its new text, for every file that changes."""
    texts = {path: path.read_text("utf-8") for path in paths}
    data = {path: json.loads(text) for path, text in texts.items() if path.suffix == ".json"}
    upgraded = {path: _upgrade(path, content) for path, content in data.items()}
    digests = {
        content["digest"]: compute_digest(upgraded[path]["canonical"])
        for path, content in data.items()
        if _is_receipt(content) and content["digest"] != compute_digest(upgraded[path]["canonical"])
    }
    for path, content in data.items():
        upgraded[path] = _rename(upgraded[path], digests)
        if _is_report(content):
            upgraded[path]["digest"] = digests[content["digest"]] = report_digest(upgraded[path])
    written = {path: _dump(content, texts[path]) for path, content in upgraded.items() if content != data[path]}
    for path in texts.keys() - data.keys():  # Markdown beside a report names the same digests
        text = texts[path]
        for old, new in digests.items():
            text = text.replace(old, new)
        if text != texts[path]:
            written[path] = text
    return written


def invariants(content: Mapping[str, Any]) -> Any:
    """The part of a receipt that the migration must not change; None for a plain measurement."""
    canonical = content.get("canonical")
    if _is_report(content):
        part = {key: value for key, value in content.items() if key not in ("receipt", "digest", "dataset")}
        return {**part, "dataset": _without(content["dataset"], "notes", "label")}
    if not isinstance(canonical, Mapping):
        return None
    if content["kind"] == "run":
        part = _without(canonical, "why", "preflight", "failed", "degraded", "versions")
        part["failed"] = sorted(canonical["failed"])
        part["preflight"] = [[finding["level"], finding["where"]] for finding in canonical["preflight"]]
        return {**part, "dataset": _without(canonical["dataset"], "notes", "label")}
    if content["kind"] == "fusion":
        inputs = _without(canonical["inputs"], "versions")
        return {**canonical, "inputs": {**inputs, "dataset": _without(inputs["dataset"], "notes", "label")}}
    return _without_references(canonical)


def manifest(paths: Iterable[Path], root: Path) -> list[str]:
    lines = []
    for path in sorted(paths):
        part = invariants(json.loads(path.read_text("utf-8"))) if path.suffix == ".json" else None
        if part is not None:
            lines.append(f"{hashlib.sha256(canonical_bytes(part)).hexdigest()}  {path.relative_to(root).as_posix()}")
    return lines


def report_digest(report: Mapping[str, Any]) -> str:
    """A router report's digest covers everything but its latencies and the verdict on them."""
    body = _without(report, "latency", "verdict", "digest")
    body["results"] = [
        {**_without(row, *_TIMES), "two_stage": _without(row["two_stage"], *_TIMES)} for row in report["results"]
    ]
    return compute_digest(body)


def find(folders: Iterable[Path]) -> list[Path]:
    files = [path for folder in folders for path in (folder.rglob("*") if folder.is_dir() else [folder])]
    return sorted(path for path in files if path.suffix in (".json", ".md"))


def _upgrade(path: Path, content: Any) -> dict[str, Any]:
    if _is_report(content):
        if report_digest(content) != content["digest"]:
            raise ReceiptChanged(f"{path} was changed after it was written: its digest does not fit")
        return {**content, "dataset": _relabel(_without(content["dataset"], "notes"))}
    if not _is_receipt(content):
        return dict(content)
    if compute_digest(content["canonical"]) != content["digest"]:
        raise ReceiptChanged(f"{path} was changed after it was written: its digest does not fit")
    canonical, measured = content["canonical"], content["measured"]
    if content.get("schema", 1) < SCHEMA:
        canonical, measured = upgrade(content["kind"], canonical, measured)
    return {**content, "schema": SCHEMA, "canonical": _relabel_datasets(canonical), "measured": measured}


def _relabel_datasets(value: Any) -> Any:
    """With every dataset of a canonical half, a run's own and those that a comparison names, labelled as now."""
    if isinstance(value, Mapping):
        inner = {key: _relabel_datasets(each) for key, each in value.items()}
        return {**inner, "dataset": _relabel(inner["dataset"])} if isinstance(inner.get("dataset"), Mapping) else inner
    return [_relabel_datasets(each) for each in value] if isinstance(value, list) else value


def _relabel(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """A dataset's facts; "human" becomes "unstated" where the set does not say who judged."""
    wrong = dataset.get("label") == "human" and dataset.get("name") in UNLABELLED
    return {**dataset, "label": "unstated"} if wrong else dict(dataset)


def _rename(value: Any, digests: Mapping[str, str]) -> Any:
    """With every run named by its new digest, and every digest anew."""
    renamed = _replace(value, digests)
    if _is_receipt(renamed):
        renamed["digest"] = compute_digest(renamed["canonical"])
    return renamed


def _replace(value: Any, digests: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _replace(inner, digests) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace(inner, digests) for inner in value]
    return digests.get(value, value) if isinstance(value, str) else value


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _without_references(value: Any) -> Any:
    """Without the digests by which a gate or a sweep names its runs, without versions and notes."""
    if isinstance(value, Mapping):
        return {
            k: _without_references(v) for k, v in value.items() if k not in ("receipt", "runs", "versions", "notes")
        }
    return [_without_references(inner) for inner in value] if isinstance(value, list) else value


def _is_receipt(content: Any) -> bool:
    return isinstance(content, Mapping) and {"kind", "digest", "canonical"} <= content.keys()


def _is_report(content: Any) -> bool:
    return isinstance(content, Mapping) and content.get("schema") == REPORT


def _dump(content: dict[str, Any], before: str) -> str:
    """As the program that writes this kind of file writes it."""
    if _is_report(content):
        return json.dumps(content, indent=1 if before.startswith("{\n") else None) + "\n"
    if content["kind"] == "fusion":
        return format_receipt(content)
    return Receipt(content["kind"], content["canonical"], content["measured"]).dumps()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when something would change")
    parser.add_argument("--manifest", action="store_true", help="print what must not change, one line per receipt")
    options = parser.parse_args()
    paths = find(options.folders)
    if options.manifest:
        print("\n".join(manifest(paths, ROOT)))
        return
    written = migrate(paths)
    for path, text in written.items():
        if not options.check:
            write_text(path, text)
    print(
        f"{len(written)} of {len(paths)} files {'are to be' if options.check else 'were'} migrated to schema {SCHEMA}"
    )
    sys.exit(1 if options.check and written else 0)


if __name__ == "__main__":
    main()
