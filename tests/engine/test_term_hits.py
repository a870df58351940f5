"""Positions of terms: what the index gives equals what the texts give, in a generation, a tail, and both together."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from assay.backend.local.backend import LocalBackend
from assay.engine.foreign_chunks import ExtendedSnapshot
from assay.engine.snapshot_proxy import SnapshotProxy
from assay.engine.term_hits import TermHits, documents_of, find_terms, number_documents
from assay.kb import KnowledgeBase
from assay.kb import open as open_kb
from assay.rerank.features import NAMES, CandidatePool, compute_features
from assay.rerank.learned import build_pool
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.types import Chunk, Part, Query, Ranking
from assay.upkeep.doctor import examine

WORDS = ("key", "sign", "rotate", "door", "the", "CVE-2024-1234", "naïve", "東京", "\ud800", "x")
TERMS = ("key", "sign", "door", "absent", "cve")


def columns(hits: TermHits) -> list[list[int]]:
    return [hits.chunk.tolist(), hits.position.tolist(), hits.term.tolist(), hits.lengths.tolist()]


def random_record(rng: random.Random, number: int) -> dict[str, str]:
    text = " ".join(rng.choices(WORDS, k=rng.choice((1, 3, 40))))
    return {"id": f"r{number:03d}", "title": rng.choice(("", "Signing keys")), "text": text}


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    """A generation of forty documents, then thirty more, of which ten replace earlier ones, and one deletion."""
    rng = random.Random(3)
    base = open_kb(tmp_path / "kb", embedder="none")
    base.add([random_record(rng, number) for number in range(40)])
    base.optimize(force=True)
    base.add([random_record(rng, number) for number in range(30, 60)])
    base.remove("r005")
    return base


def read_texts(snapshot, rows, terms):
    return TermHits.of_texts((snapshot.terms(chunk.indexed_text) for chunk in snapshot.chunks(rows)), terms)


def test_texts_by_hand():
    hits = TermHits.of_texts([["a", "b", "a"], [], ["c", "b"]], ["b", "a"])
    assert columns(hits) == [[0, 0, 0, 2], [0, 1, 2, 1], [1, 0, 1, 0], [3, 0, 2]]
    assert columns(TermHits.of_texts([], ["a"])) == [[], [], [], []]


def test_groups_join_in_the_order_of_chunks():
    one, other = TermHits.of_texts([["a"], ["b", "a"]], ["a"]), TermHits.of_texts([["a", "a"]], ["a"])
    joined = TermHits.join([(np.array([0, 2]), one), (np.array([1]), other)])
    assert columns(joined) == [[0, 1, 1, 2], [0, 0, 1, 1], [0, 0, 0, 0], [1, 2, 2]]


@pytest.mark.parametrize("seed", range(6))
def test_index_and_tail_equal_the_texts(kb: KnowledgeBase, seed: int):
    snapshot = kb.snapshot()
    rows = np.random.default_rng(seed).permutation(snapshot.live_rows(None))
    for part in (rows, rows[rows < 30], rows[rows >= 40], rows[:0], rows[:1]):
        assert columns(find_terms(snapshot, part, TERMS)) == columns(read_texts(snapshot, part, TERMS))
        assert columns(find_terms(SnapshotProxy(snapshot), part, TERMS)) == columns(read_texts(snapshot, part, TERMS))
    assert columns(find_terms(snapshot, rows, ())) == columns(read_texts(snapshot, rows, ()))


def test_a_generation_without_positions_has_its_texts_read(kb: KnowledgeBase, tmp_path: Path):
    """Stores of an earlier version keep working, and the next generation has the positions."""
    kb.close()
    (path,) = (tmp_path / "kb").rglob("sequence")
    path.unlink()
    manifest = path.with_name("manifest.json")
    content = json.loads(manifest.read_text())
    del content["files"]["sequence"], content["xxh3"], content["own_xxh3"]  # it had no checksums either
    manifest.write_text(json.dumps(content))
    with open_kb(tmp_path / "kb", create=False, embedder="none") as old:
        snapshot = old.snapshot()
        rows = snapshot.live_rows(None)
        assert not snapshot._view.words.knows_positions
        assert columns(find_terms(snapshot, rows, TERMS)) == columns(read_texts(snapshot, rows, TERMS))
        assert [check.text for check in examine(tmp_path / "kb") if "optimize --force" in check.text]
        old.optimize(force=True)
        assert not [check.text for check in examine(tmp_path / "kb") if "optimize --force" in check.text]
        assert old.snapshot()._view.words.knows_positions


def test_documents_are_equal_where_ids_are(kb: KnowledgeBase):
    kb.add({"id": f"r{number:03d}", "text": "key " * 900} for number in (3, 61))  # several chunks, old and new document
    snapshot = kb.snapshot()
    rows = np.random.default_rng(1).permutation(snapshot.live_rows(None))
    names = np.array([chunk.doc_id for chunk in snapshot.chunks(rows)])
    same = names[:, None] == names[None, :]
    for view in (snapshot, SnapshotProxy(snapshot), ExtendedSnapshot(snapshot, [])):
        numbers = documents_of(view, rows)
        assert ((numbers[:, None] == numbers[None, :]) == same).all()


def test_foreign_chunks_are_read(kb: KnowledgeBase):
    foreign = Chunk("far", "r001", "door key", 2)
    view = ExtendedSnapshot(kb.snapshot(), [foreign])
    rows = np.array([*view.rows(np.array(["far"])), *kb.snapshot().live_rows(None)[:3]])
    assert columns(find_terms(view, rows, TERMS)) == columns(read_texts(view, rows, TERMS))
    own = view.inner.chunks(rows[1:])
    assert [number == documents_of(view, rows)[0] for number in documents_of(view, rows)[1:]] == [
        chunk.doc_id == "r001" for chunk in own
    ]


class TextSnapshot(SnapshotProxy):
    """Reads every text, as for a store without positions."""

    def find_terms(self, rows, terms):
        return read_texts(self.inner, rows, terms)

    def documents(self, rows):
        return number_documents(self.inner.chunks(rows))


def test_features_equal_those_from_texts_to_the_last_bit(tmp_path: Path):
    rng, numbers = random.Random(8), np.random.default_rng(8)
    vectors = numbers.standard_normal((80, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [" ".join(rng.choices(WORDS[:8], k=rng.choice((4, 30, 60)))) for _ in range(80)]
    chunks = [Chunk(f"c{n:02d}", f"d{n // 3}", text, 9) for n, text in enumerate(texts)]
    settings = {"embedder": "test", "model": "m", "dim": 8, "language": "english", "profile": "default"}
    backend = LocalBackend(SqliteStore.create(tmp_path / "kb", settings), Analyser(), "m", 8)
    backend.put(list(zip(chunks[:50], vectors[:50], strict=True)))
    backend.compact(force=True)
    backend.put(list(zip(chunks[50:], vectors[50:], strict=True)))
    snapshot = backend.snapshot()
    query = Query("sign the key, rotate naïve door", vector=vectors[0])
    names = [*(c.id for c in chunks), "unknown"]
    ranked = Ranking.of(names, [Part("given", "add", np.ones(len(names)))], "unit")
    indexed, read = (build_pool(query, ranked, view) for view in (snapshot, TextSnapshot(snapshot)))
    assert columns(indexed.hits) == columns(read.hits)
    assert len(indexed.hits.chunk) > 100
    assert compute_features(indexed).tobytes() == compute_features(read).tobytes()
    backend.close()


def test_proximity_equals_a_plain_loop():
    """Every pair of every candidate, one by one."""
    rng = random.Random(2)
    for _ in range(40):
        texts = [[str(rng.randrange(-1, 4)) for _ in range(rng.choice((0, 1, 7, 25)))] for _ in range(6)]
        pairs = sorted({(rng.randrange(4), rng.randrange(4)) for _ in range(3)} - {(n, n) for n in range(4)})
        pool = CandidatePool(
            idf=np.array([1.0, 2.0, 0.5, 4.0]),
            pairs=pairs,
            hits=TermHits.of_texts(texts, ["0", "1", "2", "3"]),
            cosine=np.zeros(6),
            vectors=np.zeros((6, 2), np.float32),
            document=np.arange(6),
        )
        found = compute_features(pool)
        for row, text in enumerate(texts):
            near, adjacent = 0.0, 0.0
            total = sum(pool.idf[one] + pool.idf[other] for one, other in pairs)
            for one, other in pairs:
                gaps = [
                    j - i for i, a in enumerate(text) for j, b in enumerate(text) if a == str(one) and b == str(other)
                ]
                near += (pool.idf[one] + pool.idf[other]) * any(abs(gap) <= 5 for gap in gaps)
                adjacent += (pool.idf[one] + pool.idf[other]) * (1 in gaps)
            assert found[row, NAMES.index("near")] == pytest.approx(near / total if pairs else 0.0)
            assert found[row, NAMES.index("adjacent")] == pytest.approx(adjacent / total if pairs else 0.0)
