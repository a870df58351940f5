"""Whom do we believe? Many rankings become one; no id is added that no leg found.

`relative_score` is `convex` under the name under which others ship it: min-max per leg, weighted, and a list
of equal scores counts as 1, which is the same formula.
"""

from collections.abc import Mapping

FUSERS: Mapping[str, str] = {
    "append_fill": "assay.fuse.append_fill:AppendFill",
    "confirm_boost": "assay.fuse.confirm_boost:ConfirmBoost",
    "convex": "assay.fuse.convex:Convex",
    "dbsf": "assay.fuse.dbsf:Dbsf",
    "relative_score": "assay.fuse.convex:Convex",
    "rrf": "assay.fuse.rrf:Rrf",
    "weighted_merge": "assay.fuse.weighted_merge:WeightedMerge",
}
