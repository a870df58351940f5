"""A sweep over a pipeline's settings: every cell a run on dev, one winner, confirmed on test or honestly none."""

from assay.bench.grid.cells import Where
from assay.bench.grid.promote import Result, promote
from assay.bench.grid.sweep import Cell, Sweep, base_for, sweep

__all__ = ["Cell", "Result", "Sweep", "Where", "base_for", "promote", "sweep"]
