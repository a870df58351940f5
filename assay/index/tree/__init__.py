"""The tree index: near-duplicate families and size-capped clusters of chunks."""
