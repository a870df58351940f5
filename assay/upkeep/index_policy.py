"""When indexes are built: after an add that changed enough, and before a search that would build a large one."""

from __future__ import annotations

from assay.backend.contract import GraphBackend, StoreBackend, TreeBackend
from assay.engine.pipeline import Pipeline
from assay.types import Progress

REBUILD_SHARE = 20
"""An index is built once 1/20 of the store is not in it: from there on, building costs little more than adding did."""


def is_worthwhile(backend: StoreBackend) -> bool:
    """Has enough changed for a new index: by the backend's own rule, or a twentieth of the store?"""
    return backend.due or backend.pending * REBUILD_SHARE >= max(backend.snapshot().size, 1)


def prepare(backend: StoreBackend, pipeline: Pipeline | None, progress: Progress) -> None:
    """Build the large index that the first search would build, and the large graph and tree that its pipeline needs."""
    if backend.wants_index:
        backend.compact(progress)
    needs = frozenset[str]() if pipeline is None else frozenset().union(*(plan.leg.needs for plan in pipeline.legs))
    if "graph" in needs and isinstance(backend, GraphBackend) and backend.graph_due:
        backend.build_graph(progress)
    if "tree" in needs and isinstance(backend, TreeBackend) and backend.tree_due:
        backend.build_tree(None, progress)
