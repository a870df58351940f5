"""A sweep over a pipeline's settings: every cell a run on dev, one winner, confirmed on test or honestly none."""

from assay.bench.grid.cells import CellPlace
from assay.bench.grid.promote import SweepResult, promote
from assay.bench.grid.sweep import Sweep, SweepCell, base_for, sweep

__all__ = ["CellPlace", "Sweep", "SweepCell", "SweepResult", "base_for", "promote", "sweep"]
