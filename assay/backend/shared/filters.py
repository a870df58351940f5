"""Filter checks, and the columns of a snapshot: those of the generation, then those of the tail."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from assay.engine.chunk_columns import NUMBERS, ChunkColumns, kind_of
from assay.errors import QueryError, nearest
from assay.index.columns import FilterColumns
from assay.where import Mask, Value, quote_field

_KIND_NAMES = {"text": "text", "number": "numbers or dates", "flag": "true or false"}


def check_field(kinds: Mapping[str, set[str]], field: str) -> None:
    """QueryError for a field that no chunk has: a typing slip must not look like an empty answer."""
    if field not in kinds:
        raise QueryError(
            f"filter: no chunk of this store has a field {field!r}",
            nearest(quote_field(field), map(quote_field, kinds)),
        )


def check_comparison(kinds: Mapping[str, set[str]], field: str, op: str, value: Value) -> None:
    """QueryError for a comparison that cannot mean anything, given the kinds of every field's values."""
    check_field(kinds, field)
    wanted = kind_of(value)
    if wanted not in kinds[field]:
        kind_names = " and ".join(_KIND_NAMES[k] for k in sorted(kinds[field]))
        raise QueryError(
            f"filter: {field} holds {kind_names}; it cannot be compared with {value!r}",
            "put text in quotes; write numbers, dates and true or false without",
        )
    if (op == "~" and wanted != "text") or (wanted == "flag" and op not in ("=", "!=")):
        raise QueryError(f"filter: {op} does not go with {value!r}", "use = or !=, or compare text with ~")


class SnapshotColumns:
    """What a filter sees of a snapshot: generation rows first, the first `size` rows of the tail behind them."""

    def __init__(self, generation: FilterColumns | None, tail: ChunkColumns, size: int) -> None:
        self._generation = generation
        self._tail = tail
        self._size = size

    def kinds(self) -> dict[str, set[str]]:
        """Every filterable field with the types of its values."""
        return {field: set(found) for field, found in self._kinds.items()}

    @cached_property
    def _kinds(self) -> dict[str, set[str]]:
        kinds: dict[str, set[str]] = {"id": {"text"}, "doc_id": {"text"}, **{n: {"number"} for n in NUMBERS}}
        for kinds_by_field in (self._generation.kinds() if self._generation else {}, self._tail.kinds(self._size)):
            for field, found in kinds_by_field.items():
                kinds.setdefault(field, set()).update(found)
        return kinds

    def compare(self, field: str, op: str, value: Value) -> Mask:
        check_comparison(self._kinds, field, op, value)
        old = None if self._generation is None else self._generation.compare(field, op, value)
        return self._concatenate(old, self._tail.compare(field, op, value, self._size))

    def missing(self, field: str) -> Mask:
        check_field(self._kinds, field)
        old = None if self._generation is None else self._generation.missing(field)
        return self._concatenate(old, self._tail.missing(field, self._size))

    @staticmethod
    def _concatenate(generation: Mask | None, tail: Mask) -> Mask:
        return tail if generation is None else np.concatenate([generation, tail])
