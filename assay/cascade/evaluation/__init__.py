"""Evaluates the vector cascade on held-out next vectors: a grid of settings, baselines and gates.

`questions` makes queries with known answers, `baselines` ranks them without the cascade, `runs` runs and times systems,
`leakage` measures what the halves share, `grid` sweeps and judges, `report` writes Markdown.
"""
