"""The held-out evaluation with the current settings, for the endpoint /metrics/hitk_offline."""

from __future__ import annotations

from typing import Any

from assay.bench.metrics import mean
from assay.bench.systems import make_system
from assay.cascade.bank.sequences import Sequences
from assay.cascade.evaluation.baselines import rank_baselines
from assay.cascade.evaluation.doubts import provenance_doubt
from assay.cascade.evaluation.questions import make_questions, split_by_domain
from assay.cascade.evaluation.runs import Ranks, latency_percentiles, run_systems, score_ranks
from assay.cascade.service import Cascade

NAMES = {"Success@1": "hit@1", "Success@5": "hit@5", "Success@10": "hit@10", "RR@10": "mrr@10"}


def evaluate_offline(cascade: Cascade, sequences: Sequences, most: int, baselines: bool = True) -> dict[str, Any]:
    """Hit@1/5/10 and MRR@10 over all and by domain, milliseconds by stage, and the baselines."""
    questions = make_questions(cascade.snapshot, sequences.val, most)
    settings, leg = cascade.settings, cascade.base.legs[0].name
    (run,) = run_systems([make_system(cascade.base)], cascade.snapshot, questions)
    measured, few = split_by_domain(questions)
    rows = rank_baselines(cascade.snapshot, questions) if baselines else {}
    return {
        "settings": {
            "k0": settings.k0,
            "k1": settings.k1,
            "k": settings.k,
            "lambda_tmd": settings.weight,
            "nprobe": cascade.leg.nprobe,
        },
        "questions": len(questions),
        **_scores(run.ranks),
        "latency_ms": {"faiss" if step == leg else step: spent for step, spent in latency_percentiles(run).items()},
        "lanes": {name: {"questions": len(places), **_scores(run.ranks[places])} for name, places in measured.items()},
        "not_measured": few,
        "baselines": {name: _scores(ranks) for name, ranks in rows.items()},
        "degraded": run.why,
        "doubts": [
            text
            for text in (cascade.snapshot.layout_warning, provenance_doubt(cascade.snapshot.model, sequences))
            if text
        ],
    }


def _scores(ranks: Ranks) -> dict[str, float | None]:
    columns = score_ranks(ranks)
    return {name: mean(columns[metric]) for metric, name in NAMES.items()}
