"""Compares rank fusion with score fusion: every fuser on every public set and on a suite from documents.

python -m benchmarks.fusion                     # all sets; receipts under receipts/fusion
python -m benchmarks.fusion --sets scifact --splits dev
"""
