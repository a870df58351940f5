"""A generation is a function of the live chunks, whatever their history, and knows when it is not manifest."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assay.index.generation import Generation, build_generation
from assay.store.sqlite import SqliteStore
from assay.testing.backends import DIM, random_chunk, random_vector
from assay.text.analyser import Analyser
from assay.types import Chunk, Vector

SETTINGS = {"embedder": "test", "model": "m", "dim": DIM, "language": "english", "profile": "default"}
OF_HISTORY = {"seqs", "manifest.json", "checksums"}
"""Files that say where rows stand in the store, and as of which version."""


def built(store: SqliteStore, folder: Path, **options: int) -> Generation:
    return build_generation(store, store.version(), folder, Analyser(), ("m", DIM), **options)


def alive() -> dict[str, tuple[Chunk, Vector | None]]:
    rng = random.Random(5)
    return {c.id: (c, random_vector(rng)) for c in (random_chunk(rng, number) for number in range(90))}


def test_two_histories_one_generation(tmp_path: Path) -> None:
    """Written in one go, or in another order with detours: the same bytes, the same digest."""
    wanted = alive()
    short = SqliteStore.create(tmp_path / "short", SETTINGS)
    with short.write("all") as writer:
        for chunk, vector in wanted.values():
            writer.put(chunk, vector, "")
    long = SqliteStore.create(tmp_path / "long", SETTINGS)
    rng = random.Random(6)
    for turn in range(12):
        with long.write("some") as writer:
            for number in rng.sample(range(120), 20):
                writer.put(random_chunk(rng, number), random_vector(rng), f"origin {turn}")
            writer.remove_chunk(f"c{rng.randrange(120):03d}")
    with long.write("in the end") as writer:
        for number in range(90, 120):
            writer.remove_chunk(f"c{number:03d}")
        for name in rng.sample(sorted(wanted), len(wanted)):
            writer.put(*wanted[name], "elsewhere")
    one, two = built(short, tmp_path / "one", ivf_from=40), built(long, tmp_path / "two", ivf_from=40)
    assert one.digest == two.digest
    assert one.manifest["vectors"]["kind"] == "ivf_pq_fastscan"
    assert one.manifest["files"].keys() == two.manifest["files"].keys()
    assert {"ids.blob", "terms.blob", "postings.rows", "postings.counts", "lengths"} <= one.manifest["files"].keys()
    for name in one.manifest["files"].keys() - OF_HISTORY:
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes(), name
    assert one.ids.take(np.arange(90)) == sorted(wanted)


@pytest.mark.parametrize("what", ["text", "meta", "vector", "gone", "model"])
def test_the_digest_sees_every_difference(tmp_path: Path, what: str) -> None:
    digests = []
    for turn in range(2):
        store = SqliteStore.create(tmp_path / str(turn), SETTINGS)
        with store.write("all") as writer:
            for chunk, vector in alive().values():
                other = turn == 1 and chunk.id == "c017"
                if other and what == "gone":
                    continue
                text = "another" if other and what == "text" else chunk.text
                meta = {**chunk.meta, "more": 1} if other and what == "meta" else chunk.meta
                given = np.eye(DIM, dtype=np.float32)[3] if other and what == "vector" else vector
                writer.put(Chunk(chunk.id, chunk.doc_id, text, 1, chunk.created, 1.0, meta), given, "")
        model = "m2" if turn and what == "model" else "m"
        generation = build_generation(store, store.version(), tmp_path / f"g{turn}", Analyser(), (model, DIM))
        digests.append(generation.digest)
    assert digests[0] != digests[1]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def grown(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, grown, emptied, Path.unlink], ids=["cut", "grown", "emptied", "gone"])
def test_every_file_is_missed(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """Whichever file is not as long as it was written, or gone: the generation says so when it is opened."""
    store = SqliteStore.create(tmp_path / "kb", SETTINGS)
    with store.write("all") as writer:
        for chunk, vector in alive().values():
            writer.put(chunk, vector, "")
    manifest = built(store, tmp_path / "manifest", ivf_from=40, tantivy_from=1).folder
    names = [str(p.relative_to(manifest)) for p in manifest.rglob("*") if p.is_file() and p.name != "manifest.json"]
    assert len(names) > 25
    for name in names:
        copy = tmp_path / "copy"
        shutil.copytree(manifest, copy)
        if damage is emptied and not (copy / name).stat().st_size:
            (copy / name).write_bytes(b"x")
        elif damage is cut and not (copy / name).stat().st_size:
            (copy / name).unlink()
        else:
            damage(copy / name)
        with pytest.raises((OSError, ValueError), match=name.rpartition("/")[2]):
            Generation(copy)
        shutil.rmtree(copy)


@pytest.mark.parametrize(
    "manifest",
    ["", "{", "[]", "null", "7", '"x"', "{}", '{"format": 1}', '{"format": 99}', "\ufeff{}", "\0" * 64],
)
def test_a_manifest_that_says_nothing(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest, "utf-8")
    with pytest.raises((OSError, ValueError)):
        Generation(tmp_path)


def test_a_manifest_with_a_part_missing(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "kb", SETTINGS)
    generation = built(store, tmp_path / "made")
    manifest = dict(generation.manifest)
    for key in ("format", "version", "last_seq", "chunks", "dim", "model", "analyser", "digest", "files"):
        (generation.folder / "manifest.json").write_text(json.dumps({k: v for k, v in manifest.items() if k != key}))
        with pytest.raises((OSError, ValueError)):
            Generation(generation.folder)
    (generation.folder / "manifest.json").write_text(json.dumps({**manifest, "files": []}))
    with pytest.raises((OSError, ValueError)):
        Generation(generation.folder)
    (generation.folder / "manifest.json").write_text(json.dumps(manifest))
    Generation(generation.folder)
