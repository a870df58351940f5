"""The contract of a backend: after any puts, replacements, removals and compactions it answers as brute force does.

    def test_contract(tmp_path):
        check_backend(lambda: MyBackend(tmp_path))      # a factory: it is called again to reopen the same store

The oracle is `MemorySnapshot` over the chunks that should be alive. What a backend's snapshots do not list in
`capabilities` is not asked of it, but they must say why (`lacks`) and refuse it. A snapshot with `all_first` matches
all terms before any; the oracle then does the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, cast

import numpy as np

from assay.errors import LawBroken, QueryError, StoreError
from assay.protocols import (
    DEFAULT_WEIGHTING,
    Backend,
    GraphSnapshot,
    Matches,
    Snapshot,
    TermWeighting,
    TreeSnapshot,
    WalkSettings,
)
from assay.testing.components import check_members
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.trees import compare_tree
from assay.types import DAY, Chunk, Query, Vector, fold
from assay.where import parse

DIM = 8
KEEP: tuple[Literal["all", "reached", "new"], ...] = ("all", "reached", "new")
_LOST = 1e-8
"""What a walk may lose by stopping and by counting mass on a grid."""
_TEXT = """key signing rotate vault secret office lisbon travel policy budget the of and to in is cat sleeps day night
JINA_API_KEY v1.29.3 CVE-2024-1234 naïve Straße 東京都 данные server error retry timeout"""
_WORDS = tuple(_TEXT.split())
_QUERIES = (
    "rotate the signing key",
    "JINA_API_KEY",
    '"signing key" v1.29.3',
    "東京",
    "travel policy in Lisbon",
    "the of and",
    "",
    "zzz unknown words",
    "naive strasse",
    "key key key key rotate CVE-2024-1234 policy CVE-2024-1234",
)
_WEIGHTINGS = (DEFAULT_WEIGHTING, TermWeighting(0.0, split_identifiers=True), TermWeighting(1_000.0))
_FILTERS = (
    None,
    'lang = "en"',
    "n >= 3 and n < 8",
    'not (lang = "de") or flag = true',
    "created >= 1970-02-01",
    'tags in ("a", "c")',
    "title is missing",
    'doc_id != "d1" and n is not missing',
)


def random_chunk(rng: random.Random, number: int) -> Chunk:
    """A chunk with random words and facts; low numbers collide often, so that putting replaces."""
    words = [rng.choice(_WORDS) for _ in range(rng.choice((0, 1, 3, 8, 20)))]
    meta: dict[str, object] = {"lang": rng.choice(("en", "de", "fr")), "n": rng.randrange(10)}
    if rng.random() < 0.5:
        meta["title"] = rng.choice(_WORDS)
    if rng.random() < 0.5:
        meta["tags"] = rng.sample(("a", "b", "c"), rng.randrange(3))
    if rng.random() < 0.5:
        meta["flag"] = rng.random() < 0.5
    if rng.random() < 0.3:
        meta["scope"] = rng.choice(("x", "y"))
    created = float("nan") if rng.random() < 0.2 else rng.randrange(100) * DAY
    text = " ".join(words)
    return Chunk(f"c{number:03d}", f"d{number % 5}", text, len(words), created, rng.choice((0.0, 0.5, 1.0)), meta)


def random_vector(rng: random.Random) -> Vector | None:
    """A unit vector from a small grid, so that exact ties are common; sometimes none."""
    if rng.random() < 0.1:
        return None
    raw = np.array([rng.choice((-1.0, 0.0, 1.0)) for _ in range(DIM)])
    raw[rng.randrange(DIM)] += 0.5
    unit: Vector = (raw / np.linalg.norm(raw)).astype(np.float32)
    return unit


def check_backend(
    make: Callable[[], Backend], seed: int = 0, rounds: int = 12, *, k1: float = 1.2, b: float = 0.75
) -> None:
    """Put, replace, remove, compact and reopen at random; after each round compare every look-up with the oracle.

    `k1` and `b` are those of the backend's BM25.
    """
    rng = random.Random(seed)
    alive: dict[str, tuple[Chunk, Vector | None]] = {}
    history: list[tuple[int, dict[str, tuple[Chunk, Vector | None]]]] = []
    backend = make()
    _check_members(backend)
    dense = "dense" in backend.snapshot().capabilities
    for step in range(rounds):
        inserted = {c.id: (c, random_vector(rng) if dense else None) for c in _random_chunks(rng)}
        version = backend.put(inserted.values())
        alive.update(inserted)
        if alive and rng.random() < 0.7:
            deleted = rng.sample(sorted(alive), min(len(alive), rng.randrange(1, 12)))
            version = backend.remove(deleted)
            for name in deleted:
                del alive[name]
        if rng.random() < 0.4:
            backend.compact()
        if rng.random() < 0.3:
            backend.close()
            backend = make()
        history.append((version, dict(alive)))
        compare(backend.snapshot(), alive, f"seed {seed}, round {step}", rng, (k1, b))
    compare_parts(backend.snapshot(), alive, f"seed {seed}", random.Random(seed), (k1, b))
    if "graph" in backend.snapshot().capabilities:
        backend.compact()  # a graph's statistics may be those of the last index
        compare_walks(backend.snapshot(), alive, f"seed {seed}, compacted", rng)
    for version, then in rng.sample(history, min(3, len(history))):
        past = backend.snapshot(version)
        compare(past, then, f"seed {seed}, version {version}", rng, (k1, b))
        if "tree" in past.capabilities:
            compare_tree(past, [Query(text) for text in _QUERIES], f"seed {seed}, version {version}")
        if "graph" in past.capabilities:  # older than the index, so with statistics of its own
            compare_walks(past, then, f"seed {seed}, version {version}", rng)
    backend.close()


def _check_members(backend: Backend) -> None:
    """A method that the backend or its snapshots lack is named before anything is written."""
    check_members(backend, Backend, "backend")
    snapshot = backend.snapshot()
    check_members(snapshot, Snapshot, "backend's snapshot")
    if "graph" in snapshot.capabilities:
        check_members(snapshot, GraphSnapshot, "snapshot with a graph")
    if "tree" in snapshot.capabilities:
        check_members(snapshot, TreeSnapshot, "snapshot with a tree")


def _random_chunks(rng: random.Random) -> list[Chunk]:
    return [random_chunk(rng, number) for number in rng.sample(range(120), rng.randrange(1, 40))]


def compare(
    snapshot: Snapshot,
    alive: dict[str, tuple[Chunk, Vector | None]],
    where: str,
    rng: random.Random,
    bm25: tuple[float, float] = (1.2, 0.75),
) -> None:
    """Every kind of look-up against the oracle: same ids in the same order, same parts to the last bit but one."""
    chunks = [alive[name][0] for name in sorted(alive)]
    vectors = [alive[name][1] for name in sorted(alive)]
    matrix = np.array([np.zeros(DIM) if v is None else v for v in vectors], np.float32).reshape(len(chunks), DIM)
    oracle = MemorySnapshot(chunks, matrix, all_first=getattr(snapshot, "all_first", False), k1=bm25[0], b=bm25[1])
    _expect(snapshot.size == len(chunks), f"{where}: {snapshot.size} chunks, not {len(chunks)}")
    for text in _QUERIES:
        for k in (1, 5, 200):
            expression = rng.choice(_FILTERS)
            query = Query(
                text,
                vector=random_vector(rng) if "dense" in snapshot.capabilities else None,
                where=parse(expression) if expression else None,
                at=rng.choice((None, None, 50.0 * DAY)),
                scope=rng.choice((None, None, None, "x")),
            )
            weighting = rng.choice(_WEIGHTINGS)
            context = f"{where}, query {text!r} where {expression} k {k} {weighting}"
            _compare_query(snapshot, oracle, query, k, weighting, context)
    _check_lacking(snapshot, where)
    ids = np.array([c.id for c in chunks], np.str_)
    rows = snapshot.rows(ids)
    _expect(snapshot.ids(rows).tolist() == ids.tolist(), f"{where}: rows and ids disagree")
    _expect(_are_equal(snapshot.chunks(rows), chunks), f"{where}: chunks differ")
    _expect(bool((snapshot.rows(np.array(["nobody"])) == -1).all()), f"{where}: found an id that is not there")
    for name in ("created", "importance", "tokens", "chars", "n"):
        same = np.array_equal(snapshot.numbers(name, rows), oracle.numbers(name, oracle.rows(ids)), equal_nan=True)
        _expect(same, f"{where}: numbers({name}) differ")


def compare_parts(
    snapshot: Snapshot,
    alive: dict[str, tuple[Chunk, Vector | None]],
    where: str,
    rng: random.Random,
    bm25: tuple[float, float],
) -> None:
    """Where a snapshot can be restricted (`within`), its parts answer as if no other chunk had ever been there."""
    if not hasattr(snapshot, "within"):
        return
    for language in ("en", "de", "nowhere"):
        part = snapshot.within(parse(f'lang = "{language}"'))
        held = {name: pair for name, pair in alive.items() if pair[0].meta["lang"] == language}
        if len(held) > 12 or not held:  # every field of the filters occurs, as in the whole, or nothing is found
            compare(part, held, f"{where}, within {language}", rng, bm25)


def compare_walks(
    snapshot: Snapshot, alive: Mapping[str, tuple[Chunk, Vector | None]], where: str, rng: random.Random
) -> None:
    """Walks over the graph against the solved system: the same chunks, the same scores but for rounding."""
    chunks = [alive[name][0] for name in sorted(alive)]
    oracle = MemorySnapshot(chunks)
    for text in _QUERIES:
        names = np.array(rng.sample(sorted(alive), min(len(alive), rng.randrange(4))), np.str_)
        expression = rng.choice(_FILTERS)
        query = Query(
            text,
            where=parse(expression) if expression else None,
            at=rng.choice((None, 50.0 * DAY)),
            scope=rng.choice((None, None, "x")),
        )
        context = f"{where}, query {text!r} where {expression} scope {query.scope} from {names.tolist()}"
        damping, keep = rng.choice((0.2, 0.5, 0.8)), rng.choice(KEEP)
        walks = [WalkSettings(view.rows(names), damping, 0.5, keep, 0.0) for view in (snapshot, oracle)]
        try:
            expected = oracle.related(query, oracle.size + 1, walks[1])
        except QueryError:
            continue  # a field that no live chunk has
        found = cast(GraphSnapshot, snapshot).related(query, snapshot.size + 1, walks[0])
        got, want = _scores(snapshot, found), _scores(oracle, expected)
        _expect(got.keys() == want.keys(), f"{context}: reached {sorted(got)}, not {sorted(want)}")
        _expect(all(abs(got[n] - want[n]) < _LOST for n in got), f"{context}: scores {got}, not {want}")
        fewer = cast(GraphSnapshot, snapshot).related(query, 3, walks[0])
        _expect(fewer.rows.tolist() == found.rows[:3].tolist(), f"{context}: three are no prefix of all")


def _scores(snapshot: Snapshot, found: Matches) -> dict[str, float]:
    score = fold(found.parts, len(found.rows)).tolist()
    return {name: value for name, value in zip(snapshot.ids(found.rows).tolist(), score, strict=True) if value > _LOST}


def _check_lacking(snapshot: Snapshot, where: str) -> None:
    """What a backend cannot do it explains and refuses; it never answers with an empty list."""
    for capability in ("lexical", "dense", "exact", "graph", "tree"):
        lacking = capability not in snapshot.capabilities
        _expect(bool(snapshot.lacks(capability)) == lacking, f"{where}: lacks({capability!r}) is wrong")
    if "dense" not in snapshot.capabilities:
        try:
            snapshot.nearest(Query("key", vector=np.ones(DIM, np.float32)), 1)
        except StoreError:
            return
        _expect(False, f"{where}: nearest answered, though it is no capability")


def _compare_query(
    snapshot: Snapshot, oracle: MemorySnapshot, query: Query, k: int, weighting: TermWeighting, where: str
) -> None:
    lexical, oracle_lexical = (partial(view.lexical, weighting=weighting) for view in (snapshot, oracle))
    lookups: list[tuple[str, Callable[[Query, int], Matches], Callable[[Query, int], Matches]]]
    lookups = [("lexical", lexical, oracle_lexical), ("exact", snapshot.exact, oracle.exact)]
    if query.vector is not None:
        lookups.append(("nearest", snapshot.nearest, oracle.nearest))
    for name, search, search_oracle in lookups:
        try:
            expected = search_oracle(query, k)
        except QueryError:
            continue  # a field that no live chunk has; a backend may still know it from a dead one
        found = search(query, k)
        got, want = snapshot.ids(found.rows).tolist(), oracle.ids(expected.rows).tolist()
        _expect(got == want, f"{where}: {name} gave {got}, brute force {want}")
        _expect(_close(found, expected), f"{where}: {name} scores differ")
    oracle_rows = np.arange(oracle.size)
    rows = snapshot.rows(oracle.ids(oracle_rows))
    rated, expected = snapshot.lexical_at(query, rows, weighting), oracle.lexical_at(query, oracle_rows, weighting)
    _expect(_close(rated, expected), f"{where}: lexical_at differs from brute force")
    if oracle.size and rated.parts:
        same = bool(np.isclose(rated.ideal, expected.ideal, rtol=1e-9, atol=0))
        _expect(same, f"{where}: ideal is {rated.ideal}, not {expected.ideal}")


def _close(found: Matches, expected: Matches) -> bool:
    if not len(found.rows):
        return True
    got, want = ({p.name: p.column for p in matches.parts} for matches in (found, expected))
    return got.keys() == want.keys() and all(np.allclose(got[n], want[n], rtol=1e-12, atol=0) for n in got)


def _are_equal(one: Sequence[Chunk], other: Sequence[Chunk]) -> bool:
    """Equal chunks, where undated equals undated (NaN is not equal to itself)."""
    undated = [replace(c, created=-1.0) if c.created != c.created else c for c in one]
    return undated == [replace(c, created=-1.0) if c.created != c.created else c for c in other]


def _expect(holds: bool, complaint: str) -> None:
    if not holds:
        raise LawBroken(complaint)
