"""A team's store: PostgreSQL holds the truth and proposes candidates, pgvector the vectors; Assay scores."""
