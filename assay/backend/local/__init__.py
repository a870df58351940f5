"""The default backend: a folder with a SQLite record of truth and generations of derived indexes."""
