"""The laws that hold for every ranking at every step; `Pipeline.run` checks them on each answer.

Numbers as in ARCHITECTURE.md. A broken law is a bug in a component, so it raises instead of degrading: an
answer that breaks its own laws must not be shown.
"""

from __future__ import annotations

import numpy as np

from assay.errors import LawBroken
from assay.order import TIE_BREAK, is_arranged
from assay.types import Ranking, fold


def check_ranking(ranking: Ranking, where: str) -> None:
    """Laws 2, 3 and 4: the one order, unique ids, finite scores, score = left fold of parts."""
    size = len(ranking)
    lengths = {len(ranking.score), len(ranking.tier), len(ranking.priority), len(ranking.source_rank)}
    lengths.update(len(part.column) for part in ranking.parts)
    lengths.add(size if ranking.rows is None else len(ranking.rows))
    if lengths != {size}:
        raise LawBroken(f"{where}: columns of different lengths")
    if size == 0:
        return
    if not np.isfinite(ranking.score).all():
        raise LawBroken(f"{where}: a score is not finite (law 3)")
    keys = np.sort(ranking.ids if ranking.rows is None else ranking.rows)
    if (keys[1:] == keys[:-1]).any():
        raise LawBroken(f"{where}: an id stands twice (law 3)")
    if not is_arranged(ranking):
        raise LawBroken(f"{where}: not in the one order {TIE_BREAK} (law 2)")
    if not np.array_equal(fold(ranking.parts, size), ranking.score):
        raise LawBroken(f"{where}: the score is not the left fold of its parts (law 4)")


def check_subset(before: Ranking, after: Ranking, where: str) -> None:
    """Law 1: only legs add ids."""
    if not set(after.ids.tolist()) <= set(before.ids.tolist()):
        raise LawBroken(f"{where}: added an id that no leg found (law 1)")


def check_same_ids(before: Ranking, after: Ranking, where: str) -> None:
    """A stage neither adds nor drops; dropping is a selector's work."""
    if len(before) != len(after):
        raise LawBroken(f"{where}: a stage must keep every id; dropping is a selector's work")
    check_subset(before, after, where)


def check_tier_kept(before: Ranking, after: Ranking, where: str) -> None:
    """Law 2: only append_fill, defer, mmr and selectors write tier."""
    was = dict(zip(before.ids.tolist(), before.tier.tolist(), strict=True))
    if any(was[name] != tier for name, tier in zip(after.ids.tolist(), after.tier.tolist(), strict=True)):
        raise LawBroken(f"{where}: a stage must not write tier (law 2)")
