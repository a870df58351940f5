"""Measures what packers put into a token budget: evidence, precision, answers and time."""
