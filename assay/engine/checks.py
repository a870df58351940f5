"""Checks of config values that every component shares; each names the field, the value and the legal values."""

from __future__ import annotations

import math
from collections.abc import Iterable

from assay.errors import ConfigError, nearest
from assay.types import Range


def check_number(field: str, value: float, lo: float, hi: float = math.inf) -> None:
    """`field` (e.g. "rrf.c") must be a finite number in [lo, hi]."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    if not known or not math.isfinite(value) or not lo <= value <= hi:
        legal = f"a number from {lo:g} to {hi:g}" if math.isfinite(hi) else f"a finite number from {lo:g} upwards"
        raise ConfigError(f"{field} = {value!r} is out of range", f"give {legal}")


def check_whole(field: str, value: int, lo: int) -> None:
    """`field` must be a whole number, at least lo."""
    if type(value) is not int or value < lo:
        raise ConfigError(f"{field} = {value!r} is out of range", f"give a whole number from {lo} upwards")


def check_choice(field: str, value: str, options: Iterable[str]) -> None:
    """`field` must be one of a few words."""
    names = tuple(options)
    if value not in names:
        raise ConfigError(f"{field} = {value!r} is not one of its values", nearest(str(value), names))


def require_unit(who: str, given: Range) -> None:
    """Refuse scores that are not in [0, 1]: a weight or threshold means nothing on a scale nobody knows (law 8)."""
    if given.scale != "unit":
        raise ConfigError(
            f"{who} needs unit scores, but is given {given.scale} scores from {given.lo:g} to {given.hi:g}",
            "put a fuser that gives unit scores before it (rrf, convex, dbsf), or let its leg give unit scores",
        )


def require_positive(who: str, given: Range) -> None:
    """Refuse scores that may be negative: a factor below 1 would raise them (law 8)."""
    if not given.lo >= 0.0:
        raise ConfigError(
            f"{who} multiplies, but is given scores that may be negative (from {given.lo:g} to {given.hi:g})",
            "put a fuser that gives unit scores before it (rrf, convex, dbsf)",
        )
