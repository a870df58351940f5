"""Filters as Qdrant evaluates them. They may let too many rows through: PostgreSQL decides who is visible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from assay.where import And, Compare, Filter, Or

if TYPE_CHECKING:
    from qdrant_client import models

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
"""Field names that need no quoting in a path of a payload."""
_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


def visible_filter(version: int, where: Filter | None, at: float | None, scope: str | None) -> models.Filter:
    """Rows alive at a version that a query may see, and perhaps some that it may not."""
    from qdrant_client import models

    must: list[Any] = [
        models.FieldCondition(key="born", range=models.Range(lte=version)),
        _either(_empty("died"), models.FieldCondition(key="died", range=models.Range(gt=version))),
    ]
    if at is not None:
        must.append(_either(_empty("created"), models.FieldCondition(key="created", range=models.Range(lte=at))))
    if scope is not None:
        must.append(models.FieldCondition(key="scope", match=models.MatchValue(value=scope)))
    translated = None if where is None else translate(where)
    return models.Filter(must=[*must, *([translated] if translated is not None else [])])


def translate(expression: Filter) -> Any | None:
    """A condition that holds for every row that meets the filter; None where there is none but "all rows"."""
    from qdrant_client import models

    if isinstance(expression, And):
        parts = [part for part in map(translate, expression.inner) if part is not None]
        return models.Filter(must=parts) if parts else None
    if isinstance(expression, Or):
        wanted = [part for part in map(translate, expression.inner) if part is not None]
        return models.Filter(should=wanted) if len(wanted) == len(expression.inner) else None
    return _compare(expression) if isinstance(expression, Compare) else None


def _compare(expression: Compare) -> Any | None:
    from qdrant_client import models

    name, op, value = expression.field, expression.op, expression.value
    if name == "doc_id" or name == "created":
        key = name
    elif _PLAIN.fullmatch(name) and name not in ("id", "importance", "tokens", "chars"):
        key = f"fields.{name}"
    else:
        return None
    if isinstance(value, str | bool):
        return models.FieldCondition(key=key, match=models.MatchValue(value=value)) if op == "=" else None
    if not abs(value) < 2**53:  # too large to be a float exactly
        return None
    bounds = {"gte": value, "lte": value} if op == "=" else {_RANGES[op]: value} if op in _RANGES else None
    return None if bounds is None else models.FieldCondition(key=key, range=models.Range(**bounds))


def _empty(key: str) -> Any:
    from qdrant_client import models

    return models.IsEmptyCondition(is_empty=models.PayloadField(key=key))


def _either(*conditions: Any) -> Any:
    from qdrant_client import models

    return models.Filter(should=list(conditions))
