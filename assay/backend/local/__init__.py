"""The default backend: a folder with a SQLite store and generations of derived indexes."""
