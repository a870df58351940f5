"""The tree as a derived index: built at first use or ahead, rebuilt when damaged, in step with every generation."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tree_stores import DIM, SMALL, add, make_backend, make_chunk, make_vectors, open_backend, remove, secret_word

from assay.backend.local.backend import LocalBackend
from assay.errors import ConfigError
from assay.index.tree.layout import TreeSettings
from assay.store.sqlite import SqliteStore
from assay.types import Chunk, Query

HERE = Path(__file__).parent
QUERY = Query("harbour office turbine-14", vector=make_vectors([3])[0])


def tree_folder(backend: LocalBackend) -> Path:
    assert backend.generation is not None
    return backend.generation.tree_folder


def add_strangers(backend: LocalBackend, count: int) -> None:
    """Add chunks with nothing in common: no families, vectors in all directions."""
    vectors = np.random.default_rng(5).normal(size=(count, DIM))
    vectors = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)
    texts = [f"{secret_word(i)} {'harbour' if i % 3 else 'office'} {secret_word(i + 100)}" for i in range(count)]
    backend.put([(Chunk(f"c{i:04d}", "d", text, 3), vectors[i]) for i, text in enumerate(texts)])


def test_a_generation_gets_a_tree_at_first_use_and_then_always(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(60))
    backend.compact()
    assert not tree_folder(backend).exists()
    backend.snapshot().tree()
    assert tree_folder(backend).is_dir()
    add(backend, range(60, 80))
    backend.compact()
    assert tree_folder(backend).is_dir()
    assert backend.snapshot().tree().index.manifest["rows"] == 80
    backend.close()


def test_the_same_chunks_give_the_same_tree_whatever_their_history(tmp_path: Path) -> None:
    one, other = make_backend(tmp_path / "one"), make_backend(tmp_path / "other")
    add(one, range(60))
    add(other, range(30, 70))
    add(other, range(30))
    remove(other, range(60, 70))
    for backend in (one, other):
        backend.build_tree(SMALL)
    assert one.snapshot().tree().index.digest == other.snapshot().tree().index.digest
    assert one.snapshot().tree().digest == other.snapshot().tree().digest
    one.close()
    other.close()


@pytest.mark.parametrize("damage", ["cut", "gone", "manifest", "other rows"])
def test_a_damaged_tree_is_built_anew(tmp_path: Path, damage: str) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(60))
    backend.build_tree(SMALL)
    digest = backend.snapshot().tree().digest
    folder = tree_folder(backend)
    backend.close()
    if damage == "cut":
        (folder / "words.impacts").write_bytes(b"")
    elif damage == "gone":
        (folder / "sums.npy").unlink()
    elif damage == "manifest":
        (folder / "manifest.json").write_text("{")
    else:  # of another model, or other chunks
        manifest = (folder / "manifest.json").read_text()
        base = manifest.split('"base": "')[1][:64]
        (folder / "manifest.json").write_text(manifest.replace(base, "0" * 64))
    again = open_backend(SqliteStore.open(tmp_path / "kb"))
    assert again.snapshot().tree().digest == digest
    again.close()


def test_a_tree_of_another_model_is_not_read(tmp_path: Path) -> None:
    """Somebody copies the tree of a store that has the same chunks with the vectors of another model."""
    digests, folders = {}, {}
    for name, order in (("one", 1), ("other", -1)):
        settings = {"embedder": "x", "model": name, "dim": DIM, "language": "english", "profile": "default"}
        backend = open_backend(SqliteStore.create(tmp_path / name, settings))
        vectors = make_vectors(list(range(60)))[:, ::order]
        backend.put([(make_chunk(number), vectors[number].copy()) for number in range(60)])
        backend.build_tree(SMALL)
        tree = backend.snapshot().tree()
        digests[name], folders[name] = tree.digest, tree_folder(backend)
        assert tree.centroids[0] @ vectors.mean(axis=0) > 0.0
        backend.close()
    assert digests["one"] != digests["other"]
    shutil.rmtree(folders["other"])
    shutil.copytree(folders["one"], folders["other"])
    again = open_backend(SqliteStore.open(tmp_path / "other"))
    assert again.snapshot().tree().digest == digests["other"]
    again.close()


def test_settings_are_saved_and_change_the_digest(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(90))
    backend.build_tree()
    usual = backend.snapshot().digest
    assert backend.snapshot().tree().size == 1  # 90 chunks fit into one leaf
    backend.build_tree(SMALL)
    small = backend.snapshot()
    assert small.digest != usual
    assert small.tree().size > 1
    backend.close()
    again = open_backend(SqliteStore.open(tmp_path / "kb"))
    assert again.tree_settings == SMALL
    again.build_tree(TreeSettings())
    assert again.snapshot().digest == usual
    again.close()


def test_every_seed_gives_a_tree_of_its_own(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add_strangers(backend, 60)
    trees = []
    for seed in (1, 2, 3, 1):
        backend.build_tree(replace(SMALL, seed=seed))
        trees.append(backend.snapshot().tree())
        assert len(trees[-1].rows(0)) == 60
    assert trees[0].digest == trees[3].digest
    assert len({tree.leaf_of_row.tobytes() for tree in trees}) == 3
    backend.close()


def test_another_process_notices_new_settings(tmp_path: Path) -> None:
    one = make_backend(tmp_path / "kb")
    add(one, range(90))
    one.build_tree()
    other = open_backend(SqliteStore.open(tmp_path / "kb"))
    assert other.snapshot().tree().size == 1
    one.build_tree(SMALL)
    assert other.snapshot().tree().digest == one.snapshot().tree().digest
    one.close()
    other.close()


def test_settings_of_a_newer_version_stop_the_tree_only(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(9))
    with backend.store.write("newer") as writer:
        writer.set("tree", {"wings": 2})
        writer.touch()
    assert backend.snapshot().size == 9
    (tree_folder(backend) if backend.compact() else tmp_path).mkdir(exist_ok=True)  # as if a tree had been in use
    add(backend, range(9, 12))
    assert backend.compact()
    with pytest.raises(ConfigError, match="wings"):
        backend.snapshot().tree()
    backend.build_tree(TreeSettings())
    assert backend.snapshot().tree().size == 1
    backend.close()


def test_a_read_only_store_has_its_tree_elsewhere(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(60))
    backend.compact()
    writable = backend.snapshot().tree().digest
    shutil.rmtree(tree_folder(backend))
    backend.close()
    store = SqliteStore.open(tmp_path / "kb")
    store.readonly = True
    reading = open_backend(store)
    assert reading.snapshot().tree().digest == writable
    assert not tree_folder(reading).exists()
    reading.close()


def test_small_and_odd_stores(tmp_path: Path) -> None:
    empty = make_backend(tmp_path / "empty")
    assert empty.snapshot().tree().size == 0
    assert empty.build_tree() == 0
    assert empty.snapshot().tree().rows is not None
    add(empty, [1])
    assert empty.snapshot().tree().size in (0, 1)
    empty.compact()
    one = empty.snapshot().tree()
    assert (one.size, one.depth, one.rows(0).tolist()) == (1, 0, [0])
    assert one.payload(0).summary[0].text.startswith("The orchard report")
    remove(empty, [1])
    gone = empty.snapshot().tree()
    assert gone.rows(0).tolist() == []
    assert gone.payload(0).chunks == 0
    assert not gone.payload(0).summary
    empty.close()


def test_identical_chunks_and_a_family_larger_than_a_leaf(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    vector = make_vectors([1])[0]
    backend.put([(Chunk(f"s{i:03d}", "d", "The same words again.", 4), vector) for i in range(50)])
    backend.build_tree(SMALL)
    tree = backend.snapshot().tree()
    sizes = np.bincount(tree.leaf_of_row)
    assert sizes.max() <= 8
    assert len(tree.rows(0)) == 50
    assert len(tree.payload(0).summary) == 1  # the others say the same
    backend.close()


def test_chunks_without_vectors(tmp_path: Path) -> None:
    for name, dim in (("words only", 0), ("some", DIM)):
        backend = make_backend(tmp_path / name, dim)
        add(backend, range(40))
        backend.put([(make_chunk(number), None) for number in range(40, 60)])
        backend.build_tree(SMALL)
        backend.put([(make_chunk(number), None) for number in range(60, 66)])
        tree = backend.snapshot().tree()
        assert len(tree.rows(0)) == 66
        assert all(tree.payload(node).keywords for node in range(tree.size) if len(tree.rows(node)))
        assert tree.centroids.shape == (tree.size, dim)
        assert tree.row_scores(QUERY).cosine.shape == (66,)
        backend.close()


def test_a_new_row_joins_its_family_or_the_nearest_leaf(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(42))
    backend.build_tree(SMALL)
    twin = make_chunk(12)
    other_direction = -make_vectors([12])[0]
    backend.put([(Chunk("twin", "d", twin.text.replace("12", "912"), 20, meta=twin.meta), other_direction)])
    add(backend, [66])
    tree = backend.snapshot().tree()
    assert tree.leaf_of_row[42] == tree.leaf_of_row[12]  # its numbers differ only
    leaves = np.flatnonzero(tree.child_count == 0)
    nearest = leaves[np.argmax(tree.index.layout.centroids[leaves] @ make_vectors([66])[0])]
    assert tree.leaf_of_row[43] == nearest
    backend.close()


def test_second_leaves_are_places_too(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add_strangers(backend, 90)
    backend.build_tree(replace(SMALL, second_margin=0.3))
    remove(backend, range(0, 90, 4))
    snapshot = backend.snapshot()
    tree = snapshot.tree()
    twice = np.flatnonzero(tree.second_leaf_of_row >= 0)
    assert len(twice)
    bounds = tree.impacts(np.arange(tree.size), QUERY)
    for row in twice:
        assert row in tree.rows(int(tree.second_leaf_of_row[row]))
        assert row in tree.rows(int(tree.leaf_of_row[row]))
    for node in range(tree.size):
        scores = np.stack([part.column for part in snapshot.lexical_at(QUERY, tree.rows(node)).parts], axis=1)
        assert (scores <= bounds[node]).all()
    assert tree.rows(0).tolist() == sorted(snapshot.live_rows(None).tolist())
    backend.close()


def test_a_killed_build_leaves_nothing_behind(tmp_path: Path) -> None:
    """kill -9 while the tree is written: the store answers, the tree is built by the next process, and swept."""
    backend = make_backend(tmp_path / "kb")
    add(backend, range(90))
    backend.compact()
    folder = tree_folder(backend)
    backend.close()
    child = subprocess.Popen([sys.executable, str(HERE / "build_tree_slowly.py"), str(tmp_path / "kb")])
    while not list(folder.parent.glob(".tree.*.*")) and not list(folder.parent.glob(".tree.[0-9]*")):
        assert child.poll() is None
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not folder.exists()
    again = open_backend(SqliteStore.open(tmp_path / "kb"))
    assert [check.state for check in again.health() if check.name == "leftovers"] == ["warn"]
    assert len(again.snapshot().tree().rows(0)) == 90
    assert again.sweep() == 1
    assert [check.state for check in again.health() if check.name == "leftovers"] == ["ok"]
    again.close()


def test_the_tree_of_headings(tmp_path: Path) -> None:
    backend = make_backend(tmp_path / "kb")
    add(backend, range(60))
    backend.build_tree(replace(SMALL, kind="headings"))
    add(backend, range(60, 70))
    remove(backend, range(0, 60, 7))
    snapshot = backend.snapshot()
    tree = snapshot.tree()
    assert tree.rows(0).tolist() == sorted(snapshot.live_rows(None).tolist())
    assert np.bincount(tree.index.leaf_of_row).max() <= 8
    assert all(tree.payload(node).summary for node in range(tree.size) if len(tree.rows(node)))
    backend.close()
