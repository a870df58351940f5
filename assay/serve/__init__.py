"""Servers for other programs: over the Model Context Protocol and over HTTP."""
