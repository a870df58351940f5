"""The parts of the legs that search the tree: scores of rows and nodes, the walk, bridge hops."""
