"""Where domain, task and modifier lie in sixteen bits. Two layouts exist in the wild, so it is a config value.

spec      dddd ttttt mmmmmm s     domain 15..12, task 11..7, modifier 6..1, bit 0 spare; lane = bits >> 1
wide      ddddd ttttt mmmmmm      domain << 11 | task << 6 | modifier; lane = domain
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import ConfigError, nearest

Bits = NDArray[np.uint16]
Numbers = NDArray[np.int64]
Name = Literal["domain", "task", "modifier"]


@dataclass(frozen=True, slots=True)
class Field:
    """`width` bits from bit `shift` upwards."""

    shift: int
    width: int

    @property
    def count(self) -> int:
        return 1 << self.width

    def of(self, bits: ArrayLike) -> Numbers:
        return (np.asarray(bits).astype(np.int64) >> self.shift) & (self.count - 1)


@dataclass(frozen=True, slots=True)
class Layout:
    """Three fields of a code, and the field that a lane is. Law: `unpack(pack(d, t, m)) == (d, t, m)`."""

    name: str
    domain: Field
    task: Field
    modifier: Field
    lane: Field

    def pack(self, domain: ArrayLike, task: ArrayLike, modifier: ArrayLike) -> Bits:
        """Codes of three numbers each; a number that does not fit its field is refused, not cut."""
        total = np.zeros(np.broadcast_shapes(*(np.shape(x) for x in (domain, task, modifier))), np.int64)
        for name, values in (("domain", domain), ("task", task), ("modifier", modifier)):
            place: Field = getattr(self, name)
            numbers = np.asarray(values).astype(np.int64)
            if ((numbers < 0) | (numbers >= place.count)).any():
                raise ConfigError(
                    f"a {name} of {int(numbers.min())} to {int(numbers.max())} does not fit {place.width} bits",
                    f"layout {self.name!r} holds {name}s from 0 to {place.count - 1}",
                )
            total = total | (numbers << place.shift)
        return total.astype(np.uint16)

    def unpack(self, bits: ArrayLike) -> tuple[Numbers, Numbers, Numbers]:
        """(domain, task, modifier)."""
        return self.domain.of(bits), self.task.of(bits), self.modifier.of(bits)

    def lanes(self, bits: ArrayLike) -> NDArray[np.int16]:
        return self.lane.of(bits).astype(np.int16)


LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        "spec": Layout("spec", Field(12, 4), Field(7, 5), Field(1, 6), Field(1, 15)),
        "wide": Layout("wide", Field(11, 5), Field(6, 5), Field(0, 6), Field(11, 5)),
    }
)


def layout(name: str) -> Layout:
    if name not in LAYOUTS:
        raise ConfigError(f"there is no layout {name!r} of TMD bits", nearest(name, LAYOUTS))
    return LAYOUTS[name]


def following(bits: ArrayLike, lanes: ArrayLike) -> list[str]:
    """The layouts under which these lanes are those of these codes; none where somebody numbered lanes otherwise."""
    return [name for name, place in LAYOUTS.items() if np.array_equal(place.lanes(bits), lanes)]
