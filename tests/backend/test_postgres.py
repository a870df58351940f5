"""The team's backend against brute force and against the embedded one, over a real server."""

import contextlib
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.backend.postgres import connections as connect
from assay.backend.postgres.backend import PostgresBackend
from assay.backend.postgres.connections import MAX_CONNECTIONS, Address
from assay.backend.postgres.store import PostgresStore
from assay.errors import QueryError, Reason, StoreBusy, StoreError
from assay.store.rows import FileState, encode_row
from assay.store.validation import IdInUse
from assay.testing.backends import DIM, check_backend, random_chunk, random_vector
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.stores import check_store
from assay.types import Chunk, Query
from assay.where import parse
from tests.backend.test_local import backend as local_backend

SETTINGS = {"embedder": "test", "model": "m", "dim": DIM, "language": "english", "profile": "default"}


def opened(address: str, index_from: int = 10_000, dim: int = DIM) -> PostgresBackend:
    where = Address.parse(address)
    exists = PostgresStore.exists(where)
    store = PostgresStore.open(where) if exists else PostgresStore.create(where, {**SETTINGS, "dim": dim})
    return PostgresBackend(store, Reason("made without a model"), index_from=index_from)


@pytest.mark.parametrize("seed", range(3))
def test_contract(database: str, seed: int) -> None:
    check_backend(lambda: opened(database), seed, rounds=6)


@pytest.mark.parametrize("seed", range(2))
def test_record(database: str, tmp_path: Path, seed: int) -> None:
    check_store(lambda: opened(database).store, tmp_path / "oracle", seed, rounds=15)


def test_an_id_of_another_file_is_refused_at_once(database: str) -> None:
    """Chunks of many files are sent together; who moves to another file first leaves his own, as everywhere."""
    backend = opened(database, dim=0)
    chunk, other = encode_row(Chunk("x", "d", "moves", 1)), encode_row(Chunk("y", "d", "stays", 1))
    with backend.store.write("add") as writer:
        writer.put_file(FileState("docs/a", "docs", "1", 1), [(chunk, None)])
    for taken in ([(chunk, None)], [(other, None)] * 2):
        with contextlib.suppress(KeyError), backend.store.write("move") as writer:
            with pytest.raises(IdInUse, match="already in use"):
                writer.put_file(FileState("docs/b", "docs", "2", 1), taken)
            raise KeyError  # undoes the rest
    with backend.store.write("move") as writer:
        writer.put_file(FileState("docs/a", "docs", "2", 1), [])
        writer.put_file(FileState("docs/b", "docs", "2", 1), [(chunk, None)])
        writer.put_file(FileState("docs/b", "docs", "3", 1), [(chunk, None), (other, None)])  # twice: the second counts
    assert (writer.inserted, writer.deleted, writer.unchanged) == (2, 1, 1)
    assert backend.store.live_chunks_of("docs/b").keys() == {"x", "y"}
    assert backend.store.find_damage(deep=True) == ""
    backend.close()


def test_contract_without_vectors(database: str) -> None:
    check_backend(lambda: opened(database, dim=0), 7, rounds=4)


def test_frequent_terms_never_change_an_answer(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the first guess at the rare terms is, what is proven equals brute force."""
    monkeypatch.setattr("assay.backend.postgres.maxscore._LIKELY", 1e9)
    check_backend(lambda: opened(database), 11, rounds=4)


def corpus(size: int, seed: int = 1) -> list[tuple[Chunk, np.ndarray | None]]:
    rng = random.Random(seed)
    return [(random_chunk(rng, number), random_vector(rng)) for number in range(size)]


def test_the_server_says_how_far_its_index_is(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.backend.postgres.upkeep._POLL_S", 0.002)
    backend = opened(database, index_from=1_000)
    near = np.random.default_rng(3).normal(size=(4_000, DIM)).astype(np.float32)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    backend.put((Chunk(f"c{i}", "d", "", 0), near[i]) for i in range(len(near)))
    steps: list[tuple[str, int, int]] = []
    assert backend.compact(lambda *step: steps.append(step))
    assert {what for what, _, _ in steps} == {"indexing vectors"}
    between = [(done, total) for _, done, total in steps if total > 1]
    assert between == sorted(between)
    assert all(0 <= done <= total for done, total in between)
    assert between
    assert steps[-1] == ("indexing vectors", 1, 1)
    backend.close()


def test_scores_are_those_of_the_embedded_store(database: str, tmp_path: Path) -> None:
    """Bit for bit: the same chunks, asked for one by one, so that both rank the same set."""
    items = corpus(120)
    here, there = local_backend(tmp_path / "kb"), opened(database)
    for backend in (here, there):
        backend.put(items)
        backend.remove([f"c{number:03d}" for number in range(0, 120, 7)])
    for text in ("rotate the signing key", "東京", "travel policy in Lisbon", "naive strasse"):
        query = Query(text, vector=items[5][1])
        for verb in ("lexical", "nearest"):
            mine, theirs = (getattr(b.snapshot(), verb)(query, 200) for b in (there, here))
            assert there.snapshot().ids(mine.rows).tolist() == here.snapshot().ids(theirs.rows).tolist()
            for one, other in zip(mine.parts, theirs.parts, strict=True):
                assert one.name == other.name
                assert one.column.tobytes() == other.column.tobytes()
        assert there.snapshot().term_weights(text) == here.snapshot().term_weights(text)
    here.close()
    there.close()


def unit(rng: np.random.Generator, size: int) -> np.ndarray:
    raw = rng.standard_normal((size, DIM)).astype(np.float32)
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def test_the_index_proposes_and_the_whole_vectors_decide(database: str) -> None:
    rng = np.random.default_rng(3)
    vectors = unit(rng, 1_500)
    chunks = [Chunk(f"c{i:04d}", f"d{i}", "text", 1, meta={"n": i}) for i in range(1_500)]
    backend = opened(database, index_from=1_000)
    backend.put(zip(chunks, vectors, strict=True))
    before = backend.snapshot()
    assert before.nearest(Query(vector=vectors[0]), 10).notes[0].text.startswith("pgvector looked at every")
    assert backend.pending == 1_500
    assert backend.compact()
    assert backend.pending == 0
    view = backend.snapshot()
    assert view.digest != before.digest  # the graph is not canonical: an answer by it is another answer
    oracle = MemorySnapshot(chunks, vectors)
    recalled = 0
    for asked in unit(rng, 30):
        found, expected = (s.nearest(Query(vector=asked), 10) for s in (view, oracle))
        assert "HNSW" in found.notes[0].text
        ids = set(view.ids(found.rows)) & set(oracle.ids(expected.rows))
        recalled += len(ids)
        known = dict(zip(oracle.ids(expected.rows), expected.parts[0].column, strict=True))
        for name, score in zip(view.ids(found.rows), found.parts[0].column, strict=True):
            assert score == known.get(name, score)
    assert recalled >= 290
    few = view.nearest(Query(vector=vectors[3], where=parse("n < 40")), 40)  # a filter that keeps little: exact
    assert len(few.rows) == 40
    half = view.nearest(Query(vector=vectors[3], where=parse("n >= 300")), 100)
    assert "HNSW" in half.notes[0].text
    assert len(half.rows) == 100
    assert (view.numbers("n", half.rows) >= 300).all()
    backend.close()


@pytest.mark.parametrize("alike", [1, 10, 90])
def test_ties_at_the_end_are_all_looked_at(database: str, alike: int) -> None:
    """Equal vectors, fewer and more than are fetched beside the wanted ones: the smallest ids win."""
    rng = np.random.default_rng(5)
    vectors = unit(rng, 100)
    vectors[:alike] = vectors[0]
    order = rng.permutation(100)
    chunks = [Chunk(f"c{order[i]:03d}", "d", "t", 1) for i in range(100)]
    backend = opened(database)
    backend.put(zip(chunks, vectors, strict=True))
    view, oracle = backend.snapshot(), MemorySnapshot(chunks, vectors)
    for k in (1, 5, 95, 200):
        found, expected = (s.nearest(Query(vector=vectors[0]), k) for s in (view, oracle))
        assert view.ids(found.rows).tolist() == oracle.ids(expected.rows).tolist()
    backend.close()


def test_a_filter_that_the_graph_cannot_serve_is_answered_exactly(database: str) -> None:
    """All matching rows lie far from the question, and there are many of them: the list is still whole."""
    rng = np.random.default_rng(4)
    near, far = np.zeros(DIM, np.float32), np.zeros(DIM, np.float32)
    near[0], far[0] = 1.0, -1.0
    noise = unit(rng, 3_000) * 0.05
    vectors = np.concatenate([near + noise[:2_000], far + noise[2_000:]])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chunks = [Chunk(f"c{i:04d}", "d", "t", 1, meta={"side": "near" if i < 2_000 else "far"}) for i in range(3_000)]
    backend = opened(database, index_from=100)
    backend.put(zip(chunks, vectors.astype(np.float32), strict=True))
    backend.compact()
    asked = Query(vector=near, where=parse('side = "far"'))
    found = backend.snapshot().nearest(asked, 500)
    assert len(found.rows) == 500
    assert "HNSW" in found.notes[0].text
    backend.close()
    given_up = "-c%20enable_sort%3Doff%20-c%20hnsw.max_scan_tuples%3D50"  # only the graph is asked, and gives up early
    short = opened(f"{database}&options={given_up}", index_from=100)
    found = short.snapshot().nearest(asked, 500)
    assert len(found.rows) == 500
    assert "looked at every visible vector" in found.notes[0].text
    short.close()


# -- words


def said(database: str, texts: list[str], query: str, k: int) -> tuple[list[str], str]:
    backend = opened(database, dim=0)
    backend.put((Chunk(f"c{i}", f"d{i}", text, 1), None) for i, text in enumerate(texts))
    view = backend.snapshot()
    found = view.lexical(Query(query), k)
    ids = view.ids(found.rows).tolist()
    backend.close()
    return ids, found.notes[-1].text


def test_all_terms_first(database: str) -> None:
    texts = ["key signing", "signing the key", "key key key key", "signing signing", "other words"]
    ids, note = said(database, texts, "signing key", 2)
    assert set(ids) == {"c0", "c1"}
    assert "all 2 terms stand in 2 or more chunks" in note
    assert "Assay's BM25" in note


def test_any_term_when_too_few(database: str) -> None:
    texts = ["key signing", "signing the key", "key key key key", "signing signing", "other words"]
    ids, note = said(database, texts, "signing key", 3)
    assert len(ids) == 3
    assert "all 2 terms stand in 2 chunks: too few" in note


def test_frequent_terms_do_not_propose(database: str) -> None:
    texts = ["common zebra"] * 3 + ["common word here"] * 200
    ids, note = said(database, texts, "zebra common nowhere", 3)
    assert ids == ["c0", "c1", "c2"]
    assert "enough of them (proven)" in note


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE chunk; --", "%s %(x)s {} $1", 'a & b | !c:*  "', "NULL", "\\", "a" * 5_000, "🙂 | ( <-> )"]
)
def test_any_text_is_a_legal_query(database: str, text: str) -> None:
    backend = opened(database, dim=0)
    backend.put([(Chunk("c", "d", f"words and {text}", 2), None)])
    view = backend.snapshot()
    view.lexical(Query(text), 5)
    view.exact(Query(f'"{text}" {text}'), 5)
    assert view.chunks(view.rows(np.array(["c"])))[0].text == f"words and {text}"
    backend.close()


# -- filters


VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
)
ODD = 'say "$.x[*]" \\ 😀'
METAS = st.dictionaries(
    st.sampled_from(["a", "b", "İ x", ODD]), st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=3
)
LITERALS = st.one_of(st.text(st.characters(codec=None), max_size=4), st.booleans(), st.floats(-1e9, 1e9))


@given(metas=st.lists(METAS, min_size=1, max_size=6), op=st.sampled_from(["=", "!=", "<", ">=", "~"]), value=LITERALS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_filters_mean_what_they_mean_everywhere(filtered: PostgresBackend, metas: list, op: str, value: object) -> None:
    from assay.where import Compare, Missing, Not

    chunks = [Chunk(f"c{i}", "D", "t", 1, meta=meta) for i, meta in enumerate(metas)]
    filtered.remove([f"c{i}" for i in range(6)])
    filtered.put((chunk, None) for chunk in chunks)
    view, oracle = filtered.snapshot(), MemorySnapshot(chunks)
    for where in (
        Compare("a", op, value),
        Compare(ODD, op, value),
        Not(Compare("a", op, value)),
        Missing("b"),
        Compare("doc_id", "~", "d"),
    ):
        try:
            expected = oracle.ids(np.flatnonzero(where.mask(oracle._columns))).tolist()
        except QueryError:
            continue
        assert view.ids(view.live_rows(where)).tolist() == expected
        for few in (0, 20_000):  # as a condition, and by name
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("assay.backend.postgres.version_view.MAX_ROWS_BY_SEQ", few)
                found = filtered.snapshot().lexical(Query("t", where=where), 10)
            assert sorted(view.ids(found.rows).tolist()) == expected


def test_a_moment_hides_what_came_later_and_only_that(database: str) -> None:
    backend = opened(database, dim=0)
    dated = [Chunk(f"c{i}", "d", "t", 1, created=float(day)) for i, day in enumerate([10, 20, 30])]
    backend.put((chunk, None) for chunk in [*dated, Chunk("undated", "d", "t", 1)])
    view = backend.snapshot()
    for at, seen in ((9.0, 1), (10.0, 2), (29.9, 3), (30.0, 4), (1e12, 4)):
        assert len(view.lexical(Query("t", at=at), 10).rows) == seen
        assert len(view.lexical(Query("t", at=at, where=parse("created is missing")), 10).rows) == 1
    assert len(backend.snapshot().lexical(Query("t", at=5.0, where=parse("created > 1970-01-01")), 10).rows) == 0
    backend.close()


@pytest.fixture
def filtered(database: str):  # type: ignore[no-untyped-def]
    backend = opened(database, dim=0)
    yield backend
    backend.close()


def test_an_unknown_field_is_an_error(filtered: PostgresBackend) -> None:
    filtered.put([(Chunk("c", "d", "t", 1, meta={"lang": "en"}), None)])
    with pytest.raises(QueryError, match="did you mean 'lang'"):
        filtered.snapshot().lexical(Query("t", where=parse('lnag = "en"')), 1)
    with pytest.raises(QueryError, match="lang holds text"):
        filtered.snapshot().lexical(Query("t", where=parse("lang > 3")), 1)


# -- time


def test_a_snapshot_does_not_move(database: str) -> None:
    backend, other = opened(database), opened(database)
    backend.put(corpus(30))
    view = backend.snapshot()
    query = Query("signing key", vector=corpus(30)[0][1])
    verbs = ("lexical", "nearest", "exact")

    def answers() -> list[tuple[list[str], list[bytes]]]:
        found = [getattr(view, verb)(query, 10) for verb in verbs]
        return [(view.ids(f.rows).tolist(), [p.column.tobytes() for p in f.parts]) for f in found]

    before, size, digest = answers(), view.size, view.digest
    other.remove([f"c{i:03d}" for i in range(0, 30, 2)])
    other.put([(Chunk("new", "d", "signing key signing key", 4), None)])
    view = backend.snapshot(view.version)  # none of what it remembers: everything is asked anew
    assert (answers(), view.size, view.digest) == (before, size, digest)
    assert backend.snapshot().size == size - 15 + 1
    with pytest.raises(StoreError, match="no version 99"):
        backend.snapshot(99)
    for one in (backend, other):
        one.close()


def test_forgetting_and_erasing_leave_nothing(database: str) -> None:
    backend = opened(database, dim=0)
    backend.put([(Chunk("a", "d1", "platypus stays", 2), None), (Chunk("b", "d2", "ornithorhynchus goes", 2), None)])
    version = backend.remove(["b"])
    assert backend.forget(version) == 1
    with pytest.raises(StoreError, match=f"keeps v{version}"):
        backend.snapshot(version - 1)
    known = {row[0] for row in backend.store.read(lambda db: db.execute("SELECT term FROM term").fetchall())}
    assert any(term.startswith("platyp") for term in known)
    assert not any(term.startswith("ornitho") for term in known)
    done = backend.erase(["d1"], "purged")
    assert "1 row of all versions" in done.erased[0]
    assert "write-ahead log" in done.unreached[0]
    assert backend.store.states("") == []
    assert backend.snapshot().size == 0
    assert backend.store.find_damage(deep=True) == ""
    backend.close()


def test_two_writers_wait_for_each_other(database: str) -> None:
    """Versions are given in turn; every chunk of both is there, and terms are counted as they stand."""
    from threading import Thread

    backends = [opened(database, dim=0) for _ in range(2)]

    def write(which: int) -> None:
        for i in range(15):
            backends[which].put([(Chunk(f"w{which}-{i}", f"d{i}", f"shared words {which} {i}", 4), None)])

    threads = [Thread(target=write, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert backends[0].snapshot().version == 30
    assert backends[1].snapshot().size == 30
    assert backends[0].store.find_damage(deep=True) == ""
    for backend in backends:
        backend.close()


def test_more_threads_than_connections_wait_for_each_other(database: str) -> None:
    """Whoever has the turn reads and writes over further connections; those who wait must not hold them all."""
    from threading import Barrier, Thread

    backend = opened(database, dim=0)
    many = 2 * MAX_CONNECTIONS
    start, problems = Barrier(many), []

    def work(number: int) -> None:
        start.wait()
        try:
            with backend.store.lock("memory"):
                backend.put([(Chunk(f"c{number}", "d", "words", 1), None)])
            with backend.store.write("tag") as writer:
                writer.tag(f"t{number}", backend.store.version())  # as `assay tag` does
        except StoreError as error:
            problems.append(error)

    threads = [Thread(target=work, args=(number,)) for number in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert backend.snapshot().size == len(backend.store.tags()) == many
    backend.close()


def test_a_pool_that_is_used_up_says_so(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = opened(database, dim=0)
    with contextlib.ExitStack() as held:
        for _ in range(MAX_CONNECTIONS):
            held.enter_context(backend.store.autocommit())
        monkeypatch.setattr(connect, "_TIMEOUT", 0.1)
        with pytest.raises(StoreBusy, match="every connection of this process is in use") as told:
            backend.snapshot()
    assert "fewer threads" in told.value.cure
    monkeypatch.undo()
    assert backend.snapshot().size == 0
    backend.close()
