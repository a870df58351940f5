"""Backends: a store with its indexes; `snapshot()` gives a view to search."""
