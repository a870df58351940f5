"""Why a recall has no memory, as a sentence: nothing was found in the scopes it looked in, or all was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NAME_ANOTHER = 'for another: scope="NAME"'
"""How Python and HTTP name another scope."""
_SHOWN = 3
"""Scopes that are named."""


def explain_silence(
    found: int, dropped: Mapping[str, int], period: str, scopes: Sequence[str], elsewhere: str = NAME_ANOTHER
) -> str:
    """A sentence. `period` is the time that was asked for; `elsewhere` says how to look in another scope."""
    within = f" {period}" if period else ""
    if found:
        steps = ", ".join(f"{step} {count}" for step, count in dropped.items())
        return f"{found} found{within}, and none is served; dropped by: {steps}."
    hint = f" ({elsewhere})" if elsewhere else ""
    return f"Nothing is known here{within} in {_name_scopes(scopes)}{hint}."


def _name_scopes(scopes: Sequence[str]) -> str:
    shown = ", ".join(scopes[:_SHOWN])
    if len(scopes) > _SHOWN:
        return f"the scopes {shown} and {len(scopes) - _SHOWN} more"
    return f"the scope {shown}" if len(scopes) == 1 else f"the scopes {shown}"
