"""The cells of a sweep: one pipeline for every combination of values, each once, the base first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.bench.grid.vary import Settings, SweepAxis, axes, cells, changed, text
from assay.bench.systems import System, of, system
from assay.config.load import from_dict, presets
from assay.errors import ConfigError

_FIRST = ("default", "rrf", "weighted")


@dataclass(frozen=True)
class SweepCell:
    """A pipeline of the sweep. `changes` counts the settings in which it differs from the base.

    It is called after the base and its digest, so the same pipeline has the same name in every sweep.
    """

    settings: Settings
    system: System
    changes: int


@dataclass(frozen=True)
class Sweep:
    """The base is the first cell, whether or not the axes meet it. `repeated` combinations gave a pipeline again."""

    base: System
    axes: tuple[SweepAxis, ...]
    cells: tuple[SweepCell, ...]
    repeated: int


def sweep(base: System, said: Sequence[str]) -> Sweep:
    """Vary `base` along axes such as "fuse.c=10..100"."""
    if base.pipeline is None:
        raise ConfigError(f"{base.name!r} is no pipeline, so nothing in it can be varied", "--base rrf")
    if not said:
        raise ConfigError("a sweep varies something", "add --vary fuse.c=10..100")
    found = axes(said, base.spec)
    made = {base.digest: SweepCell((), base, 0)}
    combinations = cells(found)
    for settings in combinations:
        one = _system(base, settings)
        known = made.get(one.digest)
        if known is None:
            made[one.digest] = SweepCell(settings, one, _changes(base, settings))
        elif one.digest == base.digest and not known.settings:
            made[base.digest] = SweepCell(settings, base, 0)  # the axes meet the base: it has its place among them
    met = 1 if made[base.digest].settings else 0
    return Sweep(base, found, tuple(made.values()), len(combinations) - (len(made) - 1 + met))


def base_for(said: Sequence[str]) -> System:
    """The first preset that has every setting to vary: default, rrf, weighted, then the others by name."""
    failed: ConfigError | None = None
    for name in (*_FIRST, *(name for name in presets() if name not in _FIRST)):
        try:
            found = system(name)
            axes(said, found.spec)
        except ConfigError as error:
            failed = failed or error
        else:
            return found
    assert failed is not None  # there are presets
    raise failed


def _system(base: System, settings: Settings) -> System:
    try:
        pipeline = from_dict(changed(base.spec, settings), base.name)
    except ConfigError as error:
        raise ConfigError(f"the cell {text(settings)} is no pipeline: {error.message}", error.cure) from error
    return of(pipeline, f"{base.name}-{pipeline.digest[:8]}")


def _changes(base: System, settings: Settings) -> int:
    """Settings that, changed alone, make another pipeline of the base."""
    return sum(from_dict(changed(base.spec, (one,)), base.name).digest != base.digest for one in settings)
