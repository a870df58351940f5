"""Does the cascade earn its stages? Held-out next vectors, a grid of settings, rows that expose nonsense, a gate (001).

`questions` asks what followed what, `baselines` are the rows every report has, `runs` let systems take turns, `leakage`
says what the halves share, `grid` sweeps and judges, `report` writes it down.
"""
