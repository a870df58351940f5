"""Chooses the leg that a trigger reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from assay.errors import ConfigError, nearest

T = TypeVar("T")


def choose_leg(component: str, leg: str, legs: Mapping[str, T]) -> tuple[str, T]:
    """Return the named leg, or the first one; ConfigError when no such leg runs before this one."""
    if not legs:
        raise ConfigError(
            f"{component} reads what an earlier leg found, and none stands before this one", "move the leg down"
        )
    if leg and leg not in legs:
        raise ConfigError(f"{component}.leg names {leg!r}, which is no leg before this one", nearest(leg, legs))
    name = leg or next(iter(legs))
    return name, legs[name]
