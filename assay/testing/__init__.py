"""For authors of components: an in-memory snapshot, contract suites, and strategies (these two need hypothesis)."""
