"""Forgetting the past: rows that died before a version are erased, and snapshots older than it are gone for good."""

from __future__ import annotations

from assay.backend.kept import Progress
from assay.kb import KnowledgeBase


def forget_before(kb: KnowledgeBase, name: str, progress: Progress = lambda *_: None) -> int:
    """Erase what was already dead at a version or tag; how many chunks. The file shrinks, so nothing lingers in it."""
    return kb.backend.forget(kb.store.resolve(name), progress)
