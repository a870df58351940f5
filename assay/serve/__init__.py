"""Servers for other programs: the memory service over the Model Context Protocol, the vector cascade over HTTP."""
