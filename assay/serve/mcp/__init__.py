"""The memory service as a Model Context Protocol server."""
