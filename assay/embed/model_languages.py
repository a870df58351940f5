"""Which models read English only, and when that matters to a store."""

ENGLISH_MODELS = ("minilm", "minilm-exact")
FOREIGN_SHARE = 0.2
"""From this share of chunks in other languages on, answers and `assay doctor` say that the model reads English."""
