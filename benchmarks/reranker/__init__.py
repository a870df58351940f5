"""Trains and judges rerankers of our own; `python -m benchmarks.train_reranker` runs the steps."""
