"""One file per top-level command."""
