"""One typed filter expression: `lang = "en" and created >= 2025-01-01 and not (kind in ("draft", "note"))`.

Grammar, loosest first:

    or      := and ("or" and)*
    and     := not ("and" not)*
    not     := "not" not | test
    test    := "(" or ")" | field compare value | field ["not"] "in" "(" value ("," value)* ")"
             | field "is" ["not"] "missing"
    compare := = != < <= > >= ~          (~ is: the text contains, ignoring case)
    field   := name | `any name`         (as tables have them: `First Name` = "Ada")
    value   := "text" | 'text' | number | true | false | 2025-06-01 | 2025-06-01T12:00[:00][Z|+02:00]

A comparison with a field that a chunk lacks is false, and so is `!=`: say `is missing` when you mean it.
A field holding a list matches when any of its members does. A field that no chunk has is an error, because
a typing slip must not look like an empty answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.errors import QueryError

Mask = NDArray[np.bool_]
Value = str | float | bool
SHOWN = 200
"""Characters on each side of a wrong place that an error shows."""
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "~")


class Columns(Protocol):
    """What a filter reads: rows of facts, by field name."""

    def compare(self, field: str, op: str, value: Value) -> Mask:
        """Rows whose field compares so; raises QueryError for an unknown field or a type that cannot compare."""
        ...

    def missing(self, field: str) -> Mask: ...


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed expression. Frozen and printable: `str(parse(s))` parses back to the same filter."""

    def mask(self, columns: Columns) -> Mask:
        raise NotImplementedError

    def __and__(self, other: Filter) -> Filter:
        return And((self, other))


@dataclass(frozen=True, slots=True)
class Compare(Filter):
    field: str
    op: str
    value: Value
    is_date: bool = False

    def mask(self, columns: Columns) -> Mask:
        return columns.compare(self.field, self.op, self.value)

    def __str__(self) -> str:
        return f"{quote_field(self.field)} {self.op} {_literal(self.value, self.is_date)}"


@dataclass(frozen=True, slots=True)
class Missing(Filter):
    field: str

    def mask(self, columns: Columns) -> Mask:
        return columns.missing(self.field)

    def __str__(self) -> str:
        return f"{quote_field(self.field)} is missing"


@dataclass(frozen=True, slots=True)
class Not(Filter):
    inner: Filter

    def mask(self, columns: Columns) -> Mask:
        return ~self.inner.mask(columns)

    def __str__(self) -> str:
        return f"not ({self.inner})"


@dataclass(frozen=True, slots=True)
class And(Filter):
    inner: tuple[Filter, ...]

    def mask(self, columns: Columns) -> Mask:
        return reduce(np.logical_and, (f.mask(columns) for f in self.inner))

    def __str__(self) -> str:
        return " and ".join(f"({f})" for f in self.inner)


@dataclass(frozen=True, slots=True)
class Or(Filter):
    inner: tuple[Filter, ...]

    def mask(self, columns: Columns) -> Mask:
        return reduce(np.logical_or, (f.mask(columns) for f in self.inner))

    def __str__(self) -> str:
        return " or ".join(f"({f})" for f in self.inner)


def compare_values(stored: Any, op: str, value: Value) -> bool:
    """The meaning of one comparison, row by row: what every columnar form must agree with.

    Text compares with text, numbers and dates with numbers, booleans with booleans (= and != only); any
    other pairing is False, as is a missing value.
    """
    if isinstance(stored, list | tuple):
        return any(compare_values(member, op, value) for member in stored)
    if isinstance(stored, bool) or isinstance(value, bool):
        both = isinstance(stored, bool) and isinstance(value, bool)
        return both and ((stored == value) if op == "=" else (stored != value) if op == "!=" else False)
    if isinstance(value, str):
        if not isinstance(stored, str):
            return False
        if op == "~":
            return value.casefold() in stored.casefold()
    elif not isinstance(stored, int | float) or stored != stored or op == "~":
        return False
    return bool(_OPS[op](stored, value))


_OPS: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def parse(text: str) -> Filter:
    """Read a filter expression; QueryError points at the place that cannot be read."""
    return _Parser(text).whole()


_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<date>{_DATE})(?![\w.-])
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | '(?P<single>(?:[^'\\]|\\.)*)'
      | (?P<op>!=|<=|>=|=|<|>|~)
      | (?P<mark>[(),])
      | (?P<word>[^\W\d][\w.-]*)
      | `(?P<field>[^`]+)`
    )""",
    re.VERBOSE,
)
_WORDS = {"and", "or", "not", "in", "is", "missing", "true", "false"}


def quote_field(field: str) -> str:
    """A field's name as a filter writes it: in backquotes where it is not one plain word."""
    found = _TOKEN.fullmatch(field)
    plain = found is not None and found["word"] == field and field.lower() not in _WORDS
    return field if plain else f"`{field}`"


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._scan())
        self.place = 0

    def _scan(self) -> Iterator[tuple[str, str, int]]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            found = _TOKEN.match(self.text, at)
            if found is None:
                raise self._wrong(at, "this cannot be read")
            kind = found.lastgroup or ""
            token = found.group(kind)
            start = found.start(kind)
            if kind in ("double", "single"):
                kind, token = "text", re.sub(r"\\(.)", r"\1", token, flags=re.S)
            elif kind == "word" and token.lower() in _WORDS:
                kind, token = "key", token.lower()
            yield kind, token, start
            at = found.end()

    def _wrong(self, at: int, why: str) -> QueryError:
        before, after = self.text[max(0, at - SHOWN) : at], self.text[at : at + SHOWN]
        shown = f"{'…' * (at > SHOWN)}{before}⟨here⟩{after}{'…' * (len(self.text) > at + SHOWN)}"
        return QueryError(
            f"filter: {why}: {shown}",
            'write it like: lang = "en" and created >= 2025-01-01 and not (kind in ("draft", "note"))',
        )

    def _peek(self) -> tuple[str, str, int]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "", len(self.text))

    def _next(self) -> tuple[str, str, int]:
        token = self._peek()
        self.place += 1
        return token

    def _take(self, kind: str, text: str) -> bool:
        if self._peek()[:2] == (kind, text):
            self.place += 1
            return True
        return False

    def _need(self, kind: str, text: str) -> None:
        if not self._take(kind, text):
            raise self._wrong(self._peek()[2], f"expected {text!r}")

    def whole(self) -> Filter:
        if not self.tokens:
            raise self._wrong(0, "it is empty")
        result = self._either()
        if self._peek()[0] != "end":
            raise self._wrong(self._peek()[2], "expected 'and', 'or' or the end")
        return result

    def _either(self, depth: int = 0) -> Filter:
        if depth > 100:
            raise self._wrong(self._peek()[2], "nested more than 100 deep")
        parts = [self._both(depth)]
        while self._take("key", "or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self, depth: int) -> Filter:
        parts = [self._negated(depth)]
        while self._take("key", "and"):
            parts.append(self._negated(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negated(self, depth: int) -> Filter:
        odd = False
        while self._take("key", "not"):
            odd = not odd
        inner = self._test(depth)
        return Not(inner) if odd else inner

    def _test(self, depth: int) -> Filter:
        if self._take("mark", "("):
            inner = self._either(depth + 1)
            self._need("mark", ")")
            return inner
        kind, field, at = self._next()
        if kind not in ("word", "field"):
            raise self._wrong(at, "expected a field name")
        if self._take("key", "is"):
            negative = self._take("key", "not")
            self._need("key", "missing")
            return Not(Missing(field)) if negative else Missing(field)
        negative = self._take("key", "not")
        if self._take("key", "in"):
            self._need("mark", "(")
            options = [Compare(field, "=", *self._value())]
            while self._take("mark", ","):
                options.append(Compare(field, "=", *self._value()))
            self._need("mark", ")")
            anyone: Filter = options[0] if len(options) == 1 else Or(tuple(options))
            return Not(anyone) if negative else anyone
        kind, op, at = self._next()
        if negative or kind != "op":
            raise self._wrong(at, f"expected one of {' '.join(COMPARISONS)}, 'in' or 'is missing'")
        value, is_date = self._value()
        return Compare(field, op, value, is_date)

    def _value(self) -> tuple[Value, bool]:
        kind, token, at = self._next()
        if kind == "text":
            return token, False
        if kind == "number":
            return float(token), False
        if kind == "date":
            return self._moment(token, at), True
        if kind == "key" and token in ("true", "false"):
            return token == "true", False
        hint = "; text stands in quotes" if kind == "word" else ""
        raise self._wrong(at, f"expected a value{hint}")

    def _moment(self, token: str, at: int) -> float:
        try:
            moment = datetime.fromisoformat(token)
        except ValueError as error:
            raise self._wrong(at, f"not a date ({error})") from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _literal(value: Value, is_date: bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return datetime.fromtimestamp(value, UTC).isoformat() if is_date else repr(value)
