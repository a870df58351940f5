"""Bit layouts of TMD codes: where domain, task and modifier lie in sixteen bits. Two are in use, so it is a setting.

spec      dddd ttttt mmmmmm s     domain 15..12, task 11..7, modifier 6..1, bit 0 spare; lane = bits >> 1
wide      ddddd ttttt mmmmmm      domain << 11 | task << 6 | modifier; lane = domain
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.errors import ConfigError, nearest

Bits = NDArray[np.uint16]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BitField:
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
    """The three fields of a code, and the field that is the lane. Law: `unpack(pack(d, t, m)) == (d, t, m)`."""

    name: str
    domain: BitField
    task: BitField
    modifier: BitField
    lane: BitField

    def pack(self, domain: ArrayLike, task: ArrayLike, modifier: ArrayLike) -> Bits:
        """Pack numbers into codes; ConfigError for a number that does not fit its field."""
        total = np.zeros(np.broadcast_shapes(*(np.shape(x) for x in (domain, task, modifier))), np.int64)
        for name, values in (("domain", domain), ("task", task), ("modifier", modifier)):
            place: BitField = getattr(self, name)
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
        "spec": Layout("spec", BitField(12, 4), BitField(7, 5), BitField(1, 6), BitField(1, 15)),
        "wide": Layout("wide", BitField(11, 5), BitField(6, 5), BitField(0, 6), BitField(11, 5)),
    }
)


def find_layout(name: str) -> Layout:
    if name not in LAYOUTS:
        raise ConfigError(f"there is no layout {name!r} of TMD bits", nearest(name, LAYOUTS))
    return LAYOUTS[name]


def matching_layouts(bits: ArrayLike, lanes: ArrayLike) -> list[str]:
    """Names of the layouts under which the codes have these lanes; empty if lanes are numbered otherwise."""
    return [name for name, place in LAYOUTS.items() if np.array_equal(place.lanes(bits), lanes)]
