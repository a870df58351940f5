"""A bank as a snapshot for pipelines: it can find near vectors, and knows codes and lanes.

Ids are the bank's ids in decimal; rows are positions in the file. Chunks have no text, so lexical and exact search are
missing from the capabilities. A request of the vector cascade adds to `query.extra`:

    nprobe     lists to probe, instead of the index's default
    exclude    ids that must not be returned, at least the current one
    context    ids before the current vector, oldest first; the next-vector model reads their vectors
    tmd_bits   the request's code, and `lane` its lane: what `score.tmd` compares
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank.bank import TOLERANCE, Bank
from assay.cascade.bank.index import BankIndex
from assay.cascade.lvm.model import NextVectorModel
from assay.errors import QueryError, Reason, StoreError, nearest
from assay.legs.ivf import probe_notes
from assay.protocols import DEFAULT_WEIGHTING, Matches, TermWeighting
from assay.score.tmd_layout import Layout, find_layout, matching_layouts
from assay.types import Chunk, Floats, Ids, Part, Query, Rows, Vector, Vectors
from assay.where import Mask, Value, parse

_COLUMNS = ("id", "tmd_bits", "lane", "domain", "task", "modifier")
_OPS = {"=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


class BankSnapshot:
    """Implements `protocols.Snapshot` over a bank, its index and, if given, a next-vector model."""

    def __init__(
        self, bank: Bank, index: BankIndex, model: NextVectorModel | None = None, bits: Layout | str = "spec"
    ) -> None:
        self.bank = bank
        self.index = index
        self.model = model
        self.layout = find_layout(bits) if isinstance(bits, str) else bits

    @cached_property
    def digest(self) -> str:
        """Covers the bank, the index, the model and the layout of the bits."""
        text = f"{self.bank.digest}|{self.index.digest}|{self.model.digest if self.model else ''}|{self.layout.name}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"dense"})

    @property
    def size(self) -> int:
        return len(self.bank)

    def lacks(self, capability: str) -> Reason | None:
        return (
            None if capability == "dense" else Reason(f"a bank of vectors has no text, so it cannot do {capability!r}")
        )

    @cached_property
    def layout_warning(self) -> str:
        """Why the codes seem to be read in the wrong layout; "" if they fit, or if the lanes follow no known layout."""
        fits = matching_layouts(self.bank.tmd_bits, self.bank.lanes)
        if not fits or self.layout.name in fits:
            return ""
        return (
            f"the bank's lanes are those of layout {' and '.join(fits)}, and its codes are read as {self.layout.name}: "
            f'give the step tmd layout = "{fits[0]}"'
        )

    # -- finding

    def nearest(self, query: Query, k: int) -> Matches:
        """The k nearest that the query may see, without those it excludes."""
        vector = self.check_vector(query.vector)
        excluded = self.find_rows(query.extra.get("exclude", ()), "exclude_ids")
        eligible = self._eligible(query)
        nprobe = int(query.extra.get("nprobe", 0))
        depth = k + len(excluded)
        while True:
            found = self.index.search(vector, depth, nprobe)
            rows, scores = found.rows, found.scores
            allowed = ~np.isin(rows, excluded)
            if eligible is not None:
                allowed &= eligible[rows]
            if int(allowed.sum()) >= k or depth >= self.size or eligible is None:
                break
            depth, nprobe = min(depth * 8, self.size), max(nprobe * 8, 64)
        rows, scores = rows[allowed][:k], scores[allowed][:k]
        notes = probe_notes(int(query.extra.get("nprobe", 0)) or self.index.nprobe, found.probed, k)
        return Matches(rows, (Part("cosine", "add", scores),), ideal=1.0, notes=notes)

    def expected(self, query: Query) -> Vector | None:
        """ŷ = l2(x + Δ̂), the predicted next vector; None without a model."""
        if self.model is None:
            return None
        rows = self.find_rows(query.extra.get("context", ()), "context_ids")
        newest = rows[max(0, len(rows) - self.model.context) :]
        return self.model.predict(self.check_vector(query.vector), self.bank.vectors[newest])

    def check_vector(self, vector: Vector | None) -> Vector:
        """The query's vector, after checking its dimension and its length of one; it is not normalised."""
        if vector is None:
            raise QueryError("a bank is searched with a vector", "pass query_vec")
        if vector.shape != (self.bank.dim,):
            raise QueryError(f"query_vec has shape {vector.shape}, the bank's vectors have {self.bank.dim} numbers")
        length = float(np.sqrt(np.vecdot(vector.astype(np.float64), vector.astype(np.float64))))
        if not abs(length - 1.0) <= TOLERANCE:
            raise QueryError(f"query_vec has length {length:.4f}, not 1", "divide it by its length")
        return vector

    def find_rows(self, ids: Sequence[int], name: str) -> Rows:
        """Rows of bank ids; an id that the bank does not hold is an error under the field's name."""
        wanted = np.asarray(ids, np.int64)
        rows = self.bank.rows(wanted) if len(wanted) else np.empty(0, np.int64)
        if (rows < 0).any():
            raise QueryError(f"{name} names id {wanted[rows < 0][0]}, which the bank does not hold")
        return rows

    def _eligible(self, query: Query) -> Mask | None:
        """The rows that `where` and `scope` allow; None for all. No vector of a bank has a scope or a date."""
        eligible = None if query.where is None else query.where.mask(_BankColumns(self))
        if query.scope is not None:
            eligible = np.zeros(self.size, np.bool_)
        return eligible

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        raise StoreError(str(self.lacks("lexical")))

    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        raise StoreError(str(self.lacks("lexical")))

    def exact(self, query: Query, k: int) -> Matches:
        raise StoreError(str(self.lacks("exact")))

    # -- facts by row

    def rows(self, ids: Ids) -> Rows:
        return self.bank.rows(np.array([_parse_id(name) for name in ids.tolist()], np.int64))

    def ids(self, rows: Rows) -> Ids:
        return self.bank.ids[rows].astype(np.str_)

    def chunks(self, rows: Rows) -> list[Chunk]:
        names, bits, lanes = self.ids(rows).tolist(), self.bank.tmd_bits[rows].tolist(), self.bank.lanes[rows].tolist()
        return [
            Chunk(name, name, "", 0, meta={"title": "", "section": "", "tmd_bits": code, "lane": lane})
            for name, code, lane in zip(names, bits, lanes, strict=True)
        ]

    def vectors(self, rows: Rows) -> Vectors:
        return self.bank.vectors[rows]

    def numbers(self, name: str, rows: Rows) -> Floats:
        if name == "importance":
            return np.ones(len(rows))
        return self.column(name, rows).astype(np.float64) if name in _COLUMNS else np.full(len(rows), np.nan)

    def column(self, name: str, rows: Rows | slice) -> NDArray[Any]:
        """A fact of some rows."""
        plain: Mapping[str, NDArray[Any]] = {
            "id": self.bank.ids,
            "tmd_bits": self.bank.tmd_bits,
            "lane": self.bank.lanes,
        }
        if name in plain:
            return plain[name][rows]
        number: NDArray[Any] = getattr(self.layout, name).of(self.bank.tmd_bits[rows])
        return number

    def matches(self, expression: str, rows: Rows) -> Mask:
        return parse(expression).mask(_BankColumns(self))[rows]

    def terms(self, text: str) -> list[str]:
        return []

    def term_weights(self, text: str) -> Mapping[str, float]:
        return {}


def _parse_id(name: str) -> int:
    """The bank id that a name spells; −1 if it is none ("007" is none)."""
    plain = name.isascii() and name.isdecimal() and len(name) <= 19 and (name == "0" or name[0] != "0")
    return int(name) if plain and int(name) < 2**63 else -1


class _BankColumns:
    """What a filter sees: id, tmd_bits, lane, domain, task, modifier, all numbers."""

    def __init__(self, snapshot: BankSnapshot) -> None:
        self._snapshot = snapshot

    def compare(self, field: str, op: str, value: Value) -> Mask:
        self._check(field)
        if op not in _OPS or isinstance(value, bool | str):
            raise QueryError(f"filter: {field} is a number, so {op} {value!r} says nothing about it", f"{field} = 9")
        mask: Mask = _OPS[op](self._snapshot.column(field, slice(None)), value)
        return mask

    def missing(self, field: str) -> Mask:
        self._check(field)
        return np.zeros(self._snapshot.size, np.bool_)

    def _check(self, field: str) -> None:
        if field not in _COLUMNS:
            raise QueryError(f"filter: a bank has no field {field!r}", nearest(field, _COLUMNS))
