"""Copies an immutable view for a change of some of its attributes; what was computed from them is left out."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TypeVar

T = TypeVar("T")


def copy_without_cache(value: T, keep: frozenset[str] = frozenset()) -> T:
    """A shallow copy without the values of cached properties, except for those named."""
    copied = copy.copy(value)
    drop_cache(copied, keep)
    return copied


def drop_cache(value: object, keep: frozenset[str] = frozenset()) -> None:
    """Drop the values of cached properties, except for those named."""
    for kind in type(value).__mro__:
        for name, attribute in vars(kind).items():
            if isinstance(attribute, cached_property) and name not in keep:
                value.__dict__.pop(name, None)
