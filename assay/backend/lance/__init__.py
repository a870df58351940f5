"""The Lance backend: record and indexes in LanceDB tables."""
