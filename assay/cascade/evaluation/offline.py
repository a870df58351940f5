"""The held-out evaluation with the current settings, for the endpoint /metrics/hitk_offline."""

from __future__ import annotations

from typing import Any

from assay.bench.metrics import mean
from assay.bench.systems import make_system
from assay.cascade.bank.sequences import Sequences
from assay.cascade.evaluation.baselines import rank_baselines
from assay.cascade.evaluation.doubts import provenance_doubt
from assay.cascade.evaluation.questions import fill_domains, questions_at, split_by_domain, spread_evenly
from assay.cascade.evaluation.runs import Ranks, latency_percentiles, run_systems, score_ranks
from assay.cascade.service import Cascade

NAMES = {"Success@1": "hit@1", "Success@5": "hit@5", "Success@10": "hit@10", "RR@10": "mrr@10"}


def evaluate_offline(cascade: Cascade, sequences: Sequences, most: int, baselines: bool = True) -> dict[str, Any]:
    """Hit@1/5/10 and MRR@10 over all and by domain, milliseconds by stage, and the baselines.

    `most` questions spread over the held-out half give the numbers over all. More are asked of each domain that has
    fewer than FEWEST among them and enough in the half; they count for their domain alone.
    """
    snapshot, pairs = cascade.snapshot, sequences.val
    even = spread_evenly(len(pairs), most)
    spread, more = (questions_at(snapshot, pairs, places) for places in (even, fill_domains(snapshot, pairs, even)))
    questions = [*spread, *more]
    settings, leg = cascade.settings, cascade.base.legs[0].name
    (run,) = run_systems([make_system(cascade.base)], snapshot, questions)
    measured, few = split_by_domain(questions)
    rows = rank_baselines(snapshot, spread) if baselines else {}
    return {
        "settings": {
            "k0": settings.k0,
            "k1": settings.k1,
            "k": settings.k,
            "lambda_tmd": settings.weight,
            "nprobe": cascade.leg.nprobe,
        },
        "nprobe_used": {str(probed): count for probed, count in run.probed.items()},
        "questions": len(spread),
        "questions_added_for_lanes": len(more),
        **_scores(run.ranks[: len(spread)]),
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
