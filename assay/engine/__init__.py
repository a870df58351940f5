"""Runs a pipeline: legs find, a fuser merges, stages rescore, selectors choose; every step is checked and traced."""
