"""Does any name occur twice in a file of many million records? 16 bytes per name, exact up to 64-bit digests."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from pathlib import Path

import numpy as np

from assay.ingest.files import bad_file


class UniqueNames:
    """Names seen with the place (line or row) of each."""

    def __init__(self) -> None:
        self._keys = array("Q")
        self._places = array("Q")

    def add(self, name: str, place: int) -> None:
        self._keys.append(int.from_bytes(blake2b(name.encode(), digest_size=8).digest()))
        self._places.append(place)

    def check(self, path: Path, unit: str) -> None:
        """BadFile naming the two places of the first name that occurs again."""
        if len(self._keys) < 2:
            return
        keys = np.frombuffer(self._keys, np.uint64)
        order = np.argsort(keys, kind="stable")
        again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        if len(again):
            places = np.frombuffer(self._places, np.uint64)
            second = again[np.argmin(order[again + 1])]
            former, later = places[order[second]], places[order[second + 1]]
            raise bad_file(path, f"{unit} {later} has the id of {unit} {former}", "give every record an id of its own")
