"""Walks over the graph: by hand, against a dense solution, and what adding and deleting may never leave behind."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.backend.local.backend import LocalBackend
from assay.backend.local.snapshot import LocalSnapshot
from assay.backend.shared import graph_view
from assay.backend.shared.graph_view import GraphView
from assay.config.load import loads
from assay.legs.graph import Graph
from assay.protocols import WalkSettings
from assay.store.sqlite import SqliteStore
from assay.testing.contracts import check_leg
from assay.testing.memory_snapshot import MemorySnapshot
from assay.text.analyser import Analyser
from assay.types import Chunk, Query, Ranking
from assay.where import parse
from tests.places import PLAIN
from tests.threads import at_once

Stores = Callable[[], Any]


def opened(folder: Path) -> LocalBackend:
    store = SqliteStore.open(folder) if SqliteStore.exists(folder) else SqliteStore.create(folder, PLAIN)
    return LocalBackend(store, Analyser())


def put(backend: Any, *chunks: Chunk, compact: bool = True) -> Any:
    backend.put([(chunk, None) for chunk in chunks])
    if compact:
        backend.compact(force=True)
    return backend


def filled(folder: Path, *chunks: Chunk) -> LocalBackend:
    return put(opened(folder), *chunks)


def chunk(name: str, text: str, **meta: object) -> Chunk:
    return Chunk(name, str(meta.pop("doc_id", name)), text, 1, meta=meta)


def scores(snapshot, query: str = "", seeds: tuple[str, ...] = (), **settings) -> dict[str, float]:
    leg = Graph(**{"least": 0.0, **settings})
    given = Ranking.of(list(seeds), (), "unit") if seeds else None
    found = leg.find(Query(query), snapshot, 100, given)
    return dict(zip(found.ids.tolist(), found.score.tolist(), strict=True))


def graph_of(snapshot) -> GraphView:
    """What a snapshot walks over."""
    return snapshot._graph_view if isinstance(snapshot, LocalSnapshot) else snapshot._graph_walk.graph


@pytest.fixture(params=[True, False], ids=["generation", "tail"])
def compact(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_four_nodes_by_hand(graph_stores: Stores, compact: bool) -> None:
    # a and b both hold x and y, and the walk begins at a. By symmetry x = y and
    #   a = ½·1 + ½·x,  b = ½·x,  x = ½·(a/2 + b/2)   so x = 1/6, a = 7/12, b = 1/12
    backend = put(graph_stores(), chunk("a", "set X_ONE and Y_TWO"), chunk("b", "set X_ONE and Y_TWO"), compact=compact)
    assert scores(backend.snapshot(), seeds=("a",)) == pytest.approx({"a": 7 / 12, "b": 1 / 12}, abs=1e-12)
    # from the thing x instead:  x = ½ + ½·(a+b)/2,  y = ½·(a+b)/2,  a = b = ½·(x+y)/2   so a = b = 1/6
    assert scores(backend.snapshot(), "about x_one") == pytest.approx({"a": 1 / 6, "b": 1 / 6}, abs=1e-12)
    # half of each
    both = scores(backend.snapshot(), "about X-one", seeds=("a",))
    assert both == pytest.approx({"a": (7 / 12 + 1 / 6) / 2, "b": (1 / 12 + 1 / 6) / 2}, abs=1e-12)
    assert scores(backend.snapshot(), "about X-one", seeds=("a",), keep="new").keys() == {"b"}
    # "reached" leaves out the half of ½ that begins at a, and only that
    reached = scores(backend.snapshot(), seeds=("a",), keep="reached")
    assert reached == pytest.approx({"a": 1 / 12, "b": 1 / 12}, abs=1e-12)


def dense(view, seeds: list[int], damping: float) -> np.ndarray:
    """x = (1 − d)·s·(I − d·P)⁻¹ over all rows and things."""
    size = view.total + view.things
    step = np.zeros((size, size))
    owner, things = view.things_of(np.arange(view.total))
    for row, thing in zip(owner.tolist(), things.tolist(), strict=True):
        step[row, view.total + thing] = view.weights[thing]
        step[view.total + thing, row] = 1.0
    step /= np.maximum(step.sum(axis=1, keepdims=True), 1e-300)
    start = np.zeros(size)
    weight = 1.0 / np.arange(1.0, len(seeds) + 1.0)
    start[seeds] = weight / weight.sum()
    return ((1 - damping) * start @ np.linalg.inv(np.eye(size) - damping * step))[: view.total]


NAMES = ("Anna", "Bob", "Carl", "Dora", "ACME_KEY", "Emil", "v1.2.3", "Fay")
said = st.lists(st.sampled_from(NAMES), max_size=4).map(lambda names: "we saw " + " with ".join(names))
few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@few
@given(st.lists(said, min_size=2, max_size=12), st.sampled_from([0.2, 0.5, 0.85]), st.booleans())
def test_pushing_equals_the_dense_solution(
    graph_stores: Stores, lines: list[str], damping: float, compact: bool
) -> None:
    chunks = [chunk(f"c{i:02d}", line) for i, line in enumerate(lines)]
    backend = put(graph_stores(), *chunks, compact=compact)
    view = graph_of(backend.snapshot())
    want = dense(view, [0, 1], damping)
    got = scores(backend.snapshot(), seeds=("c00", "c01"), damping=damping)
    assert got == pytest.approx({f"c{i:02d}": w for i, w in enumerate(want) if w > 1e-12}, abs=1e-9)


@few
@given(st.lists(said, min_size=3, max_size=10), st.data())
def test_order_of_arrival_and_where_rows_stand_change_no_bit(graph_stores: Stores, lines: list[str], data) -> None:
    chunks = [chunk(f"c{i:02d}", line) for i, line in enumerate(lines)]
    turned = data.draw(st.permutations(chunks))
    cut = data.draw(st.integers(0, len(chunks)))
    one = put(graph_stores(), *chunks)
    other = put(graph_stores(), *turned[:cut])
    other.put([(c, None) for c in turned[cut:]])
    query = "did Anna meet Bob over acme-key?"
    assert scores(one.snapshot(), query, ("c01", "c00")) == scores(other.snapshot(), query, ("c01", "c00"))


@few
@given(st.lists(said, min_size=3, max_size=10), st.data())
def test_the_dead_leave_nothing(graph_stores: Stores, lines: list[str], data) -> None:
    chunks = [chunk(f"c{i:02d}", line) for i, line in enumerate(lines)]
    dead = data.draw(st.sets(st.sampled_from([c.id for c in chunks[2:]]), min_size=1))
    one = put(graph_stores(), *chunks, compact=data.draw(st.booleans()))
    graph_of(one.snapshot()).weights  # noqa: B018  # made before the deletion
    one.remove(sorted(dead))
    never = put(graph_stores(), *[c for c in chunks if c.id not in dead])
    query = "did Anna meet Bob over acme-key?"
    found = Graph(least=0.0).find(Query(query), one.snapshot(), 100, Ranking.of(["c01", "c00"], (), "unit"))
    want = Graph(least=0.0).find(Query(query), never.snapshot(), 100, Ranking.of(["c01", "c00"], (), "unit"))
    assert found.ids.tolist() == want.ids.tolist()
    assert found.score.tobytes() == want.score.tobytes()
    assert [p.name for p in found.parts] == [p.name for p in want.parts]


def test_contract_of_the_leg(graph_stores: Stores) -> None:
    backend = put(graph_stores(), *[chunk(f"c{i}", f"we saw {NAMES[i % 3]} with {NAMES[i % 4]}") for i in range(30)])
    check_leg(Graph(), backend.snapshot(), (Query("Anna and Bob"), Query(""), Query("\ud800\0 Carl")))


def test_links_join_documents_and_say_so(graph_stores: Stores, compact: bool) -> None:
    backend = put(
        graph_stores(),
        chunk("a", "read [[Keys]] first", doc_id="docs/a.md"),
        chunk("b", "how to rotate them", doc_id="docs/keys.md", title="Rotation"),
        chunk("c", "see [the rest](b/c.md)", doc_id="docs/keys.md", title="Rotation"),
        chunk("d", "the rest", doc_id="docs/b/c.md"),
        chunk("e", "newer rest", doc_id="e", supersedes=["docs/b/c.md"]),
        chunk("f", "nothing to see [here](nowhere.md)", doc_id="f"),
        compact=compact,
    )
    found = Graph(least=0.0).find(Query(""), backend.snapshot(), 10, Ranking.of(["a"], (), "unit"))
    assert set(found.ids.tolist()) == {"a", "b", "c", "d", "e"}
    names = {part.name for part in found.parts}
    assert {"via wiki link keys", "via link and supersedes docs/b/c"} <= names
    backend.remove(["a"])
    found = Graph(least=0.0).find(Query(""), backend.snapshot(), 10, Ranking.of(["b"], (), "unit"))
    assert "a" not in found.ids.tolist()
    assert not any("keys" in part.name for part in found.parts)


def test_aliases_are_names_and_addresses_of_a_document(graph_stores: Stores, compact: bool) -> None:
    backend = put(
        graph_stores(),
        chunk("a", "see [[AAL]] on engines", doc_id="a"),
        chunk("b", "she wrote the first program", doc_id="people/ada.md", title="Ada", aliases=["AAL", "Augusta King"]),
        chunk("c", "a letter to Augusta King", doc_id="c"),
        compact=compact,
    )
    assert scores(backend.snapshot(), seeds=("a",)).keys() == {"a", "b", "c"}
    assert scores(backend.snapshot(), "augusta king").keys() == {"a", "b", "c"}
    backend.remove(["b"])
    assert scores(backend.snapshot(), seeds=("a",)).keys() == {"a"}


WORDS = ("signing key", "signing key rotation", "the First day", "first of all", "Acme Corp", "see [[c03]]", "v1.2.3")
lines = st.lists(st.sampled_from((*NAMES, *WORDS)), max_size=5).map(lambda said: "we saw " + " and ".join(said))
settled = {"entities": ["Fay"], "aliases": ["Dora"], "triples": ["Emil | knows | Fay"], "supersedes": "c01"}


@few
@given(st.lists(lines, min_size=2, max_size=20), st.sampled_from(["all", "reached", "new"]), st.booleans())
def test_a_store_walks_as_brute_force_does(graph_stores: Stores, said: list[str], keep: str, given_more: bool) -> None:
    chunks = [chunk(f"c{i:02d}", line, **(settled if given_more and i % 3 == 0 else {})) for i, line in enumerate(said)]
    backend = put(graph_stores(), *chunks)
    oracle = MemorySnapshot(chunks)
    for query in ("", "did Anna meet Bob over acme-key?", "signing keys of the First", "Acme Corp v1.2.3"):
        for seeds in ((), ("c00",), ("c01", "c00")):
            mine, theirs = (scores(view, query, seeds, keep=keep) for view in (backend.snapshot(), oracle))
            assert mine == pytest.approx({n: s for n, s in theirs.items() if s > 1e-9}, abs=1e-9)


def test_a_walk_keeps_to_what_the_query_may_see(graph_stores: Stores, compact: bool) -> None:
    # b is of another team; the way from a to c leads over it alone
    backend = put(
        graph_stores(),
        chunk("a", "we saw Anna", scope="us"),
        chunk("b", "then Anna met Bob", scope="them"),
        chunk("c", "and Bob left", scope="us"),
        compact=compact,
    )
    view = backend.snapshot()
    walk = WalkSettings(view.rows(np.array(["a"])), 0.5, 0.5, "all", 0.0)
    for query in (Query("", scope="us"), Query("", where=parse('scope = "us"'))):
        assert view.ids(view.related(query, 10, walk).rows).tolist() == ["a"]
    assert view.ids(view.related(Query(""), 10, walk).rows).tolist() == ["a", "b", "c"]
    assert view.ids(view.related(Query("", scope="them"), 10, walk).rows).tolist() == []


def test_a_thing_in_every_chunk_joins_nothing(graph_stores: Stores) -> None:
    backend = put(graph_stores(), *[chunk(f"c{i:04d}", "we love Acme Corp") for i in range(1000)])
    assert scores(backend.snapshot(), "Acme Corp") == {}
    assert scores(backend.snapshot(), seeds=("c0000",)) == {"c0000": 0.5}


@pytest.mark.parametrize(("size", "most", "at_most"), [(40, 16, 4_000), (1000, 20, 4_000), (1000, 18, 18)])
def test_the_band_of_frequencies_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, most: int, at_most: int
) -> None:
    """max(16, 2 % of all) chunks, 4,000 at most, may hold a thing, one more may not; one alone joins nothing."""
    assert graph_view.MOST_ROWS == 4_000
    monkeypatch.setattr(graph_view, "MOST_ROWS", at_most)
    held = {"Acme Corp": most, "Bell Inc": most + 1, "Carl Max": 2, "Dora May": 1}
    chunks = [
        chunk(f"c{i:04d}", "we saw " + " with ".join(name for name, rows in held.items() if i < rows))
        for i in range(size)
    ]
    backend = filled(tmp_path / "kb", *chunks)
    view = backend.snapshot()._graph_view
    counted = {name: [int(view.frequency[thing]) for thing in view.query_things(name)] for name in held}
    assert counted == {"Acme Corp": [most], "Bell Inc": [], "Carl Max": [2], "Dora May": []}
    assert [view.weights[thing] for thing in view.query_things("carl max")] == [round(np.log(1 + size / 2) * 1024)]
    backend.close()


@pytest.mark.parametrize("text", ["", "no names at all", "x" * 10_000_000, "A B C " * 100_000])
def test_hostile_chunks(graph_stores: Stores, text: str, compact: bool) -> None:
    backend = put(
        graph_stores(), chunk("a", text), chunk("b", "we saw Anna"), chunk("c", "so did Anna"), compact=compact
    )
    assert scores(backend.snapshot(), "Anna").keys() == {"b", "c"}
    assert scores(backend.snapshot(), text[:1000], ("a",)).keys() == {"a"}
    assert scores(backend.snapshot()) == {}


def test_an_empty_store(graph_stores: Stores) -> None:
    backend = graph_stores()
    assert scores(backend.snapshot(), "Anna") == {}
    backend.compact(force=True)
    assert scores(backend.snapshot(), "Anna") == {}


def test_parts_are_the_score(graph_stores: Stores) -> None:
    backend = put(
        graph_stores(), *[chunk(f"c{i:02d}", f"we saw {NAMES[i % 3]} with {NAMES[i % 5]}") for i in range(24)]
    )
    found = Graph().find(Query("Anna"), backend.snapshot(), 40, Ranking.of(["c07"], (), "unit"))
    assert found.parts[0].name == "seed"
    assert found.parts[-1].name == "settled"
    assert {"via anna", "via bob"} <= {part.name for part in found.parts}
    total = sum(part.column for part in found.parts[:-1])
    assert (total * 0.5 == found.score).all()


def test_little_is_lost_by_stopping_early(graph_stores: Stores) -> None:
    rng = np.random.default_rng(5)
    chunks = [chunk(f"c{i:03d}", "we saw " + " with ".join(rng.choice(NAMES, 2))) for i in range(60)]
    backend = put(graph_stores(), *chunks)
    whole, early = (scores(backend.snapshot(), "Anna", ("c003",), least=least) for least in (0.0, 1e-4))
    assert all(0.0 <= whole[name] - early.get(name, 0.0) < 0.02 for name in whole)


def test_the_graph_is_built_when_asked_for_and_then_kept_up(tmp_path: Path) -> None:
    backend = filled(tmp_path / "kb", chunk("a", "we saw Anna"), chunk("b", "so did Anna"))
    digest = backend.snapshot().digest
    first = backend.generation
    assert not first.graph_folder.exists()
    assert scores(backend.snapshot(), "Anna").keys() == {"a", "b"}
    assert first.graph_folder.is_dir()
    assert backend.snapshot().digest == digest
    backend.put([(chunk("c", "and Anna again"), None)])
    assert scores(backend.snapshot(), "Anna").keys() == {"a", "b", "c"}
    backend.compact(force=True)
    assert backend.generation is not first
    assert backend.generation.graph_folder.is_dir()
    backend.close()


def test_a_damaged_graph_is_built_anew(tmp_path: Path) -> None:
    backend = filled(tmp_path / "kb", chunk("a", "we saw Anna"), chunk("b", "so did Anna"))
    want = scores(backend.snapshot(), "Anna")
    (backend.generation.graph_folder / "things.rows").write_bytes(b"")
    backend.close()
    again = opened(tmp_path / "kb")
    assert scores(again.snapshot(), "Anna") == want
    assert (again.generation.graph_folder / "things.rows").stat().st_size
    again.close()


def test_a_store_that_may_not_be_written_has_a_graph_too(tmp_path: Path) -> None:
    filled(tmp_path / "kb", chunk("a", "we saw Anna"), chunk("b", "so did Anna")).close()
    store = SqliteStore(tmp_path / "kb", readonly=True)
    backend = LocalBackend(store, Analyser())
    assert scores(backend.snapshot(), "Anna").keys() == {"a", "b"}
    assert not list((tmp_path / "kb").glob("generations/*/graph"))
    backend.close()


def test_threads_may_ask_at_once(tmp_path: Path) -> None:
    chunks = [chunk(f"c{i:03d}", f"we saw {NAMES[i % 3]} with {NAMES[i % 7]}") for i in range(200)]
    backend = filled(tmp_path / "kb", *chunks[:100])
    backend.put([(c, None) for c in chunks[100:]])
    found = at_once([partial(scores, backend.snapshot(), "Anna with Bob")] * 8)
    assert len(found) == 8
    assert all(one == found[0] for one in found)
    backend.close()


def test_hash_seeds_change_no_bit(tmp_path: Path) -> None:
    chunks = [chunk(f"c{i:03d}", f"we saw {NAMES[i % 3]} with {NAMES[i % 7]} and [[c{i % 9:03d}]]") for i in range(90)]
    filled(tmp_path / "kb", *chunks[:60]).close()
    opened(tmp_path / "kb").put([(c, None) for c in chunks[60:]])
    code = f"""
import json
from pathlib import Path
from assay.backend.local.backend import LocalBackend
from assay.config.load import loads
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Query
backend = LocalBackend(SqliteStore.open(Path({str(tmp_path / "kb")!r})), Analyser())
pipeline = loads('[legs.bm25]\\n[legs.graph]\\nafter = ["bm25"]\\n[fuse]\\nuse = "rrf"\\n')
answer = pipeline.run(Query("Anna with Bob"), backend.snapshot())
span = next(s for s in answer.trace if s.name == "graph")
print(json.dumps([answer.digest, span.ranking.score.tobytes().hex(), [p.name for p in span.ranking.parts]]))
"""
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, threads in (("1", "1"), ("2", "2"))
    ]
    assert told[0] == told[1]
    assert json.loads(told[0])[2][0] == "seed"


def test_a_pipeline_walks_from_what_the_others_found(tmp_path: Path) -> None:
    backend = filled(
        tmp_path / "kb",
        chunk("a", "treasure map drawn by Anna"),
        chunk("b", "she is Anna herself"),
        chunk("c", "nothing"),
    )
    pipeline = loads('[legs.bm25]\n[legs.graph]\nafter = ["bm25"]\n[fuse]\nuse = "rrf"\n')
    answer = pipeline.run(Query("treasure map"), backend.snapshot())
    assert [hit.id for hit in answer] == ["a", "b"]  # b shares no word with the query
    backend.close()
