"""How do we find it fast? Words, vectors and filter columns, derived from the store and rebuildable at any time."""
