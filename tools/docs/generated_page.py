"""Writes a generated page, or reports that it is out of date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path


def update(arguments: Sequence[str], generate: Callable[[str], str]) -> int:
    """`PAGE [--check]`: `generate` gets the page as it is ("" if there is none) and returns it as it should be."""
    path = Path(next(argument for argument in arguments if not argument.startswith("-")))
    old = path.read_text("utf-8") if path.is_file() else ""
    new = generate(old)
    if new == old:
        return 0
    if "--check" in arguments:
        print(f"{path} is out of date; cure: make docs")
        return 1
    path.write_text(new, "utf-8")
    print(f"wrote {path}")
    return 0
