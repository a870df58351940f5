"""Checks every committed receipt: runs are run again, everything else is checked against the runs it was made from.

    make replay                                            # everything; needs ASSAY_DATA and the embedding model
    python -m tools.replay_receipts tests/golden           # some folders or files
    python -m tools.replay_receipts --systems bm25,dense   # some systems
    python -m tools.replay_receipts --lexical              # systems without vectors, on indexes without vectors

Receipts are grouped by dataset and index settings, so each corpus is indexed once and each query embedded once; indexes
are kept in the user's cache, so a run that was interrupted (Ctrl-C) goes on quickly. Routers are replayed in a
temporary folder with their sources: the LanceDB table, the small store and the recording that
benchmarks/router_sources.py builds
for their dataset. Outcomes:

    same             the run gave the same digest again
    same rankings    every ranking and score is the same; the index or a finding is not
    consistent       recomputed from the run receipts it names, with the same result
    differs          it did not; what differs is listed, and the exit code is 1
    not replayable   with the reason: it measures time, or needs something that is not here

A quantised embedding model computes slightly different vectors on another processor, and with them other indexes and
other rankings. To see that a change of the code changes nothing, run both versions on one machine with --write, migrate
what an old version wrote (tools/migrate_receipts.py), and compare the folders: all files have the same digest.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from assay.bench.datasets import load
from assay.bench.gates.rules import load_rules
from assay.bench.gates.verdicts import judge_receipt
from assay.bench.receipt import Receipt, ReceiptError, compute_digest, read, write
from assay.bench.replay import ReceiptReplay, replay_all
from assay.bench.router_report.assemble import SUMMARY
from assay.bench.systems import from_spec
from assay.bench.workspace import prepare
from assay.cli.progress import progress_bars
from assay.errors import AssayError
from assay.sources.open_cache import close_all
from assay.types import Progress
from benchmarks.router_sources import build_sources
from tools.migrate_receipts import FOLDERS, REPORT, ROOT, report_digest

Outcome = Literal["same", "same rankings", "consistent", "differs", "not replayable"]
OUTCOMES: tuple[Outcome, ...] = ("same", "same rankings", "consistent", "differs", "not replayable")
OTHER_VECTORS = "same data, model and chunks, but another index: was it made on another processor?"
STEP = 1e-4
"""The fusion benchmark writes scores in ten-thousandths."""


@dataclass(frozen=True)
class Check:
    """What became of one file; `details` say what differs, or why it cannot be checked."""

    path: Path
    kind: str
    outcome: Outcome
    details: tuple[str, ...] = ()


def check_all(
    paths: Iterable[Path],
    systems: Sequence[str] = (),
    progress: Progress = lambda *_: None,
    out: Path | None = None,
    lexical: bool = False,
) -> Iterator[Check]:
    """Every file's outcome as soon as it is known; what needs no run comes first. `systems` limits runs by name.

    With `out`, the new receipts are written there, in folders as they are in the repository. With `lexical`, only
    systems that use no vectors are run, on an index without vectors.
    """
    contents = {path: json.loads(path.read_text("utf-8")) for path in paths}
    runs = {path: read(path) for path, content in contents.items() if content.get("kind") == "run"}
    by_digest = {receipt.digest: receipt for receipt in runs.values()}
    for path, content in contents.items():
        if path not in runs:
            kind, outcome, details = _check_other(path, content, by_digest)
            yield Check(path, kind, outcome, tuple(details))
    chosen = {p: r for p, r in runs.items() if not systems or r.canonical["system"]["name"] in systems}
    if lexical:
        chosen = {path: receipt for path, receipt in chosen.items() if not _uses_vectors(receipt)}
    sourced = {path: receipt for path, receipt in chosen.items() if reads_sources(receipt)}
    plain = {path: receipt for path, receipt in chosen.items() if path not in sourced}
    for path, result in chain(
        replay_all(plain, progress=progress, embedder="none" if lexical else None),
        replay_with_sources(sourced, progress),
    ):
        if out is not None and result.again is not None:
            write(result.again, out / _relative(path))
        explained = result.outcome == "differs" and result.other_vectors
        yield Check(path, "run", result.outcome, (*([OTHER_VECTORS] if explained else []), *result.details))


def reads_sources(receipt: Receipt) -> bool:
    """Whether the system searches something beside the corpus: a table, another store, a recording."""
    spec = receipt.canonical["system"].get("spec")
    legs = spec.get("legs", {}) if isinstance(spec, Mapping) else {}
    return any("source" in leg for leg in legs.values())


def replay_with_sources(
    receipts: Mapping[Path, Receipt], progress: Progress = lambda *_: None
) -> Iterator[tuple[Path, ReceiptReplay]]:
    """Replay receipts of routers in a temporary folder that has their sources, built anew for each dataset."""
    by_source: dict[str, dict[Path, Receipt]] = {}
    for path, receipt in receipts.items():
        by_source.setdefault(receipt.canonical["dataset"]["source"], {})[path.resolve()] = receipt
    for source, members in by_source.items():
        with TemporaryDirectory() as folder, chdir(folder):
            try:
                dataset = load(source, "all")
                with prepare(dataset, progress=progress) as workspace:
                    build_sources(dataset, workspace, progress)
            except AssayError as error:  # no data, no model, no LanceDB
                for path, receipt in members.items():
                    yield path, ReceiptReplay(receipt, None, (error.message,))
                continue
            yield from replay_all(members, progress=progress)
            close_all()  # the next dataset has sources of the same names


def _uses_vectors(receipt: Receipt) -> bool:
    """Whether the system embeds queries; one that cannot be built here is left to its replay to report."""
    system = receipt.canonical["system"]
    try:
        pipeline = from_spec(system["name"], system["spec"]).pipeline
    except AssayError:
        return True
    return pipeline is not None and pipeline.needs("vector")


def _check_other(path: Path, content: Mapping[str, Any], runs: Mapping[str, Receipt]) -> tuple[str, Outcome, list[str]]:
    if content.get("schema") == REPORT:
        return ("router report", *_conclude(_check_report(content, runs)))
    kind = str(content.get("kind", "recording" if "results" in content else "measurement"))
    if kind == "recording":
        return kind, "not replayable", ["answers and times of a source as they came; routers are replayed with them"]
    if kind == "gate":
        return (kind, *_check_gate(read(path), runs))
    if kind == "fusion":
        return (kind, *_conclude(_check_fusion(content, runs)))
    if kind == "grid":
        return (kind, *_check_grid(read(path)))
    if kind == "measurement":
        return (
            kind,
            "not replayable",
            ["times and sizes on one machine; a program in benchmarks/ measures them anew"],
        )
    return kind, "not replayable", [f"nothing here knows how to check a receipt of kind {kind!r}"]


def _conclude(differences: Iterable[str]) -> tuple[Outcome, list[str]]:
    found = list(differences)
    return ("differs" if found else "consistent"), found


def _check_gate(gate: Receipt, runs: Mapping[str, Receipt]) -> tuple[Outcome, list[str]]:
    """The verdicts anew from the two runs and the shipped rules."""
    names = [gate.canonical[side]["receipt"] for side in ("system", "baseline") if gate.canonical[side]]
    missing = [name for name in names if name not in runs]
    if missing:
        return "not replayable", [f"the run {missing[0][:16]} that it names is not among these receipts"]
    try:
        rules = load_rules(gate.canonical["rules"]["name"])
    except AssayError as error:
        return "not replayable", [error.message]
    again = judge_receipt(runs[names[0]], rules, runs[names[1]] if len(names) > 1 else None)
    return _conclude(
        f"{part}: {str(gate.canonical[part])[:60]} → {str(again.canonical[part])[:60]}"
        for part in gate.canonical
        if gate.canonical[part] != again.canonical[part]
    )


def _check_report(report: Mapping[str, Any], runs: Mapping[str, Receipt]) -> Iterator[str]:
    """A router report: its digest, and every number that comes from its run."""
    if report_digest(report) != report["digest"]:
        yield "digest: the report was changed after it was written"
    run = runs.get(report["receipt"])
    if run is None:
        yield f"receipt: the run {report['receipt'][:16]} is not among these receipts"
        return
    canonical, k = run.canonical, report["top_k"]
    if canonical["dataset"] != report["dataset"]:
        yield "dataset: not that of its run"
    outcomes = Counter(row["two_stage"]["outcome"] for row in report["results"])
    for name, count in report["counters"].items():
        if outcomes[name] != count and not report["failures"]:
            yield f"counters.{name}: {count}, the questions say {outcomes[name]}"
    places = {query: place for place, query in enumerate(canonical["queries"])}
    for name, metric in SUMMARY.items():
        if report["summary"][name] != canonical["aggregates"]["all"].get(f"{metric}@{k}"):
            yield f"summary.{name}: not that of its run"
        column = canonical["scores"][f"{metric}@{k}"]
        if any(row["metrics"][name] != column[places[row["question_id"]]] for row in report["results"]):
            yield f"results: {name} is not that of its run"


def _check_fusion(receipt: Mapping[str, Any], runs: Mapping[str, Receipt]) -> Iterator[str]:
    """The fusion benchmark: its digest, means of its columns, and columns that a run receipt holds too."""
    canonical = receipt["canonical"]
    if compute_digest(canonical) != receipt["digest"]:
        yield "digest: the receipt was changed after it was written"
    inputs = canonical["inputs"]
    for name, system in canonical["systems"].items():
        scores = system["scores"]
        mean = sum(scores) / len(scores) * STEP
        if abs(mean - system["means"]["nDCG@10"]) > STEP:
            yield f"{name}: mean nDCG@10 {system['means']['nDCG@10']}, its column says {mean:.4f}"
        for run in runs.values():
            if _same_inputs(run, inputs, inputs["digests"][name]):
                column = [round(score / STEP) for score in run.canonical["scores"]["nDCG@10"]]
                if column != scores:
                    yield f"{name}: its column is not that of the run {run.digest[:16]}"


def _same_inputs(run: Receipt, inputs: Mapping[str, Any], system: str) -> bool:
    canonical = run.canonical
    return (
        canonical["system"]["digest"] == system
        and canonical["dataset"]["digest"] == inputs["dataset"]["digest"]
        and canonical["index"] == inputs["index"]
        and "nDCG@10" in canonical["scores"]
    )


def _check_grid(grid: Receipt) -> tuple[Outcome, list[str]]:
    """The vector cascade's grids need their bank; that the chosen cell is one of theirs can be seen here."""
    cells = [{key: value for key, value in cell.items() if key != "gates"} for cell in grid.canonical.get("cells", ())]
    chosen = grid.measured.get("chosen")
    if chosen and {key: value for key, value in chosen.items() if key != "gates"} not in cells:
        return "differs", ["the chosen cell is none of the cells"]
    return "not replayable", ["it needs its bank and model; make eval-hybrid makes a grid anew"]


def find_receipts(folders: Iterable[Path]) -> list[Path]:
    return [path for folder in folders for path in (sorted(folder.rglob("*.json")) if folder.is_dir() else [folder])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, default=FOLDERS)
    parser.add_argument("--systems", default="", metavar="A,B,…", help="run only these systems' receipts")
    parser.add_argument("--lexical", action="store_true", help="only systems that use no vectors, without a model")
    parser.add_argument("--write", type=Path, metavar="DIR", help="write the new receipts of runs there")
    options = parser.parse_args()
    missing = [str(path) for path in options.paths if not path.exists()]
    if missing:
        parser.error(f"there is no {', '.join(missing)}; receipts are in {', '.join(map(str, FOLDERS))}")
    if not os.environ.get("ASSAY_DATA"):
        print("ASSAY_DATA is not set: only the shipped dataset can be run", file=sys.stderr)
    counts: Counter[tuple[str, str]] = Counter()
    try:
        with progress_bars() as bar:
            names = [name for name in options.systems.split(",") if name]
            for check in check_all(find_receipts(options.paths), names, bar.step, options.write, options.lexical):
                counts[check.kind, check.outcome] += 1
                print(f"{check.outcome:<14} {_relative(check.path)}", flush=True)
                for line in check.details:
                    print(f"               {line}", flush=True)
    except KeyboardInterrupt:
        print("interrupted; what is indexed is kept, run it again to go on", file=sys.stderr)
        print(summarise(counts))
        sys.exit(130)
    except ReceiptError as error:
        sys.exit(f"error: {error}")
    print(summarise(counts))
    sys.exit(1 if any(outcome == "differs" for _, outcome in counts) else 0)


def summarise(counts: Mapping[tuple[str, str], int]) -> str:
    """A table: kinds by outcomes."""
    kinds = sorted({kind for kind, _ in counts})
    width = max((len(kind) for kind in kinds), default=4) + 2
    rows = [f"{'':<{width}}" + "".join(f"{outcome:>16}" for outcome in OUTCOMES)]
    rows += [f"{kind:<{width}}" + "".join(f"{counts.get((kind, o), 0):>16,}" for o in OUTCOMES) for kind in kinds]
    return "\n".join(rows)


def _relative(path: Path) -> str:
    return path.resolve().relative_to(ROOT).as_posix() if path.resolve().is_relative_to(ROOT) else path.name


if __name__ == "__main__":
    main()
