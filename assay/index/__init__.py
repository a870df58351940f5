"""Indexes of words, vectors, filter columns and the graph, derived from the store and rebuildable at any time."""
