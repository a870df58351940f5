"""Which leg a trigger reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from assay.errors import ConfigError, nearest

T = TypeVar("T")


def chosen(who: str, leg: str, legs: Mapping[str, T]) -> tuple[str, T]:
    """The named leg, or the first; ConfigError when there is none before this one."""
    if not legs:
        raise ConfigError(
            f"{who} reads what an earlier leg found, and none stands before this one", "move the leg down"
        )
    if leg and leg not in legs:
        raise ConfigError(f"{who}.leg names {leg!r}, which is no leg before this one", nearest(leg, legs))
    name = leg or next(iter(legs))
    return name, legs[name]
