"""Impossible-query detection: one judgement for each query, the same for every system.

The judge reads the candidates of the strong flat baseline, whatever system answers. So systems differ by their contexts
alone, and no arm profits from a refusal that another arm could have made as well.
"""

from __future__ import annotations

from dataclasses import replace

from assay.answerability.judge import AnswerabilityJudge
from assay.bench.rb006.measure.suite_bench import Record, SuiteBench
from assay.bench.rb006.subject import SuiteQuery
from assay.bench.rb006.systems.catalogue import BenchmarkSystem
from assay.bench.types import Topic

DETECTOR = "detector"
BUDGET = 400
KINDS = {"diff": "version_diff"}
"""What the judge calls a kind → what the suite calls it, where they differ."""


def detect_query(bench: SuiteBench, baseline: BenchmarkSystem, query: SuiteQuery) -> Record:
    """Judge whether a query can be answered within 400 tokens; `said` is the kind, "" for an answerable one."""
    pipeline = baseline.pipeline
    assert pipeline is not None
    judge = AnswerabilityJudge(bench.workspace.kb.store.settings["model"] or "", BUDGET)
    asked = bench.workspace.query(Topic(query.id, query.text))
    answer = replace(bench.legs.attach(pipeline), packer=None, steps=()).run(asked, bench.snapshot, judge=judge)
    judged = answer.answerability
    if judged is None:
        return {"query": query.id, "said": "", "failed": "nobody judged"}
    kind = judged.kind or ""
    return {"query": query.id, "said": KINDS.get(kind, kind), "probability": round(judged.probability, 6)}
