"""A first suite for people who have no labels: queries made from the documents themselves, without a language model."""
