"""Access by scope. Every read of a memory passes through a `Scopes`, in one of two forms of the same condition:

    filter()    for a snapshot: recall, near-duplicates, list, stats, export, look-up by id
    holds()     for rows of the past, which no snapshot holds: history, memories forgotten and not purged

It fails closed: no scope is an error, an unknown scope sees nothing, and no name stands for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from assay.errors import QueryError
from assay.types import Chunk
from assay.where import And, Compare, Filter, Or

SOURCE = "memories"
"""The name under which a store files all memories; the id of a memory's document is `memories/ID`."""
MAX_LENGTH = 200
"""The most characters of a scope's name."""
_LOWER_BOUND, _UPPER_BOUND = f"{SOURCE}/", f"{SOURCE}0"  # "0" follows "/" in ASCII
NOTHING = Compare("id", "=", "")
"""A filter that matches no chunk: none has an empty id."""
MEMORIES: Filter = And((Compare("doc_id", ">=", _LOWER_BOUND), Compare("doc_id", "<", _UPPER_BOUND)))
"""A filter for all memories, whatever their scope."""
NO_MEMORIES: Filter = Or((Compare("doc_id", "<", _LOWER_BOUND), Compare("doc_id", ">=", _UPPER_BOUND)))
"""A filter for everything else: documents."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes a caller may see, by name, sorted: `global`, `agent:…`, `project:…`, `user:…`, or any other."""

    names: tuple[str, ...]

    @staticmethod
    def of(names_or_name: str | Iterable[str] | None) -> Scopes:
        """Check the scopes that a caller names; QueryError when it names none."""
        names = (names_or_name,) if isinstance(names_or_name, str) else tuple(names_or_name or ())
        if not names:
            raise QueryError("no scope was named, and nobody sees all of them", 'say which: scope="global"')
        return Scopes(tuple(sorted({check_scope(name) for name in names})))

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def filter(self) -> Filter:
        """The filter for memories of these scopes."""
        named = tuple(Compare("scope", "=", name) for name in self.names)
        return And((Compare("doc_id", ">=", _LOWER_BOUND), Compare("doc_id", "<", _UPPER_BOUND), Or(named)))

    def holds(self, chunk: Chunk) -> bool:
        """Whether a chunk is a memory of these scopes."""
        return _LOWER_BOUND <= chunk.doc_id < _UPPER_BOUND and chunk.meta.get("scope") in self.names


def check_scope(name: object) -> str:
    """Return a valid scope name unchanged; QueryError otherwise."""
    if (
        not isinstance(name, str)
        or not name
        or name != name.strip()
        or not name.isprintable()
        or len(name) > MAX_LENGTH
    ):
        raise QueryError(
            f"{name!r} cannot be a scope", "use a name such as global, agent:coder, project:atlas, user:ada"
        )
    if "*" in name:
        raise QueryError(f"{name!r}: a scope has no wildcards", "name each scope")
    return name
