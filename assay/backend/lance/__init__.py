"""The Lance backend: store and indexes in LanceDB tables."""
