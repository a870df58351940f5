"""Which chunks might answer? Legs find candidates; they are the only components that add ids."""

from collections.abc import Mapping

LEGS: Mapping[str, str] = {
    "bm25": "assay.legs.bm25:Bm25",
    "dense": "assay.legs.dense:Dense",
    "exact": "assay.legs.exact:Exact",
    "graph": "assay.legs.graph:Graph",
}
