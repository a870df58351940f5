"""Chunk stores: the contract that every backend implements, and SQLite. Indexes are derived from a store."""
