"""The systems that RB-006 compares.

catalogue   every system by name: baselines, arms of the race, ablations, and what is listed but not run
leg_cache   one search of a leg serves every system that makes it
packing_cache   one context serves every system whose pool is the same
lattice     a language model walks down the tree
raptor      a RAPTOR-style collapsed tree: cosine over all nodes, appended until the budget
"""

from __future__ import annotations

from assay.bench.rb006.systems.catalogue import (
    ABLATIONS,
    DEFAULT_RERANK,
    MAIN,
    BenchmarkSystem,
    find_systems,
    list_not_run,
)

__all__ = ["ABLATIONS", "DEFAULT_RERANK", "MAIN", "BenchmarkSystem", "find_systems", "list_not_run"]
