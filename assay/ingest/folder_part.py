"""A part of a folder, so that several processes or machines can add it together: each takes the files of its part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from assay.errors import ConfigError

MAX_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class FolderPart:
    """Part `number` of `count`. A file belongs to one part, by the hash of its name, on every machine."""

    number: int
    count: int

    @staticmethod
    def parse(text: str) -> FolderPart:
        """Read `3/8`, the third of eight parts."""
        match = re.fullmatch(r"(\d{1,5})/(\d{1,5})", text.strip())
        if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MAX_PARTS:
            raise ConfigError(
                f"{text!r} is no part of a folder", "write 3/8 for the third of eight parts; the first one is 1/8"
            )
        return FolderPart(int(match[1]), int(match[2]))

    def holds(self, name: str) -> bool:
        """Whether a file belongs to this part; `name` is its name in the store."""
        digest = sha256(name.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


WHOLE = FolderPart(1, 1)
"""The part that has every file."""
