"""Pipelines that ship with us, one TOML file each."""
