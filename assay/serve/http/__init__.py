"""HTTP routes: the vector cascade's search and metrics."""
