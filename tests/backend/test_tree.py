"""The tree of a local snapshot against brute force: live rows below nodes, bounds, sums, payloads, law 10."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tree_stores import SMALL, add, make_backend, make_vectors, remove

from assay.backend.local.backend import LocalBackend
from assay.backend.shared.node_impacts import ImpactBounds
from assay.protocols import DEFAULT_WEIGHTING, EntitySnapshot, TreeSnapshot
from assay.types import Query
from assay.where import parse


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[LocalBackend]:
    """A generation of 90 chunks, then 20 new ones and 20 deletions, of which 3 are new."""
    made = make_backend(tmp_path / "kb")
    add(made, range(90))
    made.build_tree(SMALL)
    add(made, range(90, 110))
    remove(made, [*range(0, 85, 5), 91, 95, 99])
    yield made
    made.close()


QUERY = Query("harbour office turbine-14", vector=make_vectors([3])[0])


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


def test_rows_of_terms_are_those_that_hold_them(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    links = snapshot.entities()
    terms = ["office", "turbine-14", "zorbflax", "harbour"]
    for query in (Query(), Query(where=parse('kind = "even"'), at=1e9 + 50)):
        owners, rows = links.rows_of_terms(terms, query)
        visible = np.flatnonzero(snapshot.tree().visible(query))
        held = [set(snapshot.terms(chunk.indexed_text)) for chunk in snapshot.chunks(visible)]
        for place, term in enumerate(terms):
            expected = [row for row, words in zip(visible.tolist(), held, strict=True) if term in words]
            assert rows[owners == place].tolist() == expected
    assert [len(part) for part in links.rows_of_terms([])] == [0, 0]


@pytest.mark.parametrize("stage", ["generation", "generation and tail", "tail"])
def test_terms_score_the_rows_of_their_group_as_a_search_does(tmp_path: Path, stage: str) -> None:
    made = make_backend(tmp_path / "kb")
    add(made, range(60))
    if stage != "tail":
        made.build_tree(SMALL)
    if stage == "generation and tail":
        add(made, range(60, 80))
        remove(made, [3, 10, 61])
    snapshot = made.snapshot()
    query = Query("harbour office turbine-14 of Anna Market zorbflax")
    every = np.sort(snapshot.live_rows(None))
    columns = {part.name: part.column for part in snapshot.lexical_at(query, every).parts}
    some, odd = every[::3], every[1::2]
    # Terms that the query lacks and terms that no chunk holds count for nothing; a group may be empty, or ask for none.
    terms = [{"harbour", "office", "report"}, {"turbine-14"}, {"zorbflax", "of"}, set(), set(columns)]
    groups = [some, every, odd, odd, some[:0]]
    found = snapshot.entities().score_terms(query, terms, groups)
    for held, rows, scores in zip(terms, groups, found, strict=True):
        wanted = np.zeros(len(every))
        for name, column in columns.items():
            if name in held:
                wanted += column
        assert scores.tolist() == wanted[np.isin(every, rows)].tolist()
    assert found[0].any()
    assert found[1].any()
    assert snapshot.entities().score_terms(query, [], []) == []
    assert snapshot.entities().score_terms(Query(""), [{"office"}], [every])[0].tolist() == [0.0] * len(every)
    made.close()


def test_bounds_of_one_query_are_not_those_of_another_thread(backend: LocalBackend) -> None:
    tree = backend.snapshot().tree()
    known, nodes = tree._bounds, np.arange(tree.size)
    other = Query("library glacier")
    terms = [tree.source.query_terms(query, DEFAULT_WEIGHTING) for query in (QUERY, other)]
    wanted = known.bound(nodes, terms[0]).copy()

    class Interrupted(ImpactBounds):
        """Another query is answered as soon as the bounds of the first are stored."""

        @property
        def _last(self) -> Any:
            return self.__dict__.get("stored")

        @_last.setter
        def _last(self, value: Any) -> None:
            self.__dict__["stored"] = value
            if value is not None and value[0] == tuple(terms[0].terms):
                self.bound(nodes, terms[1])

    bounds = Interrupted(tree.index, tree.lexical, tree.leaf_of_row, tree.second_leaf_of_row)
    assert bounds.bound(nodes, terms[0]).tolist() == wanted.tolist()


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


def test_centroids_are_those_of_live_rows(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    tree = snapshot.tree()
    for node in range(tree.size):
        mean = snapshot.vectors(tree.rows(node)).astype(np.float64).sum(axis=0)
        length = np.linalg.norm(mean)
        wanted = mean / length if length else mean
        assert tree.centroids[node] == pytest.approx(wanted, abs=2e-3)


def test_prototypes_are_live_rows_below_and_cover_them(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    tree = snapshot.tree()
    nodes = np.arange(tree.size)
    owners, rows, vectors = tree.prototypes(nodes)
    assert (vectors == snapshot.vectors(rows)).all()
    assert owners.tolist() == sorted(owners.tolist())
    for node in range(tree.size):
        chosen = rows[owners == node]
        below = tree.rows(node)
        assert set(chosen.tolist()) <= set(below.tolist())
        assert set(below[below >= 90].tolist()) <= set(chosen.tolist())  # a new row stands for itself
        if tree.child_count[node] == 0:
            assert set(chosen.tolist()) == set(below.tolist())  # a leaf of eight rows has room for all
    few = tree.prototypes(np.array([5, 2]))
    assert few[1][few[0] == 1].tolist() == rows[owners == 2].tolist()


def test_payloads_count_live_rows(backend: LocalBackend) -> None:
    snapshot = backend.snapshot()
    tree = snapshot.tree()
    for node in range(tree.size):
        payload = tree.payload(node)
        chunks = snapshot.chunks(tree.rows(node))
        assert payload.chunks == len(chunks)
        assert payload.tokens == sum(chunk.tokens for chunk in chunks)
        created = [chunk.created for chunk in chunks]
        assert payload.dates == ((min(created), max(created)) if chunks else None)
        assert set(payload.versions) == {chunk.meta["version"] for chunk in chunks}


def test_summaries_come_from_every_part_of_a_node(backend: LocalBackend) -> None:
    tree = backend.snapshot().tree()
    owners, rows = tree.payloads.summary_rows(np.arange(tree.size))
    for node in range(tree.size):
        payload = tree.payload(node)
        assert [one.row for one in payload.summary] == rows[owners == node].tolist()
        if payload.chunks:
            assert payload.summary
            assert payload.keywords
    # The root has six topics, and its summary does not speak of one of them only.
    topics = {int(row) % 6 for row in rows[owners == 0]}
    assert len(topics) >= 3
    assert tree.summary_vectors(np.array([0, 1])).shape == (2, 16)
    assert np.linalg.norm(tree.summary_vectors(np.array([0]))[0]) == pytest.approx(1.0, abs=1e-6)


def test_keywords_tell_siblings_apart(backend: LocalBackend) -> None:
    tree = backend.snapshot().tree()
    leaves = [node for node in range(tree.size) if tree.child_count[node] == 0 and len(tree.rows(node)) > 3]
    for leaf in leaves:
        topics = {int(row) % 6 for row in tree.rows(leaf)}
        assert "report" not in tree.payload(leaf).keywords[:1]  # all siblings say it
        assert len(topics) < 6
