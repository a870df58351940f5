"""The digest of an answer depends on the contents of the store alone: not on its history, nor on its index."""

import contextlib

import numpy as np

from assay import kb
from assay.backend.addresses import create_backend, open_backend
from assay.kb import KnowledgeBase
from assay.store.contents_digest import add_sums, mark_row, sum_marks
from assay.types import Chunk

SETTINGS = {"embedder": "hash", "model": "m", "dim": 4, "language": "english", "profile": "default"}


def item(n):
    vector = np.random.default_rng(n).standard_normal(4).astype(np.float32)
    return Chunk(f"c{n:03d}", f"d{n}", f"heron number{n} at the lake", 5), vector / np.linalg.norm(vector)


def build(path, compact_after=(), dead=()):
    with contextlib.closing(create_backend(str(path), SETTINGS)) as backend:
        for n in range(30):
            backend.put([item(n)])
            if n in compact_after:
                backend.compact(force=True)
        backend.remove([f"c{n:03d}" for n in dead])
    return path


def digests(path):
    with contextlib.closing(KnowledgeBase(open_backend(str(path)), path)) as base:
        vector = item(3)[1]
        return [
            base.search("heron number7", pipeline=name, vector=vector, at=1.0, where=where).digest
            for name in ("bm25", "default", "weighted")
            for where in (None, 'id != "c001"')
        ]


def test_an_answer_has_the_same_digest_before_and_after_optimize(tmp_path) -> None:
    half = build(tmp_path / "half", compact_after=(20,), dead=(2, 5, 25))
    none = build(tmp_path / "none", dead=(5, 2, 25))
    before = digests(half)
    assert digests(none) == before
    with kb.open(half) as base:
        base.optimize(force=True)
    assert digests(half) == before


def test_other_contents_have_another_digest(tmp_path) -> None:
    one = build(tmp_path / "one", compact_after=(20,), dead=(2,))
    other = build(tmp_path / "other", compact_after=(20,), dead=(3,))
    assert all(a != b for a, b in zip(digests(one), digests(other), strict=True))
    before = digests(one)
    with contextlib.closing(open_backend(str(one))) as backend:
        chunk, vector = item(7)
        backend.put([(chunk, -vector)])  # the same text with another vector
    assert digests(one) != before


def test_approximate_vectors_and_the_tree_count_as_part_of_the_answer(tmp_path) -> None:
    backend = open_backend(str(build(tmp_path / "kb", compact_after=(29,))))
    view = backend.snapshot()
    assert view.contents_digest(frozenset({"tree"})) == view.digest
    exact = view.contents_digest(frozenset({"dense"}))
    assert exact != view.digest
    backend._generation.vectors.probes = 4  # as if there were inverted lists
    assert view.contents_digest(frozenset({"dense"})) == view.digest
    assert view.contents_digest(frozenset({"lexical"})) == exact
    backend.close()


def test_an_index_without_marks_has_the_digest_of_the_index(tmp_path) -> None:
    backend = open_backend(str(build(tmp_path / "kb", compact_after=(29,))))
    view = backend.snapshot()
    del backend._generation.manifest["marks"]
    assert view.contents_digest(frozenset()) == view.digest
    backend.close()


def test_sums_of_marks_are_computed_by_hand() -> None:
    first, second = mark_row(b"a" * 16, None), mark_row(b"b" * 16, np.array([1, 0], np.float32))
    assert mark_row(b"a" * 16, np.zeros(2, np.float32)) == first
    both = sum_marks(first + second)
    assert both[0] == (int.from_bytes(first[:8], "little") + int.from_bytes(second[:8], "little")) % 2**64
    assert add_sums([both], sum_marks(second)) == list(sum_marks(first))
    assert sum_marks(b"") == (0, 0)
