"""Reasons to doubt a result: a model no better than chance or than the identity baseline, a model that may have seen
the answers, codes read in the wrong layout.

Shares are Hit@10. A random rank among N vectors hits with p = 10 / N, and over n questions hardly ever more than

    chance = p + 3 √(p (1 − p) / n)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.cascade.bank.sequences import Sequences
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.questions import DEPTH
from assay.cascade.lvm.model import NextVectorModel


def chance_level(size: int, questions: int) -> float:
    """The Hit@10 that random ranks hardly ever exceed, over so many questions to a bank of this size."""
    share = min(1.0, DEPTH / size)
    return share + 3.0 * math.sqrt(share * (1.0 - share) / questions)


def chance_doubt(alone: float, by_lot: float) -> str:
    """Why being better than the model alone means nothing: the model is at chance level; else ""."""
    if alone > by_lot:
        return ""
    return "the model finds no more than a lot drawn at random: is the bare step searched with, or another bank?"


def find_doubts(
    alone: float, by_lot: float, rows: Mapping[str, float], snapshot: BankSnapshot, sequences: Sequences
) -> list[str]:
    """All doubts, the worst first; `alone` is the model's own Hit@10, `rows` the baselines'."""
    below = "the model finds less than staying put (identity): it adds nothing here"
    ceiling = f"the oracle finds {rows['oracle']:.4f} of the answers: some cannot be told from other vectors"
    texts = [
        chance_doubt(alone, by_lot),
        snapshot.layout_warning,
        provenance_doubt(snapshot.model, sequences),
        below if alone < rows["identity"] else "",
        ceiling if rows["oracle"] < 1.0 else "",
    ]
    return [text for text in texts if text]


def provenance_doubt(model: NextVectorModel | None, sequences: Sequences) -> str:
    """Why a model may have seen the answers; "" if it was trained on the other half of these sequences."""
    learned = None if model is None else model.manifest.get("training", {}).get("sequences")
    if model is None or learned == sequences.digest:
        return ""
    which = f"from other sequences ({learned[:12]})" if learned else "from nobody knows what"
    return f"the model {model.name} learned {which}: it may have seen these answers"
