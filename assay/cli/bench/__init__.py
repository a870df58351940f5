"""The commands under `assay bench`."""
