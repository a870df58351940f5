"""Packers: each makes a context for a prompt, within a token budget, from the first candidates of a ranking.

candidates  cuts candidates into sentences, with their headers and tokens
emission    writes chosen sentences as text with headers and citations, and counts its tokens
scorers     scores sentences against a query: by words, or by a model
hop_paths   follows names from the query's own to sentences about others
slots       what a query asks to be covered: terms, names, facets, and hops to other documents
greedy      takes sentences while they fit
"""

from collections.abc import Mapping

PACKERS: Mapping[str, str] = {
    "adagres": "assay.select.context.adagres:Adagres",
    "coverage": "assay.select.context.coverage:Coverage",
    "naive": "assay.select.context.naive:Naive",
}
