"""RB-006: the benchmark of hierarchical retrieval, token budgets and abstention."""
