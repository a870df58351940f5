"""Stage 1: what FAISS proposes, scored by the vectors themselves; brute force is the oracle."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from assay.cascade.bank.bank import write_bank
from assay.cascade.bank.errors import WrongIndex
from assay.cascade.bank.index import open_index
from assay.cascade.bank.index_build import Recipe, build_index, default_nlist
from assay.errors import ConfigError
from assay.index.vectors import exact_scores
from tests.cascade.bank.sample_bank import bank_of, unit


@pytest.mark.parametrize(
    ("size", "count"),
    [(1, 1), (100, 10), (8_192, 91), (249_999, 500), (250_000, 512), (637_000, 798), (9_000_000, 1_024)],
)  # fmt: skip
def test_lists_by_size(size, count):
    assert default_nlist(size) == count


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    return bank_of(tmp_path_factory.mktemp("bank"), rows=2_000, dim=16)


@pytest.fixture(scope="module", params=["ivf_flat", "exact", "hnsw"])
def index(request, bank, tmp_path_factory):
    return build_index(bank, tmp_path_factory.mktemp("index"), Recipe(request.param))


def brute(bank, query, k):
    scores = (bank.vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    best = sorted(range(len(bank)), key=lambda row: (-scores[row], bank.ids[row]))[:k]
    return best, scores[best]


def test_everything_looked_at_is_brute_force(bank, index):
    for question in unit(20, 16, seed=9):
        rows, scores = index.nearest(question, 25, nprobe=10_000)
        best, exact = brute(bank, question, 25)
        if index.kind == "hnsw":  # a walk may miss somebody; what it meets has its true score
            assert np.isin(rows, best).mean() > 0.8
        else:
            assert rows.tolist() == best
            assert np.abs(scores - exact).max() < 1e-6


def test_scores_are_cosines_in_the_one_order(bank, index):
    for question in unit(10, 16, seed=3):
        rows, scores = index.nearest(question, 40)
        assert len(rows) == 40
        assert (np.diff(scores) <= 0).all()
        exact = bank.vectors[rows].astype(np.float64) @ question.astype(np.float64)
        assert np.abs(scores - exact).max() < 1e-6


def test_more_is_asked_than_the_lists_hold(bank, index):
    rows, _ = index.nearest(unit(1, 16, seed=5)[0], 1_900, nprobe=1)
    assert len(set(rows.tolist())) == 1_900
    assert sorted(index.nearest(unit(1, 16, seed=5)[0], 5_000, nprobe=1)[0].tolist()) == list(range(2_000))


def test_a_walk_that_meets_too_few_is_no_short_list(tmp_path):
    """Among five hundred twins the links of a graph stay with them: a walk meets about two hundred."""
    vectors = np.repeat(unit(4, 16, seed=8), 500, axis=0)
    bank = bank_of(tmp_path, 2_000, 16, vectors=vectors)
    index = build_index(bank, tmp_path / "index", Recipe("hnsw"))
    rows, scores = index.nearest(vectors[0], 700)
    assert set(rows[:500].tolist()) == set(range(500))
    assert len(set(rows.tolist())) == 700
    assert (np.diff(scores) <= 0).all()


def test_ties_go_to_the_smaller_id(tmp_path):
    vectors = np.repeat(unit(20, 8), 50, axis=0)
    ids = np.random.default_rng(1).permutation(1_000)
    bank = write_bank(tmp_path / "b.npz", vectors, ids, np.zeros(1000, "u2"), np.zeros(1000, "i2"))
    for kind in ("exact", "ivf_flat"):
        index = build_index(bank, tmp_path / kind, Recipe(kind, nprobe=99))
        rows, _ = index.nearest(vectors[0], 50)
        assert ids[rows].tolist() == sorted(ids[:50].tolist())


def test_the_manifest_says_what_was_measured(index):
    payload = index.manifest
    assert payload["vectors"] == 2_000
    recall = payload["recall"]
    assert recall["questions"] == 200
    if index.kind == "ivf_flat":
        assert payload["nlist"] == 45
        assert recall["nprobe 32"]["@10"] >= recall["nprobe 8"]["@10"] > 0.5
        assert index.version.endswith("_ivf_flat45")
    if index.kind == "exact":
        assert recall["exact"] == {"@10": 1.0, "@100": 1.0, "@500": 1.0}


def test_an_index_of_another_bank_is_refused(tmp_path, index):
    with pytest.raises(WrongIndex, match="another bank"):
        open_index(index._folder, bank_of(tmp_path))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{}",
        '{"kind": "ivf_flat"}',
        '{"kind": "ivf_flat", "nprobe": "x", "bank": "", "vectors": 2000}',
        '{"kind": "exact", "nprobe": 1, "bank": 5, "vectors": 2000}',
        '{"kind": "exact", "nprobe": 1, "bank": null, "vectors": null}',
        '{"kind": "lsh", "nprobe": 1, "bank": "BANK", "vectors": 2000}',
        '{"kind": null, "nprobe": 1, "bank": "BANK", "vectors": 2000}',
        '{"kind": "exact", "nprobe": 1, "bank": "BANK", "vectors": 1999}',
    ],
)
def test_a_manifest_that_says_nothing(tmp_path, bank, said):
    said = said.replace("BANK", bank.digest)
    (tmp_path / "index.json").write_text(said)
    with pytest.raises(WrongIndex):
        open_index(tmp_path, bank)


def test_lists_are_trained_with_the_seed_that_the_manifest_names(tmp_path, bank):
    seeds = {"a": 1, "b": 1, "c": 2}
    one, again, other = (build_index(bank, tmp_path / name, Recipe(seed=seed)) for name, seed in seeds.items())
    assert one.digest == again.digest != other.digest
    assert other.manifest["seed"] == 2


def test_a_lost_file(tmp_path, bank):
    build_index(bank, tmp_path)
    (tmp_path / "index.faiss").unlink()
    with pytest.raises(WrongIndex, match="is lost"):
        open_index(tmp_path, bank)


def flipped(raw: bytes) -> bytes:
    return raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:]


DAMAGE = {
    "cut to a tenth": lambda raw: raw[: len(raw) // 10],
    "cut by a byte": lambda raw: raw[:-1],
    "something else": lambda _: b"nothing of the kind",
    "empty": lambda _: b"",
    "a flipped bit": flipped,
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_file_is_not_the_one_its_manifest_names(tmp_path, bank, case):
    build_index(bank, tmp_path)
    path = tmp_path / "index.faiss"
    path.write_bytes(DAMAGE[case](path.read_bytes()))
    with pytest.raises(WrongIndex, match="not the file that its manifest names"):
        open_index(tmp_path, bank)


def test_a_file_of_another_bank_under_this_ones_manifest(tmp_path, bank):
    build_index(bank, tmp_path)
    (tmp_path / "other").mkdir()
    other = build_index(bank_of(tmp_path / "other", 2_000, 8), tmp_path / "other")
    shutil.copyfile(other._folder / "index.faiss", tmp_path / "index.faiss")
    with pytest.raises(WrongIndex, match="not the file that its manifest names"):
        open_index(tmp_path, bank)


def test_what_faiss_cannot_read_is_said(tmp_path, bank):
    """A manifest that vouches for a file which is none."""
    build_index(bank, tmp_path)
    (tmp_path / "index.faiss").write_bytes(b"nothing of the kind")
    payload = json.loads((tmp_path / "index.json").read_text())
    payload["file"] = hashlib.sha256(b"nothing of the kind").hexdigest()
    (tmp_path / "index.json").write_text(json.dumps(payload))
    with pytest.raises(WrongIndex, match="cannot be read"):
        open_index(tmp_path, bank).open()


def test_a_copied_index_is_read_once_and_sealed(tmp_path, bank):
    build_index(bank, tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b", ignore=shutil.ignore_patterns("*.seal.json"))
    assert not (tmp_path / "b" / "index.faiss.seal.json").exists()
    found = open_index(tmp_path / "b", bank).nearest(bank.vectors[3], 20)
    assert np.array_equal(found[0], open_index(tmp_path / "a", bank).nearest(bank.vectors[3], 20)[0])
    assert (tmp_path / "b" / "index.faiss.seal.json").exists()


def test_building_anew_leaves_an_open_index_as_it_was(tmp_path, bank):
    first = build_index(bank, tmp_path)
    before = [row.tolist() for row in first.nearest(bank.vectors[3], 50)]
    second = build_index(bank, tmp_path, Recipe(nlist=5, seed=7))
    assert [row.tolist() for row in first.nearest(bank.vectors[3], 50)] == before
    assert second.nlist == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.faiss", "index.faiss.seal.json", "index.json"]


def test_an_index_whose_build_ended_early_is_none(tmp_path, bank, monkeypatch):
    monkeypatch.setattr("assay.cascade.bank.index_build.measure_recall", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_index(bank, tmp_path)
    with pytest.raises(WrongIndex, match="holds no index"):
        open_index(tmp_path, bank)


def test_recall_is_measured_with_the_nprobe_that_searches_take(tmp_path, bank):
    recall = build_index(bank, tmp_path, Recipe(nprobe=3)).manifest["recall"]
    assert {name for name in recall if name.startswith("nprobe")} == {f"nprobe {n}" for n in (3, 8, 16, 32, 45)}
    assert recall["nprobe 45"]["@500"] == 1.0


@pytest.mark.parametrize("kind", ["ivf_flat", "exact", "hnsw"])
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_the_smallest_banks_are_indexed_measured_and_searched(tmp_path, rows, kind):
    bank = bank_of(tmp_path, rows)
    made = build_index(bank, tmp_path / "index", Recipe(kind))
    payload = [shares for shares in made.manifest["recall"].values() if isinstance(shares, dict)]
    assert payload == [{f"@{rows}": 1.0}]
    found, scores = made.nearest(bank.vectors[0], 50)
    assert sorted(found.tolist()) == list(range(rows))
    assert found[0] == 0
    assert scores[0] == pytest.approx(1.0)


def test_recipes_that_make_no_index(bank, tmp_path):
    for wrong in ({"kind": "ivf_pq"}, {"nprobe": 0}, {"nlist": -1}):
        with pytest.raises(ConfigError):
            Recipe(**wrong)
    with pytest.raises(ConfigError, match="lists"):
        build_index(bank, tmp_path, Recipe(nlist=5_000))


_CHILD = """
import sys, json, faiss
from pathlib import Path
from assay.cascade.bank.bank import open_bank
from assay.cascade.bank.index_build import Recipe, build_index
faiss.omp_set_num_threads(int(sys.argv[1]))
bank = open_bank(sys.argv[2])
said = []
for kind in ("ivf_flat", "exact", "hnsw"):
    index = build_index(bank, Path(sys.argv[3]) / kind, Recipe(kind, nprobe=4))
    found = [index.nearest(bank.vectors[row], 50) for row in range(0, len(bank), 40)]
    said.append([index.digest, [(r.tolist(), s.tolist()) for r, s in found]])
print(json.dumps(said))
"""


def by_threads(bank, folder) -> list[str]:
    payload = []
    for turn, threads in enumerate(("1", "2", "2")):
        command = [sys.executable, "-c", _CHILD, threads, str(bank.path), str(folder / str(turn))]
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        payload.append(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)
    return payload


def test_runs_and_thread_counts_give_the_same_index_and_results(bank, tmp_path):
    payload = by_threads(bank, tmp_path)
    assert payload[0] == payload[1] == payload[2]
    assert [len(found) for _, found in json.loads(payload[0])] == [50, 50, 50]


def test_a_bank_of_twins_gives_the_same_results_too(tmp_path):
    """Five hundred copies of each vector: far more equal scores than candidates are asked for."""
    vectors = np.repeat(unit(4, 16, seed=8), 500, axis=0)[np.random.default_rng(3).permutation(2_000)]
    payload = by_threads(bank_of(tmp_path, 2_000, 16, vectors=vectors), tmp_path)
    assert payload[0] == payload[1] == payload[2]


def test_vectors_so_wide_that_products_are_split_over_threads(tmp_path):
    """A float32 product of 50 × 20,000 has other bits with two threads; scores must not."""
    payload = by_threads(bank_of(tmp_path, 50, 20_000), tmp_path)
    assert payload[0] == payload[1] == payload[2]


def test_exact_is_exact_where_float32_cannot_tell(tmp_path):
    """Hundreds of vectors whose cosines differ by less than a rough product is wrong: the true best are still named."""
    rng = np.random.default_rng(2)
    near = unit(1, 96) + 2e-7 * rng.standard_normal((600, 96))
    bank = bank_of(tmp_path, 600, 96, vectors=(near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32))
    index = build_index(bank, tmp_path / "index", Recipe("exact"))
    for question in unit(20, 96, seed=3):
        scores = exact_scores(bank.vectors, question, np.arange(600))
        best = np.lexsort((bank.ids, -scores))[:5]
        assert index.nearest(question, 5)[0].tolist() == best.tolist()


def test_a_score_does_not_depend_on_who_else_is_scored(tmp_path):
    """The first of five hundred have the bits they have among five: a matrix product gives other bits beside others."""
    bank = bank_of(tmp_path, 900, 384)
    index = build_index(bank, tmp_path / "index", Recipe("exact"))
    for question in unit(20, 384, seed=4):
        rows, scores = index.nearest(question, 500)
        for few in (1, 3, 5):
            assert [part.tolist() for part in index.nearest(question, few)] == [
                rows[:few].tolist(),
                scores[:few].tolist(),
            ]
