"""One filter, two kinds of rows: columns for a generation, plain chunks for a tail, one meaning for both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.errors import QueryError, nearest
from assay.index.columns import NUMBERS, FilterColumns, fields_of, kind_of, numbers_of
from assay.types import Chunk
from assay.where import Mask, Value, compare_values

_SAID = {"text": "text", "number": "numbers or dates", "flag": "true or false"}


class SnapshotColumns:
    """What a filter sees of a snapshot: generation rows first, tail rows behind them."""

    def __init__(self, generation: FilterColumns | None, tail: Sequence[Chunk]) -> None:
        self._generation = generation
        self._tail = [_facts(chunk) for chunk in tail]

    def kinds(self) -> dict[str, set[str]]:
        """Every filterable field with the types of its values."""
        kinds: dict[str, set[str]] = {"id": {"text"}, "doc_id": {"text"}, **{n: {"number"} for n in NUMBERS}}
        for field, found in (self._generation.kinds() if self._generation else {}).items():
            kinds.setdefault(field, set()).update(found)
        for facts in self._tail:
            for field, values in facts.items():
                kinds.setdefault(field, set()).update(kind_of(v) for v in values)
        return kinds

    def compare(self, field: str, op: str, value: Value) -> Mask:
        kinds = self._known(field)
        wanted = kind_of(value)
        if wanted not in kinds[field]:
            held = " and ".join(_SAID[k] for k in sorted(kinds[field]))
            raise QueryError(
                f"filter: {field} holds {held}; it cannot be compared with {value!r}",
                "put text in quotes; write numbers, dates and true or false without",
            )
        if (op == "~" and wanted != "text") or (wanted == "flag" and op not in ("=", "!=")):
            raise QueryError(f"filter: {op} does not go with {value!r}", "use = or !=, or compare text with ~")
        tail = [any(compare_values(v, op, value) for v in facts.get(field, ())) for facts in self._tail]
        return self._joined(None if self._generation is None else self._generation.compare(field, op, value), tail)

    def missing(self, field: str) -> Mask:
        self._known(field)
        tail = [not facts.get(field) for facts in self._tail]
        return self._joined(None if self._generation is None else self._generation.missing(field), tail)

    def _known(self, field: str) -> dict[str, set[str]]:
        kinds = self.kinds()
        if field not in kinds:
            raise QueryError(f"filter: no chunk of this store has a field {field!r}", nearest(field, kinds))
        return kinds

    @staticmethod
    def _joined(generation: Mask | None, tail: list[bool]) -> Mask:
        behind = np.array(tail, np.bool_)
        return behind if generation is None else np.concatenate([generation, behind])


def _facts(chunk: Chunk) -> dict[str, list[Value]]:
    facts: dict[str, list[Value]] = {"id": [chunk.id]}
    for name, number in zip(NUMBERS, numbers_of(chunk), strict=True):
        facts[name] = [] if number != number else [number]
    for field, value in fields_of(chunk):
        facts.setdefault(field, []).append(value)
    return facts
