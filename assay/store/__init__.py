"""What is true? One SQLite file holds every chunk, vector and version; everything else is derived from it."""
