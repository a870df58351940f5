"""Compiles a filter to an SQL condition on the tables `chunk` and `doc`.

The meaning is `where.compare_values`: a list matches when any member does, kinds never mix, what is missing is false.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.backend.shared.filters import check_comparison, check_field
from assay.engine.chunk_columns import kind_of
from assay.errors import QueryError
from assay.where import And, Compare, Filter, Missing, Not, Or, Value

COLUMNS: Mapping[str, str] = {
    "id": "chunk.id",
    "doc_id": "chunk.doc_id",
    "created": "chunk.created",
    "importance": "chunk.importance",
    "tokens": "chunk.tokens",
    "chars": "doc.chars",
}
OWN_KINDS: Mapping[str, str] = {name: "text" if name in ("id", "doc_id") else "number" for name in COLUMNS}
_TYPES = {"text": "('text')", "number": "('integer', 'real')", "flag": "('true', 'false')"}
_PLAIN = "('text', 'integer', 'real', 'true', 'false')"
_OPS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# A field's value, or every member of the list it holds; `type` tells text, numbers and truth apart.
_MEMBERS = (
    "SELECT m.type, m.value FROM json_each(chunk.meta) m WHERE m.key = ? AND m.type <> 'array' UNION ALL "
    "SELECT x.type, x.value FROM json_each(chunk.meta) m, "
    "json_each(CASE m.type WHEN 'array' THEN m.value ELSE '[]' END) x WHERE m.key = ?"
)

Condition = tuple[str, list[object]]


def condition(where: Filter, kinds: Mapping[str, set[str]]) -> Condition:
    """SQL that is 1 or 0 for every row, and its values. QueryError for an unknown field, or one of another kind."""
    if isinstance(where, Compare):
        check_comparison(kinds, where.field, where.op, where.value)
        return _compare(where.field, where.op, where.value)
    if isinstance(where, Missing):
        check_field(kinds, where.field)
        return _missing(where.field)
    if isinstance(where, Not):
        inner, values = condition(where.inner, kinds)
        return f"NOT ({inner})", values
    if isinstance(where, And | Or):
        parts = [condition(inner, kinds) for inner in where.inner]
        joined = (" AND " if isinstance(where, And) else " OR ").join(f"({sql})" for sql, _ in parts)
        return joined, [value for _, values in parts for value in values]
    raise QueryError(f"filter: {where} cannot be asked of this store", "use comparisons, and, or, not, is missing")


def _compare(field: str, op: str, value: Value) -> Condition:
    operand: object = value
    if isinstance(value, str):  # as bytes: no text is refused, a lone surrogate included
        operand = value.encode("utf-8", "surrogatepass")
        if op == "~" and any("\ud800" <= c <= "\udfff" for c in value):
            return "0", []  # no stored text holds one
    if field in COLUMNS:
        column = COLUMNS[field]
        return (f"coalesce(assay_within({column}, {_TEXT}), 0)" if op == "~" else _tested(column, op, operand)), [
            operand
        ]
    kind = kind_of(value)
    if kind == "flag":
        wanted = "true" if value == (op == "=") else "false"
        return f"EXISTS (SELECT 1 FROM ({_MEMBERS}) WHERE type = ?)", [field, field, wanted]
    column = "CAST(value AS REAL)" if kind == "number" else "value"
    test = f"assay_within({column}, {_TEXT})" if op == "~" else _tested(column, op, operand)
    return f"EXISTS (SELECT 1 FROM ({_MEMBERS}) WHERE type IN {_TYPES[kind]} AND {test})", [field, field, operand]


_TEXT = "CAST(? AS TEXT)"


def _tested(column: str, op: str, operand: object) -> str:
    return f"coalesce({column} {_OPS[op]} {_TEXT if isinstance(operand, bytes) else '?'}, 0)"


def _missing(field: str) -> Condition:
    if field in COLUMNS:
        return f"{COLUMNS[field]} IS NULL", []
    return f"NOT EXISTS (SELECT 1 FROM ({_MEMBERS}) WHERE type IN {_PLAIN})", [field, field]
