"""A snapshot in memory, searched by brute force: slow and plain, the oracle of every real backend.

    BM25     Σ_t idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · dl / avgdl))      k1 = 1.2, b = 0.75 unless given
    idf      ln(1 + (N − df + ½) / (df + ½))                  N, df and avgdl over all chunks, filtered or not
    cosine   Σ_i q_i · v_i in float64, rounded to float32
    exact    Σ weight of the query's keys that a chunk holds / Σ weight of all; a key weighs its rarest term's idf
    graph    personalised PageRank over chunks and the things in them, solved whole (see `memory_graph`)

Row i is the i-th chunk given. Look-ups are ordered by (score desc, id asc). With `all_first`, words are looked up as
lexical stores do that match all terms before any: if k visible chunks hold every term, only such chunks are ranked.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from assay.errors import QueryError, Reason, StoreError, nearest
from assay.protocols import DEFAULT_WEIGHTING, Matches, TermWeighting, WalkSettings
from assay.testing.memory_graph import MemoryGraph
from assay.text.analyser import Analyser
from assay.text.entities import find_spelling
from assay.text.identifiers import extract_identifiers
from assay.text.normalisation import normalise
from assay.types import Chunk, Floats, Ids, Part, Query, Rows, Vectors
from assay.where import Mask, Value, compare_values, parse

FACTS = ("created", "importance", "tokens", "chars")
NO_VECTORS = Reason("this snapshot has no vectors", "pass them to MemorySnapshot")


class MemorySnapshot:
    """Implements `protocols.Snapshot` over chunks and, if given, their vectors (unit rows; zero where none)."""

    def __init__(
        self,
        chunks: Sequence[Chunk],
        vectors: Vectors | None = None,
        analyser: Analyser | None = None,
        all_first: bool = False,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.all_first = all_first
        self._k1, self._b = k1, b
        self._chunks = list(chunks)
        self._vectors = vectors
        self._analyser = analyser or Analyser()
        self._terms = [self._analyser.terms(chunk.indexed_text) for chunk in chunks]
        self._average = sum(len(terms) for terms in self._terms) / max(self.size, 1) or 1.0
        self._columns = _MemoryColumns(self._chunks)

    @property
    def digest(self) -> str:
        text = repr([(c.id, c.doc_id, c.text, c.tokens, c.created, c.importance, dict(c.meta)) for c in self._chunks])
        vectors = b"" if self._vectors is None else np.asarray(self._vectors, "<f4").tobytes()
        parameters = "" if (self._k1, self._b) == (1.2, 0.75) else f"|{self._k1}|{self._b}"
        body = f"{self._analyser.digest}|{text}{parameters}".encode("utf-8", "surrogatepass") + vectors
        return hashlib.sha256(body).hexdigest()

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"lexical", "exact", "graph", *(() if self._vectors is None else ("dense",))})

    @property
    def size(self) -> int:
        return len(self._chunks)

    def lacks(self, capability: str) -> Reason | None:
        if capability in self.capabilities:
            return None
        return NO_VECTORS if capability == "dense" else Reason(f"a memory snapshot cannot do {capability!r}")

    # -- finding

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        found = self.lexical_at(query, np.array(self._visible(query), np.int64), weighting)
        columns = {row: [float(part.column[i]) for part in found.parts] for i, row in enumerate(found.rows.tolist())}
        hits = {row: column for row, column in columns.items() if any(column)}
        whole = {row: column for row, column in hits.items() if all(column)}
        if self.all_first and len(whole) >= k:
            hits = whole
        return self._found(hits, [part.name for part in found.parts], k, ideal=found.ideal)

    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        counts, k3 = self._analyser.query_term_counts(query.text, weighting.split_identifiers), weighting.k3
        weights = {term: self._idf(term) * (n * (k3 + 1.0) / (n + k3)) for term, n in counts.items()}
        columns = {t: [w * self._saturation(t, row) for row in rows.tolist()] for t, w in weights.items()}
        parts = tuple(Part(term, "add", np.array(column, np.float64)) for term, column in columns.items())
        return Matches(rows, parts, (self._k1 + 1.0) * sum(weights.values()))

    def nearest(self, query: Query, k: int) -> Matches:
        if self._vectors is None:
            raise NO_VECTORS.as_error(StoreError)
        vector = query.vector
        if vector is None or vector.shape != self._vectors.shape[1:]:
            raise QueryError(f"nearest needs a query vector of length {self._vectors.shape[1]}")
        products = {
            row: math.fsum(float(q) * float(v) for q, v in zip(vector, self._vectors[row], strict=True))
            for row in self._visible(query)
            if self._vectors[row].any()
        }
        return self._found({row: [float(np.float32(p))] for row, p in products.items()}, ["cosine"], k, ideal=1.0)

    def exact(self, query: Query, k: int) -> Matches:
        keys = [key for key in extract_identifiers(query.text)[:32] if self._analyser.terms(key)]
        weights = [max(self._idf(term) for term in self._analyser.terms(key)) for key in keys]
        columns = {
            row: [w / sum(weights) if self._holds(row, key) else 0.0 for key, w in zip(keys, weights, strict=True)]
            for row in self._visible(query)
        }
        return self._found({row: column for row, column in columns.items() if any(column)}, keys, k, ideal=1.0)

    def spelling(self, text: str, key: str) -> str:
        return find_spelling(text, key)

    def related(self, query: Query, k: int, walk: WalkSettings) -> Matches:
        """What a walk reaches (see `memory_graph`), in parts: where it began, each way it came, and what stays."""
        names, flow, begun = self._graph.walk_all(query.text, walk, self._visible(query))
        begun = begun if walk.keep == "all" else np.zeros(self.size)
        rows = [row for row in range(self.size) if walk.keep != "new" or row not in walk.seeds]
        whole = [begun, *flow]
        hits = {row: [float(part[row]) for part in whole] for row in rows if any(part[row] > 0.0 for part in whole)}
        found = self._found(hits, ["seed", *names], k, ideal=1.0)
        settled = Part("settled", "mul", np.full(len(found.rows), 1.0 - walk.damping))
        return Matches(found.rows, (*found.parts, settled) if len(found.rows) else (), ideal=1.0)

    @cached_property
    def _graph(self) -> MemoryGraph:
        return MemoryGraph(self._chunks, self._terms, self._analyser)

    def _found(self, hits: Mapping[int, Sequence[float]], names: Sequence[str], k: int, ideal: float) -> Matches:
        def place(row: int) -> tuple[float, str]:
            score = 0.0
            for value in hits[row]:
                score += value
            return -score, self._chunks[row].id

        best = sorted(hits, key=place)[:k]
        columns = [np.array([hits[row][i] for row in best], np.float64) for i in range(len(names))]
        parts = tuple(Part(name, "add", column) for name, column in zip(names, columns, strict=True))
        return Matches(np.array(best, np.int64), parts, ideal)

    def _visible(self, query: Query) -> list[int]:
        """Rows the query may see: its filter holds, its scope is theirs, and they were not created after `at`."""
        wanted = np.ones(self.size, np.bool_) if query.where is None else query.where.mask(self._columns)
        return [
            row
            for row, chunk in enumerate(self._chunks)
            if wanted[row]
            and (query.scope is None or compare_values(chunk.meta.get("scope"), "=", query.scope))
            and not (query.at is not None and chunk.created > query.at)
        ]

    def _idf(self, term: str) -> float:
        holding = sum(term in terms for terms in self._terms)
        return math.log(1.0 + (self.size - holding + 0.5) / (holding + 0.5))

    def _saturation(self, term: str, row: int) -> float:
        tf, dl = self._terms[row].count(term), len(self._terms[row])
        if not tf:
            return 0.0
        return tf * (self._k1 + 1.0) / (tf + self._k1 * (1.0 - self._b + self._b * dl / self._average))

    def _holds(self, row: int, key: str) -> bool:
        """A chunk holds a key when it has all its terms, and the key itself, letter for letter."""
        return set(self._analyser.terms(key)) <= set(self._terms[row]) and key in normalise(
            self._chunks[row].indexed_text
        )

    # -- facts by row

    def rows(self, ids: Ids) -> Rows:
        row_of = {chunk.id: row for row, chunk in enumerate(self._chunks)}
        return np.array([row_of.get(str(name), -1) for name in ids], np.int64)

    def ids(self, rows: Rows) -> Ids:
        return np.array([self._chunks[row].id for row in rows], np.str_)

    def chunks(self, rows: Rows) -> list[Chunk]:
        return [self._chunks[row] for row in rows]

    def vectors(self, rows: Rows) -> Vectors:
        return np.zeros((len(rows), 1), np.float32) if self._vectors is None else self._vectors[rows]

    def numbers(self, name: str, rows: Rows) -> Floats:
        return np.array([_number(self._chunks[row], name) for row in rows], np.float64)

    def matches(self, expression: str, rows: Rows) -> Mask:
        return parse(expression).mask(self._columns)[rows]

    def terms(self, text: str) -> list[str]:
        return self._analyser.terms(text)

    def term_weights(self, text: str) -> Mapping[str, float]:
        return {term: self._idf(term) for term in self._analyser.query_terms(text)}


class _MemoryColumns:
    """What a filter sees, chunk by chunk: the plain values of a field, a list being several."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._facts = [_facts(chunk) for chunk in chunks]
        self._kinds: dict[str, set[type]] = {"id": {str}, "doc_id": {str}, **{name: {float} for name in FACTS}}
        for facts in self._facts:
            for field, values in facts.items():
                self._kinds.setdefault(field, set()).update(type(value) for value in values)

    def compare(self, field: str, op: str, value: Value) -> Mask:
        self._check(field)
        if type(value) not in self._kinds[field]:
            raise QueryError(f"filter: {field} holds nothing that compares with {value!r}", "text stands in quotes")
        if (op == "~" and type(value) is not str) or (type(value) is bool and op not in ("=", "!=")):
            raise QueryError(f"filter: {op} does not go with {value!r}", "use = or !=, or compare text with ~")
        held = [any(compare_values(v, op, value) for v in facts.get(field, ())) for facts in self._facts]
        return np.array(held, np.bool_)

    def missing(self, field: str) -> Mask:
        self._check(field)
        return np.array([not facts.get(field) for facts in self._facts], np.bool_)

    def _check(self, field: str) -> None:
        if field not in self._kinds:
            raise QueryError(f"filter: no chunk has a field {field!r}", nearest(field, self._kinds))


def _facts(chunk: Chunk) -> dict[str, list[Value]]:
    """A chunk's fields as a filter names them; its own facts win over metadata of the same name."""
    facts: dict[str, list[Value]] = {}
    for field, value in chunk.meta.items():
        members = value if isinstance(value, list | tuple) else [value]
        plain = [float(m) if type(m) is int else m for m in members if isinstance(m, str | bool | int | float)]
        if plain:
            facts[field] = plain
    for name in FACTS:
        number = _number(chunk, name)
        facts[name] = [] if math.isnan(number) else [number]
    return {**facts, "id": [chunk.id], "doc_id": [chunk.doc_id]}


def _number(chunk: Chunk, name: str) -> float:
    if name in FACTS:
        return float(len(chunk.text)) if name == "chars" else float(getattr(chunk, name))
    value = chunk.meta.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
