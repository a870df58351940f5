"""A query's filter, scope and moment as SQL over the columns of a LanceDB table."""

from __future__ import annotations

from collections.abc import Callable

from assay.errors import StoreError, nearest
from assay.types import Query
from assay.where import And, Compare, Filter, Missing, Not, Or, Value


def condition(query: Query, columns: set[str], doc: str, created: str, name: str) -> str:
    """The SQL of all that restricts a query; empty when nothing does. `doc`, `created` and `name` are the columns that
    hold what a filter calls doc_id, created and id."""
    known = {"doc_id": doc, "id": name, **({"created": created} if created else {})}

    def column(field: str) -> str:
        found = known.get(field, field)
        if found not in columns:
            raise StoreError(f"the table has no column {found!r} to filter by", nearest(found, columns))
        return f"`{found}`"

    parts = []
    if query.where is not None:
        parts.append(_sql(query.where, column))
    if query.scope is not None:
        parts.append(_sql(Compare("scope", "=", query.scope), column))
    if query.at is not None:
        if not created:
            raise StoreError("the query has a moment, and the table no column of moments", 'name it: created = "…"')
        parts.append(f"({column('created')} IS NULL OR {column('created')} <= {query.at!r})")
    return " AND ".join(f"({part})" for part in parts)


def _sql(found: Filter, column: Callable[[str], str]) -> str:
    """A comparison with a missing value is false in our language, and so is its SQL; NOT must not make it unknown."""
    if isinstance(found, And | Or):
        word = " AND " if isinstance(found, And) else " OR "
        return word.join(f"({_sql(inner, column)})" for inner in found.inner)
    if isinstance(found, Not):
        return f"NOT ({_sql(found.inner, column)})"
    if isinstance(found, Missing):
        return f"{column(found.field)} IS NULL"
    if isinstance(found, Compare):
        return _compare(found, column(found.field))
    raise StoreError(f"the filter {found} cannot be said in SQL", "use comparisons with and, or, not")


def _compare(found: Compare, column: str) -> str:
    if found.op == "~":
        text = str(found.value).lower()
        return f"coalesce(contains(lower({column}), {_literal(text)}), false)"
    op = "<>" if found.op == "!=" else found.op
    return f"coalesce({column} {op} {_literal(found.value)}, false)"


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(int(value)) if value == int(value) else repr(value)
