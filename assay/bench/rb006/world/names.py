"""Names and codes of every entity: pure functions of the seed and the entity's place, unique in the whole world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.bench.rb006.world.streams import open_stream, permute

PEOPLE, SERVICES, PROJECTS, VENDORS = 14, 5, 4, 3
"""Entities per department. The last person of every second department is a homonym of a neighbour's."""

TICKETS, INCIDENTS, DECISIONS, REFERENCES = 72, 3, 36, 12
"""Records per department over the simulated time."""


@dataclass(frozen=True)
class NameBook:
    """Names by department and place. A name never depends on how many departments a world has."""

    seed: int
    words: Mapping[str, tuple[str, ...]]

    @property
    def capacity(self) -> int:
        """How many departments get unique names."""
        return min(
            self._size("domain", "function"),
            self._size("first", "last") // PEOPLE,
            self._size("service_first", "service_last") // SERVICES,
            self._size("project_first", "project_last") // PROJECTS,
            self._size("vendor_first", "vendor_last") // VENDORS,
        )

    def department(self, department: int) -> str:
        return " ".join(self._pair("domain", "function", department))

    def person(self, department: int, place: int) -> str:
        if place == PEOPLE - 1 and department % 2:
            return self.person(department - 1, self.homonym_place(department))
        return " ".join(self._pair("first", "last", department * PEOPLE + place))

    def homonym_place(self, department: int) -> int:
        """Which person of the department before shares the name of this one's last person."""
        return open_stream(self.seed, "homonym", department).randrange(1, PEOPLE - 1)

    def service(self, department: int, place: int) -> str:
        return "-".join(self._pair("service_first", "service_last", department * SERVICES + place))

    def project(self, department: int, place: int) -> str:
        """Every eighth project has the name of a service of another department."""
        if place == PROJECTS - 1 and department % 2:
            return "Project " + self.service(department - 1, 0).replace("-", " ").title()
        return "Project " + " ".join(self._pair("project_first", "project_last", department * PROJECTS + place))

    def vendor(self, department: int, place: int) -> str:
        return " ".join(self._pair("vendor_first", "vendor_last", department * VENDORS + place))

    def code(self, kind: str, index: int, width: int = 5) -> str:
        """A number of this width without a leading zero; unique per kind and index."""
        low = 10 ** (width - 1)
        return str(low + permute(index, 9 * low, self.seed, f"code {kind}"))

    def _size(self, first: str, last: str) -> int:
        return len(self.words[first]) * len(self.words[last])

    def _pair(self, first: str, last: str, index: int) -> tuple[str, str]:
        lasts = self.words[last]
        place = permute(index, self._size(first, last), self.seed, f"{first} {last}")
        return self.words[first][place // len(lasts)], lasts[place % len(lasts)]
