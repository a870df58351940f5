"""The HTTP server: its app, its routes, and the vector cascade's own routes."""
