"""What makes a result doubtful: a model that finds nothing, or less than staying put, or that may know the answers;
codes read in another layout than they were written in.

Shares are Hit@10. By lot among N vectors it is p = 10 / N, and over n questions hardly ever above

    chance = p + 3 √(p (1 − p) / n)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.cascade.bank.sequences import Sequences
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.questions import DEPTH
from assay.cascade.lvm.model import NextVector


def chance(size: int, questions: int) -> float:
    """What drawing by lot hardly ever exceeds, over so many questions to a bank of this size."""
    share = min(1.0, DEPTH / size)
    return share + 3.0 * math.sqrt(share * (1.0 - share) / questions)


def nonsense(alone: float, by_lot: float) -> str:
    """Why better than the model alone means nothing: it finds nothing, as where the bare step was searched with."""
    if alone > by_lot:
        return ""
    return "the model finds no more than a lot drawn at random: is the bare step searched with, or another bank?"


def doubts(
    alone: float, by_lot: float, rows: Mapping[str, float], snapshot: BankSnapshot, sequences: Sequences
) -> list[str]:
    """All that there are, the worst first; `alone` is what the model finds alone, `rows` what the baselines find."""
    below = "the model finds less than staying put (identity): it adds nothing here"
    ceiling = f"the oracle finds {rows['oracle']:.4f} of the answers: some cannot be told from other vectors"
    said = [
        nonsense(alone, by_lot),
        snapshot.misread,
        provenance(snapshot.model, sequences),
        below if alone < rows["identity"] else "",
        ceiling if rows["oracle"] < 1.0 else "",
    ]
    return [text for text in said if text]


def provenance(model: NextVector | None, sequences: Sequences) -> str:
    """Why a model may know what it is asked; "" when it learned from the other half of these very sequences."""
    learned = None if model is None else model.manifest.get("training", {}).get("sequences")
    if model is None or learned == sequences.digest:
        return ""
    which = f"from other sequences ({learned[:12]})" if learned else "from nobody knows what"
    return f"the model {model.name} learned {which}: it may have seen these answers"
