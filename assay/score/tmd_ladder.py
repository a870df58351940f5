"""Agreement of two TMD codes: a few levels, from the same lane down to nothing in common (vector cascade).

                                    spec     monotone
    same lane                       1.0      1.0
    same domain                     0.8      0.8
    another domain, same task       0.2      0.4
    nothing in common               0.4      0.2

`spec` is the specification's own order, whose last two values are the wrong way round; with `monotone` more agreement
never scores lower. A hierarchy of domains replaces all levels below the lane:

    same super-domain (the domain itself included) 0.9      a sister of it 0.7      distant 0.3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from assay.engine.checks import check_choice
from assay.errors import ConfigError, nearest
from assay.score.tmd_layout import Layout
from assay.types import Floats

SAME_LANE, SAME_DOMAIN = 1.0, 0.8
SAME_FAMILY, SISTER, DISTANT = 0.9, 0.7, 0.3
LADDERS: Mapping[str, tuple[float, float]] = MappingProxyType({"spec": (0.2, 0.4), "monotone": (0.4, 0.2)})
"""(same task, nothing in common), where the domains differ."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """`families` names super-domains and their domain numbers, `sisters` pairs of super-domains that are near."""

    name: str
    layout: Layout
    families: Mapping[str, Sequence[int]] = field(default_factory=dict)
    sisters: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        check_choice("ladder", self.name, LADDERS)
        seen: dict[int, str] = {}
        for family, domains in self.families.items():
            for domain in domains:
                if domain in seen or not 0 <= domain < self.layout.domain.count:
                    raise ConfigError(
                        f"families.{family} names domain {domain}, which does not exist or has a family already",
                        f"each domain from 0 to {self.layout.domain.count - 1} stands in one family",
                    )
                seen[domain] = family
        for pair in self.sisters:
            if len(pair) != 2:
                raise ConfigError(f"sisters holds {list(pair)!r}", 'write pairs: sisters = [["life", "earth"]]')
            for family in pair:
                if family not in self.families:
                    raise ConfigError(f"sisters names {family!r}, which is no family", nearest(family, self.families))

    @property
    def lowest(self) -> float:
        return DISTANT if self.families else min(LADDERS[self.name])

    def align(self, bits: int, lane: int, candidates: ArrayLike, lanes: ArrayLike) -> Floats:
        """Agreement of one code and lane with many, in [lowest, 1]. The lane is not checked against the bits."""
        codes = np.asarray(candidates)
        same_lane = np.asarray(lanes) == lane
        domain, task, _ = self.layout.unpack(bits)
        domains, tasks, _ = self.layout.unpack(codes)
        if self.families:
            below = self._domain_matrix()[int(domain)][domains]
        else:
            one_task, nothing = LADDERS[self.name]
            below = np.where(domains == domain, SAME_DOMAIN, np.where(tasks == task, one_task, nothing))
        return np.where(same_lane, SAME_LANE, below)

    def _domain_matrix(self) -> Floats:
        families = tuple((name, tuple(domains)) for name, domains in self.families.items())
        return _build_matrix(self.layout.domain.count, families, tuple(tuple(pair) for pair in self.sisters))


@cache
def _build_matrix(
    count: int, families: tuple[tuple[str, tuple[int, ...]], ...], sisters: tuple[tuple[str, ...], ...]
) -> Floats:
    """Agreement of every domain with every other; a domain without a family forms its own."""
    family = [str(number) for number in range(count)]
    for name, domains in families:
        for domain in domains:
            family[domain] = f"family {name}"
    near = {frozenset(f"family {name}" for name in pair) for pair in sisters}
    matrix = np.full((count, count), DISTANT)
    for one in range(count):
        for other in range(count):
            if family[one] == family[other]:
                matrix[one, other] = SAME_FAMILY
            elif frozenset((family[one], family[other])) in near:
                matrix[one, other] = SISTER
    return matrix
