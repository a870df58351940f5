"""The one-file backend: SQLite with FTS5, words only."""
