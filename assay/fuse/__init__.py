"""Fusers: each merges the legs' rankings into one. A fuser adds no id that no leg found.

`convex` with its default norm is what other systems call relative score fusion: min-max per leg, weighted. The old
name `relative_score` still works, with a warning (config/registry.py).
"""

from collections.abc import Mapping

FUSERS: Mapping[str, str] = {
    "append_fill": "assay.fuse.append_fill:AppendFill",
    "best_score": "assay.fuse.best_score:BestScore",
    "confirm_boost": "assay.fuse.confirm_boost:ConfirmBoost",
    "convex": "assay.fuse.convex:Convex",
    "dbsf": "assay.fuse.dbsf:Dbsf",
    "race": "assay.fuse.race:Race",
    "fixed_spread": "assay.fuse.fixed_spread:FixedSpread",
    "rrf": "assay.fuse.rrf:Rrf",
    "weighted_merge": "assay.fuse.weighted_merge:WeightedMerge",
}
