"""A Qdrant collection as the index of a PostgreSQL store: Qdrant proposes, Assay scores."""
