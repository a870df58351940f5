"""Benchmarks. Each compares its contenders in one run, reports ratios, and writes a receipt under receipts/."""
