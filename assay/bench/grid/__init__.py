"""Sweeps over a pipeline's settings: every cell is a run on dev; the best one is confirmed on test, or none is."""

from assay.bench.grid.cells import SweepDataset
from assay.bench.grid.promote import SweepResult, promote
from assay.bench.grid.sweep import Sweep, SweepCell, build_sweep, choose_base

__all__ = ["Sweep", "SweepCell", "SweepDataset", "SweepResult", "build_sweep", "choose_base", "promote"]
