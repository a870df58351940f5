"""Who may see what. Every read of a memory passes through a `Scopes`, in one of two spellings of the same condition:

    filter()    for a snapshot: recall, near-duplicates, list, stats, export, look-up by id
    holds()     for rows of the past, which no snapshot holds: history, what was forgotten and not purged

It fails closed: no scope is an error, an unknown scope sees nothing, and no name stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.errors import QueryError
from assay.types import Chunk
from assay.where import And, Compare, Filter, Or

SOURCE = "memories"
"""The source of all memories in a store; the id of a memory's document is `memories/ID`."""
LONGEST = 200
"""Characters of a scope's name."""
_FIRST, _BEHIND = f"{SOURCE}/", f"{SOURCE}0"  # "0" is the character behind "/"
NOTHING = Compare("id", "=", "")
"""The filter that keeps no chunk: none has an empty id."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes somebody may see, by name, sorted: `global`, `agent:…`, `project:…`, `user:…`, or any other."""

    names: tuple[str, ...]

    @staticmethod
    def of(given: str | Iterable[str] | None) -> Scopes:
        """The scopes a caller names; QueryError when it names none."""
        names = (given,) if isinstance(given, str) else tuple(given or ())
        if not names:
            raise QueryError("no scope was named, and nobody sees all of them", 'say which: scopes="global"')
        return Scopes(tuple(sorted({checked(name) for name in names})))

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def filter(self) -> Filter:
        """Memories of these scopes and nothing else."""
        named = tuple(Compare("scope", "=", name) for name in self.names)
        return And((Compare("doc_id", ">=", _FIRST), Compare("doc_id", "<", _BEHIND), Or(named)))

    def holds(self, chunk: Chunk) -> bool:
        """The same of one chunk."""
        return _FIRST <= chunk.doc_id < _BEHIND and chunk.meta.get("scope") in self.names


def checked(name: object) -> str:
    """A scope's name, as it was given; QueryError when it can be none."""
    if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable() or len(name) > LONGEST:
        raise QueryError(
            f"{name!r} cannot be a scope", "use a name such as global, agent:coder, project:atlas, user:ada"
        )
    if "*" in name:
        raise QueryError(f"{name!r}: a scope has no wildcards", "name each scope")
    return name
