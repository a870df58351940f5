"""Benchmarks: each compares in one run, reports ratios, and writes a receipt under receipts/."""
