"""Store and indexes as one thing: who wants to search asks a backend for a snapshot."""
