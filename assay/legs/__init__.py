"""Which chunks might answer? Legs find candidates; they are the only components that add ids."""

from collections.abc import Mapping

LEGS: Mapping[str, str] = {
    "bm25": "assay.legs.bm25:Bm25",
    "dense": "assay.legs.dense:Dense",
    "exact": "assay.legs.exact:Exact",
    "graph": "assay.legs.graph:Graph",
    "ivf": "assay.legs.ivf:Ivf",
}

SOURCES: Mapping[str, str] = {
    "recorded": "assay.sources.recorded:Recorded",
    "qmd": "assay.sources.qmd:Qmd",
    "qmd_http": "assay.sources.qmd_http:QmdHttp",
    "lance_table": "assay.sources.lance_table:LanceTable",
    "store": "assay.sources.store:AnotherStore",
}
"""Legs that look elsewhere. They stand above the knowledge base, which one of them opens; here are only their names."""
