"""Compiles a query's filter, scope and moment to SQL over the columns of a LanceDB table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from assay.errors import StoreError, nearest
from assay.types import Query
from assay.where import And, Compare, Filter, Missing, Not, Or, Value

FIRST = datetime(1700, 1, 1, tzinfo=UTC).timestamp()
LAST = datetime(2262, 1, 1, tzinfo=UTC).timestamp()
"""The range of 64-bit nanoseconds; a moment beyond it is clamped."""
Kind = Literal["plain", "moment", "list"]
"""The type of a column, as far as SQL needs it: moments compare as timestamps, lists by their members."""


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table, and which of them hold what a filter calls doc_id, created and id."""

    kinds: Mapping[str, Kind]
    doc: str
    created: str
    id: str

    def sql(self, query: Query) -> str:
        """The SQL of all that restricts a query; empty when nothing does."""
        parts = []
        if query.where is not None:
            parts.append(self._filter(query.where))
        if query.scope is not None:
            parts.append(self._compare(Compare("scope", "=", query.scope)))
        if query.at is not None:
            if not self.created:
                raise StoreError("the query has a moment, and the table no column of moments", 'name it: created = "…"')
            name = self._column("created")
            parts.append(f"`{name}` IS NULL OR `{name}` <= {_literal(query.at, self.kinds[name])}")
        return " AND ".join(f"({part})" for part in parts)

    def _column(self, field: str) -> str:
        known = {"doc_id": self.doc, "id": self.id, **({"created": self.created} if self.created else {})}
        column = known.get(field, field)
        if column not in self.kinds:
            raise StoreError(f"the table has no column {column!r} to filter by", nearest(column, self.kinds))
        return column

    def _filter(self, expression: Filter) -> str:
        """A comparison with a missing value is false in our language, and in this SQL; NOT must not make it unknown."""
        if isinstance(expression, And | Or):
            word = " AND " if isinstance(expression, And) else " OR "
            return word.join(f"({self._filter(inner)})" for inner in expression.inner)
        if isinstance(expression, Not):
            return f"NOT ({self._filter(expression.inner)})"
        if isinstance(expression, Missing):
            return f"`{self._column(expression.field)}` IS NULL"
        if isinstance(expression, Compare):
            return self._compare(expression)
        raise StoreError(f"the filter {expression} cannot be said in SQL", "use comparisons with and, or, not")

    def _compare(self, expression: Compare) -> str:
        name = self._column(expression.field)
        column, kind, value = f"`{name}`", self.kinds[name], expression.value
        if kind == "list":
            if expression.op != "=":
                raise StoreError(f"{name!r} holds lists, and {expression.op} cannot be asked of them", f"{name} = …")
            return f"coalesce(array_has({column}, {_literal(value, kind)}), false)"
        if expression.op == "~":
            return f"coalesce(contains(lower({column}), {_literal(str(value).lower(), kind)}), false)"
        op = "<>" if expression.op == "!=" else expression.op
        return f"coalesce({column} {op} {_literal(value, kind)}, false)"


def _literal(value: Value, kind: Kind) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if not math.isfinite(value):
        raise StoreError(f"{value} cannot be said in SQL", "compare with a number that is not so large")
    if kind == "moment":
        return f"timestamp '{datetime.fromtimestamp(min(max(value, FIRST), LAST), UTC):%Y-%m-%d %H:%M:%S.%f}'"
    return repr(int(value)) if value == int(value) else repr(value)
