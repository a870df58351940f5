"""Kinds of damage to a file."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

_ZEROED = 512


def damage_file(path: Path, drawn: random.Random, others: Sequence[Path]) -> str:
    """Damage a file in one of several ways; what was done. A change that would change nothing is drawn again."""
    content = path.read_bytes()
    while True:
        kind = drawn.choices(("bit", "zeros", "noise", "cut", "swap", "empty"), (6, 3, 2, 2, 1, 0.3))[0]
        damaged, what = _damage(content, kind, drawn, others)
        if damaged != content:
            path.write_bytes(damaged)
            return what


def _damage(content: bytes, kind: str, drawn: random.Random, others: Sequence[Path]) -> tuple[bytes, str]:
    size = len(content)
    if kind == "bit":
        place, bit = drawn.randrange(size), drawn.randrange(8)
        return content[:place] + bytes([content[place] ^ (1 << bit)]) + content[place + 1 :], f"bit {bit} of {place}"
    if kind in ("zeros", "noise"):
        start = drawn.randrange(size)
        end = min(size, start + drawn.randint(1, _ZEROED))
        filler = bytes(end - start) if kind == "zeros" else drawn.randbytes(end - start)
        return content[:start] + filler + content[end:], f"{kind} from {start} to {end}"
    if kind == "cut":
        kept = drawn.randrange(size)
        return content[:kept], f"cut to {kept} of {size}"
    if kind == "swap":
        donor = drawn.choice(list(others))
        other = donor.read_bytes() if donor.is_file() else b""
        return (other + content)[:size] if other else content, f"bytes of {donor.name}"
    return b"", "emptied"
