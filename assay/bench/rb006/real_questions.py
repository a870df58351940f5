"""The same measures on real questions with real gold, beside the simulation. Nothing here is gated.

Sets with marked evidence have A, ER and EP by token budget; where there are answer strings, AIC as well. Where whole
documents are the gold (squad2_mini), A asks for all of them, and AIC is the better measure. Sets with questions that
the corpus does not answer say how often the detector refuses those, and the others. Evidence of real sets has no hops:
all of it counts at the levels of the walk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.bench.datasets import load
from assay.bench.evidence_sets import draw_topics, with_facts
from assay.bench.rb006.diagnostics.comparisons import compare_systems
from assay.bench.rb006.diagnostics.measurements import FLAT, RACE, ScaleMeasurements
from assay.bench.rb006.diagnostics.routing import correlate, summarise_routing
from assay.bench.rb006.measure.detector import DETECTOR
from assay.bench.rb006.measure.suite_bench import MEASURES, POOL_KEY, SuiteBench
from assay.bench.rb006.measures.curves import BUDGETS
from assay.bench.rb006.measures.detection import detect
from assay.bench.rb006.runner.measuring import ScaleRecords, measure_detector, measure_systems
from assay.bench.rb006.runner.worlds import BenchPool
from assay.bench.rb006.subject import Subject, SuiteQuery
from assay.bench.rb006.systems import BenchmarkSystem, find_systems
from assay.bench.workspace import IndexSettings, prepare
from assay.errors import ConfigError, nearest
from assay.types import Progress

PROFILE = "fine"
"""Chunks of 40 to 90 tokens, as in the worlds."""
DEFAULT_SYSTEMS = ("bm25", "dense", "hybrid", "raptor", FLAT, "flat-strong-xlink", "beam-only", "collapsed-only", RACE)


@dataclass(frozen=True, slots=True)
class RealSet:
    """A set and what its gold allows to measure."""

    name: str
    gold: str


REAL_SETS: Mapping[str, RealSet] = {
    one.name: one
    for one in (
        RealSet("hotpotqa", "supporting sentences of two documents"),
        RealSet("chunking_eval", "spans"),
        RealSet("covidqa_long", "spans of long articles"),
        RealSet("qed", "sentences; questions without an answer"),
        RealSet("fever_eraser", "sentences"),
        RealSet("multihoprag_facts", "facts of several articles; questions without an answer"),
        RealSet("squad2_mini", "paragraphs; questions without an answer"),
        RealSet("beam", "turns of long chats; questions without an answer"),
    )
}


def find_sets(names: Sequence[str]) -> list[RealSet]:
    """The sets by name; all of them without a name."""
    for name in names:
        if name not in REAL_SETS:
            raise ConfigError(f"there are no real questions called {name!r}", nearest(name, REAL_SETS))
    return [REAL_SETS[name] for name in (dict.fromkeys(names) or REAL_SETS)]


def load_real(chosen: RealSet, split: str, most: int) -> Subject:
    """At most `most` questions of a split with evidence, and as many without an answer, by the hash of their ids."""
    dataset = draw_topics(with_facts(load(chosen.name, split)), most, most)
    queries = tuple(
        SuiteQuery(name, topic.text, kind="out_of_scope" if name in dataset.abstain else "", archetype=chosen.name)
        for name, topic in sorted(dataset.topics.items())
    )
    return Subject(chosen.name, dataset, queries, {"source": dataset.source, "split": split, "gold": chosen.gold})


def measure_real(
    chosen: RealSet,
    out: Path,
    *,
    systems: Sequence[BenchmarkSystem],
    split: str = "test",
    most: int = 100,
    settings: IndexSettings | None = None,
    progress: Progress = lambda *_: None,
    cache: Path | None = None,
) -> dict[str, Any]:
    """Measure one set; records are kept in `out`, so an interrupted run goes on."""
    subject = load_real(chosen, split, most)
    with ExitStack() as stack:
        index = settings or IndexSettings(profile=PROFILE)
        workspace = stack.enter_context(prepare(subject.dataset, index, progress, cache))
        benches = BenchPool(SuiteBench(subject, workspace), stack, progress, cache)
        records = ScaleRecords(out / f"{chosen.name}-{split}", benches)
        measure_systems(records, systems, subject.answered, progress)
        (baseline,) = find_systems([FLAT])
        measure_detector(records, baseline, subject.queries, progress)
        at = ScaleMeasurements(
            workspace.snapshot.size,
            subject,
            {system.name: records.of(system).read() for system in systems},
            records.of_detector(baseline).read(),
        )
        return {
            **summarise_real(at),
            "index": workspace.describe(),
            "dataset": subject.dataset.digest,
            "digests": {system.name: system.digest for system in systems},
        }


def summarise_real(at: ScaleMeasurements) -> dict[str, Any]:
    """Means by system and budget, the race against the flat baseline, routing, and what the detector refuses."""
    decisions = at.decisions()
    found = detect(decisions) if decisions else None
    refused = [query.id for query in at.feasible if at.detected.get(query.id, {}).get("said")]
    return {
        "name": at.subject.name,
        "split": at.subject.about["split"],
        "gold": at.subject.about["gold"],
        "chunks": at.scale,
        "questions": len(at.feasible),
        "without_answer": sum(not query.is_feasible for query in at.subject.queries),
        "systems": {
            name: {
                measure: {str(budget): _round(at.mean(name, measure, budget)) for budget in (*BUDGETS, POOL_KEY)}
                for measure in MEASURES
            }
            for name in at.records
            if at.has(name, at.feasible)
        },
        "against_flat": compare_systems(at),
        "routing": {
            arm: {"all": one["strata"]["all"], "scanned": one["scanned"]} for arm, one in summarise_routing(at).items()
        },
        "survival": correlate(at),
        DETECTOR: {
            "precision": None if found is None else _round(found.precision),
            "recall": None if found is None else _round(found.recall),
            "false_refusals": len(refused),
        },
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
