"""The held-out evaluation with the current settings, as the endpoint returns it."""

from __future__ import annotations

from typing import Any

from assay.bench.metrics import mean
from assay.bench.systems import of
from assay.cascade.bank.sequences import Sequences
from assay.cascade.evaluation.baselines import baseline_ranks
from assay.cascade.evaluation.doubts import provenance
from assay.cascade.evaluation.questions import lanes, questions
from assay.cascade.evaluation.runs import Ranks, answered, columns, latency
from assay.cascade.service import Cascade

NAMES = {"Success@1": "hit@1", "Success@5": "hit@5", "Success@10": "hit@10", "RR@10": "mrr@10"}


def offline(cascade: Cascade, sequences: Sequences, most: int, baselines: bool = True) -> dict[str, Any]:
    """Hit@1/5/10 and MRR@10 over all and by domain, milliseconds by stage, and the rows that expose nonsense."""
    asked = questions(cascade.snapshot, sequences.val, most)
    settings, leg = cascade.settings, cascade.base.legs[0].name
    (run,) = answered([of(cascade.base)], cascade.snapshot, asked)
    measured, few = lanes(asked)
    rows = baseline_ranks(cascade.snapshot, asked) if baselines else {}
    return {
        "settings": {
            "k0": settings.k0,
            "k1": settings.k1,
            "k": settings.k,
            "lambda_tmd": settings.weight,
            "nprobe": cascade.leg.nprobe,
        },
        "questions": len(asked),
        **_scores(run.ranks),
        "latency_ms": {"faiss" if step == leg else step: spent for step, spent in latency(run).items()},
        "lanes": {name: {"questions": len(places), **_scores(run.ranks[places])} for name, places in measured.items()},
        "not_measured": few,
        "baselines": {name: _scores(ranks) for name, ranks in rows.items()},
        "degraded": run.why,
        "doubts": [text for text in (cascade.snapshot.misread, provenance(cascade.snapshot.model, sequences)) if text],
    }


def _scores(ranks: Ranks) -> dict[str, float | None]:
    found = columns(ranks)
    return {name: mean(found[metric]) for metric, name in NAMES.items()}
