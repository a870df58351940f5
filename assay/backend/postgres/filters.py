"""Compiles filter expressions to SQL: a condition over `chunk c`, pushed down, so that no list is ever short.

    lang = "en"        c.fields @> {"lang": ["en"]}                     found by an index
    n >= 3             any number of c.fields -> 'n' is at least 3
    title ~ "Key"      any text of c.folded -> 'title' (or c.fields, where folding changes nothing) holds "key"
    created < 2025-…   the chunk's own column

Numbers are compared as decimals of their shortest spelling, which order as the floats they spell.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.backend.shared.filters import check_comparison, check_field
from assay.engine.chunk_columns import NUMBERS, fields_of
from assay.types import Chunk
from assay.where import And, Compare, Filter, Missing, Not, Or, Value

_INFINITY = 10**400
"""An infinite number as jsonb holds it: larger than every float."""
_COLUMNS = ("id", "doc_id", *NUMBERS)
OWN_KINDS = {name: "number" if name in NUMBERS else "text" for name in _COLUMNS}
"""The fields that every chunk has, with the type of their values."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_SQL = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def field_values(chunk: Chunk) -> dict[str, list[Any]]:
    """Every value a filter can see of a chunk's metadata, as lists under their names."""
    values: dict[str, list[Any]] = {}
    for name, value in fields_of(chunk):
        if name != "doc_id":
            values.setdefault(name, []).append(_json_value(value))
    return values


def folded_values(chunk: Chunk, values: Mapping[str, list[Any]]) -> dict[str, list[str]]:
    """The texts of those fields that case-folding changes; its ids among them."""
    texts = {name: [v for v in held if isinstance(v, str)] for name, held in values.items()}
    texts |= {"id": [chunk.id], "doc_id": [chunk.doc_id]}
    folded = {name: [text.casefold() for text in held] for name, held in texts.items()}
    return {name: held for name, held in folded.items() if held != texts[name]}


def _json_value(value: Value) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return _INFINITY if value > 0 else -_INFINITY
    return value


@dataclass
class Condition:
    """A piece of SQL with its parameters; pieces join with `and`."""

    sql: str
    parameters: tuple[Any, ...] = ()
    narrows: bool = True
    """False when every live row meets it."""
    rows: int | None = None
    """How many rows meet it, where that is known."""


def compile_filter(expression: Filter, kinds: Mapping[str, set[str]]) -> Condition:
    """A filter as SQL that is true or false, never null. `kinds` says which types each field holds."""
    return _COMPILERS[type(expression)](expression, kinds)


def _compare(expression: Compare, kinds: Mapping[str, set[str]]) -> Condition:
    name, op, value = expression.field, expression.op, expression.value
    check_comparison(kinds, name, op, value)
    if name in _COLUMNS:
        return _column(name, op, value)
    from psycopg.types.json import Jsonb

    if isinstance(value, str) and not is_storable(value):
        if op in ("=", "~"):
            return Condition("false")
        op, value = _storable_comparison(op, value)
    if op == "=":
        return Condition("c.fields @> %s", (Jsonb({name: [_json_value(value)]}),))
    members = "EXISTS (SELECT 1 FROM jsonb_array_elements({}) AS m WHERE jsonb_typeof(m) = '{}' AND {})"
    if isinstance(value, bool):  # != is all that is left
        return Condition(members.format("c.fields -> %s", "boolean", "m <> %s"), (name, Jsonb(value)))
    if isinstance(value, str) and op == "~":
        held = members.format("coalesce(c.folded -> %s, c.fields -> %s)", "string", "position(%s in m #>> '{{}}') > 0")
        return Condition(held.replace("{{}}", "{}"), (name, name, value.casefold()))
    if isinstance(value, str):
        held = members.format("c.fields -> %s", "string", f"(m #>> '{{}}') COLLATE \"C\" {_SQL[op]} %s")
        return Condition(held, (name, value))
    # One call of a path, where a sub-select over the members would be several times as slow; a text is no number to it.
    path = f"$.{json.dumps(name)}[*] ? (@ {_SQL[op]} $v)"
    return Condition("jsonb_path_exists(c.fields, %s::jsonpath, %s)", (path, Jsonb({"v": _json_value(value)})))


def is_storable(text: str) -> bool:
    """Can a server's text column hold this text? If not, no stored value equals it."""
    return _UNSTORABLE.search(text) is None


def _storable_comparison(op: str, value: str) -> tuple[str, str]:
    """The same comparison with a text that the server can hold. No stored text has a NUL or a lone surrogate, so all
    that counts is what stands before it: x < "a\\0b" is x <= "a", and x < "a\\ud800" is x < "a\\ue000"."""
    odd = _UNSTORABLE.search(value)
    assert odd is not None
    before = value[: odd.start()]
    if op == "!=":
        return ">=", ""  # every text is another
    if odd[0] == "\0":
        return ("<=" if op in ("<", "<=") else ">"), before
    return ("<" if op in ("<", "<=") else ">="), f"{before}\ue000"


def _column(name: str, op: str, value: Value) -> Condition:
    if isinstance(value, str) and not is_storable(value):
        if op in ("=", "~"):
            return Condition("false")
        op, value = _storable_comparison(op, value)
    if op == "~":
        held = f"coalesce(c.folded #>> '{{{name},0}}', c.{name})"
        return Condition(f"position(%s in {held}) > 0", (str(value).casefold(),))
    return Condition(f"coalesce(c.{name} {_SQL[op]} %s, false)", (value,))


def _missing(expression: Missing, kinds: Mapping[str, set[str]]) -> Condition:
    check_field(kinds, expression.field)
    if expression.field in _COLUMNS:
        return Condition(f"c.{expression.field} IS NULL")
    return Condition("NOT jsonb_exists(c.fields, %s)", (expression.field,))


def _not(expression: Not, kinds: Mapping[str, set[str]]) -> Condition:
    inner = compile_filter(expression.inner, kinds)
    return Condition(f"NOT ({inner.sql})", inner.parameters)


def _join_with(word: str) -> Callable[[Any, Mapping[str, set[str]]], Condition]:
    def join(expression: And | Or, kinds: Mapping[str, set[str]]) -> Condition:
        inner = [compile_filter(one, kinds) for one in expression.inner]
        return Condition(
            f" {word} ".join(f"({one.sql})" for one in inner), tuple(value for one in inner for value in one.parameters)
        )

    return join


_COMPILERS: Mapping[type, Callable[[Any, Mapping[str, set[str]]], Condition]] = {
    Compare: _compare,
    Missing: _missing,
    Not: _not,
    And: _join_with("AND"),
    Or: _join_with("OR"),
}
