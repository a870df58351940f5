"""The leg beam on a real store: brute force, filters, hops, bad input, the record of its decisions."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.backend.local.backend import LocalBackend
from assay.config.load import loads
from assay.errors import ConfigError
from assay.index.vectors import exact_scores
from assay.legs.beam import Beam
from assay.legs.bridge import Bridge
from assay.legs.collapsed import Collapsed, find_nearest
from assay.legs.hierarchy.query_entities import QueryEntities
from assay.legs.hierarchy.weights import ScoreWeights
from assay.protocols import Leg, Snapshot
from assay.testing.contracts import check_leg
from assay.testing.sample import sample_snapshot
from assay.types import Chunk, Query, Ranking
from assay.where import parse
from tests.legs.tree_store import make_backend, make_chunk, make_query, make_vectors

WIDE = {"margin": 1.0, "most": 16}
LEGS = (
    Beam("maxpool"),
    Beam("maxpool", pool=5),
    Beam("nodes"),
    Beam("nodes", path=0.5, hops=2),
    Beam(expand="top", most=2),
    Collapsed(),
)


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBackend]:
    """120 chunks in a tree, 12 new ones, 6 deleted."""
    chunks = [make_chunk(number) for number in range(120)]
    made = make_backend(tmp_path_factory.mktemp("beam") / "kb", chunks, make_vectors(chunks))
    fresh = [make_chunk(number) for number in range(120, 132)]
    made.put(list(zip(fresh, make_vectors(fresh), strict=True)))
    made.remove([f"c{number:04d}" for number in (3, 17, 40, 77, 121, 130)])
    yield made
    made.close()


@pytest.fixture
def view(backend: LocalBackend) -> Snapshot:
    return backend.snapshot()


def brute_force(query: Query, view: Snapshot) -> dict[str, float]:
    """The score of every visible chunk, from the formula."""
    found = view.lexical(query, 1_000)
    bm25 = np.zeros(200)
    for part in found.parts:
        bm25[found.rows] += part.column
    rows = np.array([row for row in range(132) if view.ids(np.array([row]))[0]], np.int64)
    rows = rows[view.rows(view.ids(rows)) == rows]
    cosine = np.clip(exact_scores(view.vectors(rows), query.vector), 0.0, 1.0)  # type: ignore[arg-type]
    share = QueryEntities.find(query, view).share_of(rows)
    score = (2.0 * bm25[rows] / bm25.max() + 3.0 * cosine + 2.0 * share) / 7.0
    return dict(zip(view.ids(rows).tolist(), score.tolist(), strict=True))


@pytest.mark.parametrize("router", ["maxpool", "nodes"])
def test_a_beam_of_unlimited_width_is_the_flat_ranking(view: Snapshot, router: str) -> None:
    for number in (0, 5, 50, 125):
        query = make_query(number)
        expected = brute_force(query, view)
        found = Beam(router, **WIDE).find(query, view, 1_000)  # type: ignore[arg-type]
        assert set(found.ids.tolist()) == set(expected)
        for name, score in zip(found.ids.tolist(), found.score.tolist(), strict=True):
            assert score == pytest.approx(expected[name], abs=2e-4)  # the tree's cosines are on a grid


def test_maxpool_never_loses_the_best_chunk(view: Snapshot) -> None:
    for number in range(0, 120, 7):
        query = make_query(number)
        narrow = Beam("maxpool", margin=0.0, most=1).find(query, view, 1)
        assert narrow.ids.tolist() == Beam("maxpool", **WIDE).find(query, view, 1).ids.tolist()


@pytest.mark.parametrize("leg", [*LEGS, Bridge()], ids=str)
def test_contract(view: Snapshot, leg: Leg) -> None:
    queries = [make_query(4), replace(make_query(9), vector=None), Query("", vector=make_query(4).vector), Query("")]
    queries += [
        Query('\ud800\0 " ( 🔑 \u202e'),
        make_query(11, at=1e9 + 60),
        make_query(11, where=parse('kind = "odd"')),
    ]
    check_leg(leg, view, queries)


@pytest.mark.parametrize("leg", LEGS, ids=str)
def test_filters_hold(view: Snapshot, leg: Leg) -> None:
    query = make_query(10)
    for asked, allowed in (
        (replace(query, where=parse('kind = "odd"')), lambda chunk: chunk.meta["kind"] == "odd"),
        (replace(query, scope="s1"), lambda chunk: chunk.meta["scope"] == "s1"),
        (replace(query, at=1e9 + 20), lambda chunk: chunk.created <= 1e9 + 20),
    ):
        found = leg.find(asked, view, 100)
        assert len(found)
        assert found.rows is not None
        assert all(allowed(chunk) for chunk in view.chunks(found.rows))


@pytest.mark.parametrize("router", ["maxpool", "nodes"])
def test_the_only_visible_chunk_is_found(view: Snapshot, router: str) -> None:
    query = replace(make_query(10), where=parse('title = "About market"'), at=1e9 + 5)
    found = Beam(router).find(query, view, 10)  # type: ignore[arg-type]
    assert found.ids.tolist() == ["c0005"]


def test_deleted_chunks_are_gone(view: Snapshot) -> None:
    for leg in LEGS:
        assert not {"c0003", "c0121"} & set(leg.find(make_query(3), view, 200).ids.tolist())


def test_the_log_is_json_and_repeats(view: Snapshot) -> None:
    leg = Beam("nodes", path=0.5, hops=1)
    one, other = (leg.find(make_query(8), view, 10).notes[-1].data for _ in range(2))
    assert json.loads(json.dumps(one)) == json.loads(json.dumps(other))
    log = one["routing"]
    assert [decision["level"] for decision in log["levels"]] == sorted(d["level"] for d in log["levels"])
    beam = {0}
    for decision in log["levels"]:
        assert decision["node"] in beam
        assert set(decision["chosen"]) <= set(decision["children"])
        assert all(len(values) == len(decision["children"]) for values in decision["scores"].values())
        beam |= set(decision["chosen"])
    assert set(log["leaves"]) <= beam


def test_stores_without_vectors_empty_and_tiny(tmp_path: Path) -> None:
    few = [make_chunk(number) for number in range(40)]
    for name, chunks, vectors in (
        ("words", few, None),
        ("empty", [], make_vectors(few)[:0]),
        ("one", few[:1], make_vectors(few)[:1]),
        ("same", [replace(few[0], id=f"x{place:03d}") for place in range(40)], np.repeat(make_vectors(few)[:1], 40, 0)),
    ):
        backend = make_backend(tmp_path / name, chunks, vectors)
        view = backend.snapshot()
        query = make_query(0) if vectors is not None else replace(make_query(0), vector=None)
        for leg in LEGS:
            assert len(leg.find(query, view, 5)) == min(5, len(chunks)), (name, leg)
        backend.close()


BRIDGES = {
    "goal": "Project Tall Verge brings in Corvid Biometrics as a helper.",
    "more": "The budget of Project Tall Verge grew in spring.",
    "deal": "Legal keeps Corvid Biometrics under CTR-64678.",
    "other": "The yearly fee of Corvid Biometrics is small.",
    "host": "In spring Project Tall Verge moves quill-outbox.",
    "owner": "Since May the owner of quill-outbox is Willa.",
    "noise": "We met Anna Stone and Project Low Field in the kitchen.",
    "again": "Later Project Low Field and Anna Stone left.",
}


def test_a_bridge_leads_to_what_the_query_does_not_name(tmp_path: Path) -> None:
    chunks = [Chunk(name, name, text, 9, meta={"title": "", "section": ""}) for name, text in BRIDGES.items()]
    backend = make_backend(tmp_path / "kb", chunks)
    view = backend.snapshot()
    query = Query("Which contract code has the helper on Project Tall Verge?")
    without = Beam(**WIDE).find(query, view, 3)
    found = Beam(hops=1, hop_keep=1.0, hop_seeds=3, **WIDE).find(query, view, 10)
    assert "deal" not in without.ids.tolist()
    assert {"deal", "other", "owner"} <= set(found.ids[:6].tolist())
    (via,) = [part for part in found.parts if part.name == "via corvid biometrics"]
    assert via.column[found.places()["deal"]] > 0.0
    hops = found.notes[-1].data["routing"]["hops"]
    bridged = {hop["entity"]: hop for hop in hops}
    assert set(bridged["corvid biometrics"]["chosen"]) == {"deal", "other"}
    assert bridged["quill-outbox"]["chosen"] == ["owner"]
    assert "project tall verge" not in bridged
    # The same hops over flat seeds.
    seeds = Ranking.of(["goal", "host"], (), "raw", rows=view.rows(np.array(["goal", "host"])))
    flat = Bridge(hop_keep=1.0).find(query, view, 10, seeds)
    assert set(flat.ids.tolist()) == {"deal", "other", "owner"}
    assert Bridge().find(query, view, 10).ids.tolist() == []
    backend.close()


def test_a_second_hop_goes_on_from_the_first(tmp_path: Path) -> None:
    texts = {
        "a": "In May Project Tall Verge renews quill-outbox.",
        "b": "The owner of quill-outbox is Willa Hashimoto.",
        "c": "You reach Willa Hashimoto in room H2.",
        "d": "Later Willa Hashimoto and Project Tall Verge parted.",
    }
    chunks = [Chunk(name, name, text, 9, meta={"title": "", "section": ""}) for name, text in texts.items()]
    backend = make_backend(tmp_path / "kb", chunks)
    view = backend.snapshot()
    seeds = Ranking.of(["a"], (), "raw", rows=view.rows(np.array(["a"])))
    query = Query("Where sits whoever owns what Project Tall Verge renews?")
    assert Bridge(hops=1).find(query, view, 9, seeds).ids.tolist() == ["b"]
    assert Bridge(hops=2).find(query, view, 9, seeds).ids.tolist() == ["b", "c"]
    backend.close()


def test_a_store_without_a_tree_is_skipped_with_a_reason() -> None:
    pipeline = loads("[legs.beam]\n")
    answer = pipeline.run(Query("signing key"), sample_snapshot())
    (problem,) = answer.status.problems
    assert problem.skipped
    assert "tree" in str(problem)


@pytest.mark.parametrize(
    "settings",
    [
        {"router": "magic"},
        {"expand": "all"},
        {"margin": 2.0},
        {"most": 0},
        {"hops": 3},
        {"rerank": "late_interactoin"},
        {"prefilter": 2, "expand": "top", "most": 3},
        {"lexical": 0.0, "cosine": 0.0, "entity": 0.0},
    ],
)
def test_bad_settings_are_refused_with_a_cure(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as refused:
        Beam(**settings)  # type: ignore[arg-type]
    assert refused.value.cure


def test_the_best_summaries_are_found_as_by_exact_products() -> None:
    generator = np.random.default_rng(5)
    vectors = generator.normal(size=(400, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    vectors[17] = vectors[90] = vectors[3]  # ties go to the smaller node
    vectors[5] = 0.0
    for query in (vectors[3], vectors[200], np.zeros(64, np.float32)):
        exact = np.vecdot(vectors.astype(np.float64), query.astype(np.float64))
        order = np.lexsort((np.arange(400), -exact))
        for count in (1, 8, 400, 500):
            places, cosines = find_nearest(vectors, query, count)
            assert places.tolist() == order[:count].tolist()
            assert cosines.tolist() == exact[order[:count]].tolist()


def test_maxpool_over_found_rows_of_all_is_maxpool(view: Snapshot) -> None:
    """With a pool that holds every chunk, each node has the score of its best chunk, and that chunk."""
    tree = view.tree()  # type: ignore[attr-defined]
    weights = ScoreWeights.make("beam", 2.0, 3.0, 2.0)
    for number in (3, 8, 20):
        for query in (make_query(number), make_query(number, where=parse('kind = "even"'))):
            entities = QueryEntities.find(query, view)
            every, found = (
                leg.score_nodes(query, view, tree, weights, entities)
                for leg in (Beam("maxpool"), Beam("maxpool", pool=1_000))
            )
            nodes = np.arange(tree.size)
            assert found.read(nodes)[0] == pytest.approx(every.read(nodes)[0], abs=1e-3)  # cosines on a grid
            assert found.best is not None
            for node in np.flatnonzero(np.isfinite(every.score)).tolist():
                below = every.rows_below(tree, node)
                assert found.best[node] in below
                assert every.rows is not None
                assert every.rows.score_of(found.best[node : node + 1])[0] == pytest.approx(every.score[node], abs=1e-3)


def test_a_node_without_found_rows_comes_after_the_others(view: Snapshot) -> None:
    tree = view.tree()  # type: ignore[attr-defined]
    query = make_query(3)
    scores = Beam("maxpool", pool=2).score_nodes(
        query, view, tree, ScoreWeights.make("beam", 2.0, 3.0, 2.0), QueryEntities.find(query, view)
    )
    values, _ = scores.read(np.arange(tree.size))
    assert scores.best is not None
    assert np.isfinite(values).all()
    assert 0 < np.count_nonzero(scores.best >= 0) < tree.size
    assert values[scores.best < 0].max() <= values[scores.best >= 0].min()


def test_compound_words_of_a_query_are_entities(tmp_path: Path) -> None:
    texts = [
        "The ledger sable-loader is kept by Anna.",
        "sable-loader writes to quill-outbox.",
        "The loader of the ship is sable.",
        "Ticket TKT-5320 is closed.",
        *(f"Room {n} is painted." for n in range(20)),
    ]
    chunks = [Chunk(f"c{n:02d}", f"d{n}", text, 8) for n, text in enumerate(texts)]
    backend = make_backend(tmp_path / "kb", chunks)
    view = backend.snapshot()
    try:
        one = QueryEntities.find(Query("Who keeps sable-loader?"), view)
        assert (one.names, view.ids(one.shared_rows).tolist()) == (("sable-loader",), ["c00", "c01"])
        assert one.shares.tolist() == [1.0, 1.0]
        two = QueryEntities.find(Query("Is tkt-5320 about sable-loader, or zorb-flax?"), view)
        assert two.names == ("tkt-5320", "sable-loader")  # zorb-flax is nowhere
        rare, common = np.log1p(24 / 1), np.log1p(24 / 2)
        assert dict(zip(view.ids(two.shared_rows).tolist(), two.shares.tolist(), strict=True)) == pytest.approx(
            {"c00": common / (rare + common), "c01": common / (rare + common), "c03": rare / (rare + common)}
        )
        tree = view.tree()
        # A leaf has what one of its rows holds, not what several hold together.
        assert two.share_of_leaves(tree).max() == pytest.approx(rare / (rare + common))
        assert not QueryEntities.find(Query("self-made 2025-02-03"), view).names
    finally:
        backend.close()
