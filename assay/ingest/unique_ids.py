"""Finds repeated ids in a file of many million records: 16 bytes per id, exact up to 64-bit digests."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from pathlib import Path

import numpy as np

from assay.ingest.files import bad_file


class UniqueIds:
    """The ids of a file with the place (line or row) of each."""

    def __init__(self) -> None:
        self._keys = array("Q")
        self._places = array("Q")

    def add(self, record_id: str, place: int) -> None:
        self._keys.append(int.from_bytes(blake2b(record_id.encode(), digest_size=8).digest()))
        self._places.append(place)

    def check(self, path: Path, unit: str) -> None:
        """Raise BadFile that names the two places of the first repeated id."""
        if len(self._keys) < 2:
            return
        keys = np.frombuffer(self._keys, np.uint64)
        order = np.argsort(keys, kind="stable")
        repeated = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        if len(repeated):
            places = np.frombuffer(self._places, np.uint64)
            second = repeated[np.argmin(order[repeated + 1])]
            former, later = places[order[second]], places[order[second + 1]]
            raise bad_file(path, f"{unit} {later} has the id of {unit} {former}", "give every record an id of its own")
