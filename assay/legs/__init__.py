"""Legs: each finds candidates in one way. Only legs add ids to an answer."""

from collections.abc import Mapping

LEGS: Mapping[str, str] = {
    "beam": "assay.legs.beam:Beam",
    "bm25": "assay.legs.bm25:Bm25",
    "bridge": "assay.legs.bridge:Bridge",
    "collapsed": "assay.legs.collapsed:Collapsed",
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
    "qdrant_collection": "assay.sources.qdrant_collection:QdrantCollection",
    "store": "assay.sources.store:AnotherStore",
}
"""Legs that ask an external retriever. Only their names are listed here: one of them opens a knowledge base, so the
classes live above it in the import order."""
