"""The tree of a local snapshot against brute force: live rows below nodes, bounds, sums, payloads, law 10."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assay.backend.local.backend import LocalBackend
from assay.index.tree.layout import TreeSettings
from assay.protocols import EntitySnapshot, TreeSnapshot
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Query, Vectors
from assay.where import parse

DIM = 16
TOPICS = ("harbour", "orchard", "turbine", "library", "glacier", "market")
SMALL = TreeSettings(branching=4, levels=3, leaf_min=4, leaf_cap=8)


def make_chunk(number: int, topic: str) -> Chunk:
    text = f"The {topic} report names Anna {topic.title()}. Item {topic}-{number} costs {number} euros in the {topic} office."
    meta = {
        "title": f"About {topic}",
        "section": "",
        "version": f"{number % 3}.0",
        "kind": "even" if number % 2 == 0 else "odd",
    }
    return Chunk(f"c{number:04d}", f"d{number}", text, 20, created=1e9 + number, meta=meta)


def make_chunks(first: int, end: int) -> list[Chunk]:
    return [make_chunk(number, TOPICS[number % len(TOPICS)]) for number in range(first, end)]


def make_vectors(chunks: list[Chunk]) -> Vectors:
    """A direction for each topic, and noise that depends on the chunk alone."""
    vectors = np.zeros((len(chunks), DIM), np.float32)
    for place, chunk in enumerate(chunks):
        number = int(chunk.id[1:])
        vectors[place] = np.random.default_rng(number).normal(0, 0.15, DIM)
        vectors[place, number % len(TOPICS)] += 1.0
    return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)


def add(backend: LocalBackend, chunks: list[Chunk]) -> None:
    backend.put(list(zip(chunks, make_vectors(chunks), strict=True)))


def make_backend(folder: Path) -> LocalBackend:
    settings = {"embedder": "x", "model": "m", "dim": DIM, "language": "english", "profile": "default"}
    return LocalBackend(SqliteStore.create(folder, settings), Analyser(), "m", DIM)


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[LocalBackend]:
    """A generation of 90 chunks, then 20 new ones and 20 deletions, of which 3 are new."""
    made = make_backend(tmp_path / "kb")
    add(made, make_chunks(0, 90))
    made.build_tree(SMALL)
    add(made, make_chunks(90, 110))
    made.remove([f"c{number:04d}" for number in (*range(0, 85, 5), 91, 95, 99)])
    yield made
    made.close()


QUERY = Query("harbour office turbine-14", vector=make_vectors(make_chunks(3, 4))[0])


def test_the_snapshot_has_the_tree_and_its_links(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    assert "tree" in snapshot.capabilities
    assert isinstance(snapshot, TreeSnapshot)
    assert isinstance(snapshot, EntitySnapshot)


def test_rows_below_a_node_are_the_live_rows_of_its_leaves(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    tree = snapshot.tree()
    live = snapshot.live_rows(None)
    assert len(live) == 90
    assert tree.rows(0).tolist() == sorted(live.tolist())
    assert np.flatnonzero(tree.leaf_of_row >= 0).tolist() == sorted(live.tolist())
    for node in range(tree.size):
        children = tree.children(node)
        if len(children):
            assert sorted(row for child in children for row in tree.rows(child)) == tree.rows(node).tolist()
        else:
            assert tree.rows(node).tolist() == np.flatnonzero(tree.leaf_of_row == node).tolist()


def test_bounds_hold_for_every_live_row(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    tree = snapshot.tree()
    bounds = tree.impacts(np.arange(tree.size), QUERY)
    for node in range(tree.size):
        matches = snapshot.lexical_at(QUERY, tree.rows(node))
        scores = np.stack([part.column for part in matches.parts], axis=1)
        assert (scores <= bounds[node] + 1e-12).all()
        if len(scores):  # close: the mean length has changed little
            assert bounds[node] == pytest.approx(scores.max(axis=0), rel=0.05)
        else:
            assert not bounds[node].any()


def test_row_scores_are_those_of_searches(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    for query in (QUERY, Query(QUERY.text, vector=QUERY.vector, where=parse('kind = "even"'), at=1e9 + 50)):
        scores = snapshot.tree().row_scores(query)
        words, vectors = snapshot.lexical(query, 200), snapshot.nearest(query, 200)
        assert scores.rows.tolist() == sorted(vectors.rows.tolist())
        place = np.searchsorted(scores.rows, words.rows)
        assert (scores.bm25[place] == sum(part.column for part in words.parts)).all()
        assert np.count_nonzero(scores.bm25) == len(words.rows)
        assert scores.ideal == words.ideal
        place = np.searchsorted(scores.rows, vectors.rows)
        assert scores.cosine[place] == pytest.approx(vectors.parts[0].column, abs=1e-3)


def test_entities_link_live_rows_only(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    postings = snapshot.entities()
    chunks = dict(zip(snapshot.live_rows(None).tolist(), snapshot.chunks(snapshot.live_rows(None)), strict=True))
    row = int(snapshot.rows(np.array(["c0092"]))[0])
    _, entities = postings.entities_of(np.array([row]))
    names = [postings.name(int(entity)) for entity in entities]
    assert "anna turbine" in names
    entity = entities[names.index("anna turbine")]
    _, rows = postings.rows_of(np.array([entity]))
    wanted = sorted(row for row, chunk in chunks.items() if "turbine" in chunk.text)
    assert sorted(rows.tolist()) == wanted
    assert postings.frequency(np.array([entity])).tolist() == [len(wanted)]
    _, rows = postings.rows_of(np.array([entity]), Query(where=parse('kind = "even"')))
    assert sorted(rows.tolist()) == [row for row in wanted if chunks[row].meta["kind"] == "even"]
    assert entity in postings.query_entities("what did Anna Turbine say?")
