"""The commands under `assay memory`."""
