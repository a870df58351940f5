"""Measures systems query by query: contexts, evidence, routing.

suite_bench     asks a system and measures its contexts
routing_events  what a walk did, compact enough to keep for every query
detector        whether a query can be answered, the same for every system
tree_variants   an index with other settings of the tree
"""
