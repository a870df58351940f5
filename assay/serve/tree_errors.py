"""Where walks down the tree lose the evidence of judged questions: errors by level (ε) and by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from statistics import median_low
from typing import Any

from assay.bench.judge.ledger import LedgerEntry
from assay.bench.metrics.routing import summarise_levels
from assay.bench.rb006.diagnostics.routing import find_bad_nodes, read_levels
from assay.bench.rb006.measure.routing_events import find_log, measure_routing
from assay.engine.foreign_chunks import base_snapshot
from assay.engine.pipeline import Pipeline
from assay.kb import KnowledgeBase
from assay.protocols import TreeSnapshot
from assay.upkeep.tree_report import name_node
from assay.where import Compare, Filter, Or

MOST_QUESTIONS = 200
"""Questions that one request walks for; the first by name."""


def measure_judged_walks(kb: KnowledgeBase, entries: Iterable[LedgerEntry], pipeline: Pipeline) -> dict[str, Any]:
    """Walk for every judged question with relevant chunks. A node is wrong for a question if evidence lies below it and
    no child that leads there was chosen."""
    walks: list[dict[str, Any]] = []
    names: dict[int, str] = {}
    silent = 0
    questions = find_evidence(entries)
    for text, chunks in sorted(questions.items())[:MOST_QUESTIONS]:
        answer = kb.search(text, pipeline=pipeline)
        log, view = find_log(answer.trace), base_snapshot(answer.snapshot)
        if log is None or not isinstance(view, TreeSnapshot):
            silent += 1
            continue
        tree = view.tree()
        rows = kb.snapshot(f"v{answer.version}").live_rows(_any_of(chunks)).tolist()
        if rows:
            walks.append(measure_routing(log, {1: {row: [row] for row in rows}}, tree, view))
            names |= {node: name_node(tree, node) for _, node, _ in walks[-1]["nodes"]}
    return {
        "questions": len(walks),
        "judged": len(questions),
        "without_walk": silent,
        "levels": summarise_levels([read_levels(events) for events in walks]),
        "nodes": [{**line, "path": names[line["node"]]} for line in find_bad_nodes(walks)],
    }


def find_evidence(entries: Iterable[LedgerEntry]) -> dict[str, list[str]]:
    """Question → its relevant chunks: several grades of one document become their low median, as in the dataset."""
    grades: dict[tuple[str, str], list[int]] = defaultdict(list)
    chunks: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in entries:
        if one.grade is not None:
            grades[one.query, one.doc_id].append(one.grade)
            chunks[one.query, one.doc_id].add(one.chunk_id)
    found: dict[str, list[str]] = defaultdict(list)
    for (query, document), given in grades.items():
        if median_low(given) > 0:
            found[query] += sorted(chunks[query, document])
    return dict(found)


def _any_of(chunks: list[str]) -> Filter:
    conditions = tuple(Compare("id", "=", name) for name in chunks)
    return conditions[0] if len(conditions) == 1 else Or(conditions)
