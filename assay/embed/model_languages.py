"""The models that read English only, and the share of other languages from which that matters."""

ENGLISH_MODELS = ("gte-small", "minilm", "minilm-exact")
FOREIGN_SHARE = 0.2
"""From this share of chunks in other languages, answers and `assay doctor` report that the model reads English."""
