"""Law 10 for trees: whatever is added and deleted, no node says anything of a chunk that is gone."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_stores import SMALL, add, make_backend, remove, secret_word

from assay.backend.local.snapshot import LocalSnapshot
from assay.types import Query

SECRET = re.compile("zk..zk")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 59), st.integers(1, 12)),
        st.tuples(st.just("remove"), st.integers(0, 59), st.integers(1, 20)),
        st.tuples(st.just("compact"), st.just(0), st.just(0)),
    ),
    min_size=2,
    max_size=8,
)


def check_nodes(snapshot: LocalSnapshot, live: set[int]) -> None:
    """Compare every payload with the live chunks below its node."""
    tree = snapshot.tree()
    assert sorted(int(name[1:]) for name in snapshot.ids(snapshot.live_rows(None))) == sorted(live)
    rows = tree.rows(0) if tree.size else np.empty(0, np.int64)
    assert len(rows) == len(live)
    words = [secret_word(number) for number in range(60)]  # sorted, as the columns of the bounds are
    query = Query(" ".join(words))
    bounds = tree.impacts(np.arange(tree.size), query)
    for node in range(tree.size):
        below = tree.rows(node)
        texts = [chunk.indexed_text for chunk in snapshot.chunks(below)]
        text = "\n".join(texts)
        secrets = set(SECRET.findall(text))
        payload = tree.payload(node)
        said = " ".join([*payload.keywords, *payload.entities, *(one.text for one in payload.summary)])
        assert set(SECRET.findall(said)) <= secrets
        for word in (*payload.keywords, *payload.entities):
            assert word in text
        for one in payload.summary:
            assert one.row in below
            assert any(one.text in whole for whole in texts)
        assert set(tree.prototypes(np.array([node]))[1].tolist()) <= set(below.tolist())
        # A bound is 0 exactly where no live row holds the term.
        assert {words[place] for place in np.flatnonzero(bounds[node])} == secrets


@settings(max_examples=12, deadline=None)
@given(STEPS, st.booleans())
def test_nothing_of_a_deleted_chunk_survives(steps: list[tuple[str, int, int]], compacted: bool) -> None:
    with TemporaryDirectory() as folder:
        backend = make_backend(Path(folder) / "kb")
        live = set(range(24))
        add(backend, sorted(live))
        if compacted:
            backend.build_tree(SMALL)
        for verb, first, count in steps:
            numbers = [number % 60 for number in range(first, first + count)]
            if verb == "add":
                add(backend, numbers)
                live |= set(numbers)
            elif verb == "remove":
                gone = sorted(live & set(numbers))
                remove(backend, gone)
                live -= set(gone)
            else:
                backend.compact()
        check_nodes(backend.snapshot(), live)
        backend.close()


def test_a_node_whose_sentences_are_all_gone_speaks_with_those_that_are_left(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(60))
    backend.build_tree(SMALL)
    tree = backend.snapshot().tree()
    quoted = sorted({one.row for one in tree.payloads.sentences(0)})
    remove(backend, quoted)  # a row of the generation is the number of its chunk here
    live = set(range(60)) - set(quoted)
    check_nodes(backend.snapshot(), live)
    assert backend.snapshot().tree().payload(0).summary
    backend.close()
