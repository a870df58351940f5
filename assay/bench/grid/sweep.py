"""Builds the cells of a sweep: one pipeline per combination of values, without duplicates, the base first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.bench.grid.axes import Settings, SweepAxis, apply_settings, combine_axes, format_settings, parse_axes
from assay.bench.systems import System, load_system, make_system
from assay.config.load import from_dict, preset_names
from assay.errors import ConfigError

_PREFERRED_BASES = ("default", "rrf", "weighted")


@dataclass(frozen=True)
class SweepCell:
    """A pipeline of the sweep. `changes` counts the settings in which it differs from the base.

    Its name is the base's name and its own digest, so a pipeline has the same name in every sweep.
    """

    settings: Settings
    system: System
    changes: int


@dataclass(frozen=True)
class Sweep:
    """A base and its cells. The base is the first cell; `repeated` counts combinations that equal another."""

    base: System
    axes: tuple[SweepAxis, ...]
    cells: tuple[SweepCell, ...]
    repeated: int


def build_sweep(base: System, arguments: Sequence[str]) -> Sweep:
    """Vary `base` along axes such as "fuse.c=10..100"."""
    if base.pipeline is None:
        raise ConfigError(f"{base.name!r} is no pipeline, so nothing in it can be varied", "--base rrf")
    if not arguments:
        raise ConfigError("a sweep varies something", "add --vary fuse.c=10..100")
    found = parse_axes(arguments, base.spec)
    cells = {base.digest: SweepCell((), base, 0)}
    combinations = combine_axes(found)
    for settings in combinations:
        one = _build_system(base, settings)
        existing = cells.get(one.digest)
        if existing is None:
            cells[one.digest] = SweepCell(settings, one, _count_changes(base, settings))
        elif one.digest == base.digest and not existing.settings:
            cells[base.digest] = SweepCell(settings, base, 0)  # a combination equals the base
    met = 1 if cells[base.digest].settings else 0
    return Sweep(base, found, tuple(cells.values()), len(combinations) - (len(cells) - 1 + met))


def choose_base(arguments: Sequence[str]) -> System:
    """The first preset that has every setting to vary: default, rrf, weighted, then the others by name."""
    failed: ConfigError | None = None
    for name in (*_PREFERRED_BASES, *(name for name in preset_names() if name not in _PREFERRED_BASES)):
        try:
            found = load_system(name)
            parse_axes(arguments, found.spec)
        except ConfigError as error:
            failed = failed or error
        else:
            return found
    assert failed is not None  # there are presets
    raise failed


def _build_system(base: System, settings: Settings) -> System:
    try:
        pipeline = from_dict(apply_settings(base.spec, settings), base.name)
    except ConfigError as error:
        raise ConfigError(
            f"the cell {format_settings(settings)} is no pipeline: {error.message}", error.cure
        ) from error
    return make_system(pipeline, f"{base.name}-{pipeline.digest[:8]}")


def _count_changes(base: System, settings: Settings) -> int:
    """Count the settings that change the base's digest on their own."""
    return sum(from_dict(apply_settings(base.spec, (one,)), base.name).digest != base.digest for one in settings)
