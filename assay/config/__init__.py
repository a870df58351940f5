"""Pipelines as TOML: load and write them, look components up by name, check what can be checked before a run."""
