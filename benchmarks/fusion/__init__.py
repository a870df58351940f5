"""Reciprocal ranks or scores? Every way of fusing, over every set judged by people and a suite made from documents.

python -m benchmarks.fusion                     # all sets; receipts under receipts/fusion
python -m benchmarks.fusion --sets scifact --splits dev
"""
