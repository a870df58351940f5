"""Checks the laws that hold for every ranking at every step; `Pipeline.run` calls them on each answer.

Numbers as in ARCHITECTURE.md. A broken law is a bug in a component, so it raises instead of degrading.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from assay.engine.context import PackCandidate, PackedContext
from assay.engine.order import TIE_BREAK, is_arranged
from assay.errors import LawBroken
from assay.protocols import Snapshot
from assay.types import Ranking, fold


def check_ranking(ranking: Ranking, where: str) -> None:
    """Laws 2, 3 and 4: the one order, unique ids, finite scores, score = left fold of parts."""
    size = len(ranking)
    lengths = {len(ranking.score), len(ranking.tier), len(ranking.priority), len(ranking.source_rank)}
    lengths.update([len(part.column) for part in ranking.parts])
    lengths.add(size if ranking.rows is None else len(ranking.rows))
    if lengths != {size}:
        raise LawBroken(f"{where}: columns of different lengths")
    if size == 0:
        return
    if not np.isfinite(ranking.score).all():
        raise LawBroken(f"{where}: a score is not finite (law 3)")
    if len(_rows(ranking) or set(ranking.ids.tolist())) != size:
        raise LawBroken(f"{where}: an id stands twice (law 3)")
    if not is_arranged(ranking):
        raise LawBroken(f"{where}: not in the one order {TIE_BREAK} (law 2)")
    if not (fold(ranking.parts, size) == ranking.score).all():
        raise LawBroken(f"{where}: the score is not the left fold of its parts (law 4)")


def check_rows(ranking: Ranking, snapshot: Snapshot, where: str) -> None:
    """Where a ranking names rows of a snapshot, its ids are those rows' ids.

    The other laws compare rows instead of ids where they can. Our own components take ids from rows; a plug-in may give
    both, so its rows are checked first.
    """
    if _rows(ranking):
        try:
            same = np.array_equal(snapshot.ids(np.asarray(ranking.rows)), ranking.ids)
        except (IndexError, KeyError):
            same = False
        if not same:
            raise LawBroken(f"{where}: an id and its row are of two different chunks")


def check_united(before: Collection[Ranking], after: Ranking, where: str) -> None:
    """Law 1 for fusers: every id was found by a leg."""
    found, fused = [_rows(ranking) for ranking in before], _rows(after)
    if fused is None or None in found:
        names = {name for ranking in before for name in ranking.ids.tolist()}
        added = not names.issuperset(after.ids.tolist())
    else:
        added = bool(fused.difference(*[rows or () for rows in found]))
    if added:
        raise LawBroken(f"{where}: added an id that no leg found (law 1)")


def check_subset(before: Ranking, after: Ranking, where: str) -> None:
    """Law 1: only legs add ids."""
    if not set(after.ids.tolist()) <= set(before.ids.tolist()):
        raise LawBroken(f"{where}: added an id that no leg found (law 1)")


def check_same_ids(before: Ranking, after: Ranking, where: str) -> None:
    """A stage neither adds nor drops; dropping is a selector's work."""
    if len(before) != len(after):
        raise LawBroken(f"{where}: a stage must keep every id; dropping is a selector's work")
    if before.rows is not None and after.rows is not None and (before.rows >= 0).all():
        if not np.array_equal(np.sort(before.rows), np.sort(after.rows)):  # rows stand for ids, and sort faster
            raise LawBroken(f"{where}: added an id that no leg found (law 1)")
        return
    check_subset(before, after, where)


def check_tier_kept(before: Ranking, after: Ranking, where: str) -> None:
    """Law 2: only append_fill and selectors write tier."""
    if not before.tier.any() and not after.tier.any():
        return
    was = dict(zip(before.ids.tolist(), before.tier.tolist(), strict=True))
    if any(was[name] != tier for name, tier in zip(after.ids.tolist(), after.tier.tolist(), strict=True)):
        raise LawBroken(f"{where}: a stage must not write tier (law 2)")


def _rows(ranking: Ranking) -> set[int] | None:
    """The rows of a ranking, which tell its candidates apart faster than ids; None where one is not known."""
    rows: set[int] = set() if ranking.rows is None else set(ranking.rows.tolist())
    return None if ranking.rows is None or -1 in rows else rows


def check_context(context: PackedContext, candidates: Sequence[PackCandidate]) -> None:
    """Law 11: a context is within its budget, cites candidates only, and quotes them."""
    if context.tokens > context.budget:
        raise LawBroken(f"context: {context.tokens} tokens are above the budget of {context.budget} (law 11)")
    texts = {candidate.citation: candidate.chunk.text for candidate in candidates}
    for sentence in context.sentences:
        if texts.get(sentence.citation, "")[sentence.start : sentence.end] != sentence.text:
            raise LawBroken(f"context: [{sentence.citation}] does not say what it is quoted with (law 11)")
