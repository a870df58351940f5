"""A world on real text: the documents that queries need, mixed into handbooks, mails, release notes and proposals."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from assay.bench.datasets import DatasetError
from assay.bench.rb006.world import World, build_world, verify, write_world
from assay.bench.rb006.world.carriers import document_of
from assay.bench.rb006.world.real_text import SOURCE_GROUPS, RealBody
from assay.bench.rb006.world.renderer import LEAST_TOKENS, MOST_TOKENS
from assay.errors import AssayError, ConfigError
from tests.bench.rb006.small_world import SEED, STAGES

SENTENCE = "Sentence {n} of this page says once more that nobody can know everything about the {topic} of the house."


def _write_dataset(folder: Path, documents: int, sentences: int) -> None:
    folder.mkdir(parents=True)
    rows = []
    for number in range(documents):
        text = "# A heading\n\n" + "\n\n".join(
            SENTENCE.format(n=place, topic=f"{folder.name} {number}") for place in range(sentences)
        )
        meta = {"version": f"v{number // 4}", "date": "2024-03-01"}
        rows.append({"_id": str(number), "title": f"Page {number}: notes", "text": text, "metadata": meta})
    corpus = "\n".join(map(json.dumps, rows)) + "\n"
    (folder / "corpus.jsonl").write_text(corpus)
    digest = hashlib.sha256(corpus.encode()).hexdigest()
    meta = {"source": f"made@{folder.name}", "sha256": {"corpus.jsonl": digest}}
    (folder / "meta.json").write_text(json.dumps(meta))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("real") / "data"
    for name in (name for group in SOURCE_GROUPS for name in group):
        _write_dataset(home / name, 60, 120)
    return home


@pytest.fixture
def data(written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The datasets as the environment names them; a world reads their texts when its chunks are made."""
    monkeypatch.setenv("ASSAY_DATA", str(written))
    return written


@pytest.fixture(scope="module")
def small(written: Path) -> World:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_DATA", str(written))
        return _build(STAGES[0])


def _build(scale: int) -> World:
    return build_world(SEED, "dev", scale, stages=STAGES, base="real")


def test_a_larger_scale_begins_with_the_smaller_one(data: Path, small: World) -> None:
    first = [chunk.as_record() for chunk in small.chunks()]
    large = [chunk.as_record() for chunk in _build(STAGES[1]).chunks()]
    assert (len(first), len(large)) == STAGES[:2]
    assert large[: len(first)] == first
    assert len({row["_id"] for row in large}) == len(large)


def test_every_rule_holds_and_real_text_is_there(data: Path, small: World) -> None:
    assert verify(small) == []
    chunks = list(small.chunks())
    real = [chunk for chunk in chunks if chunk.id.startswith("r")]
    assert len(real) > len(chunks) / 4
    assert real[0].section == "A heading"
    assert real[0].as_record()["metadata"]["date"] == "2024-03-01"
    assert all(LEAST_TOKENS <= chunk.tokens <= MOST_TOKENS for chunk in chunks)


def test_contradictions_and_what_out_of_scope_queries_name_are_there(data: Path, small: World) -> None:
    world = replace(small, scale=STAGES[-1])  # as the runner does
    texts = {chunk.id: f"{chunk.title} {chunk.text}" for chunk in world.chunks()}
    documents = {document_of(name) for name in texts}
    for query in world.queries:
        if not query.is_answerable:
            continue
        for group in query.groups:
            assert {s.chunk_id for s in (*group.sentences, *world.library.conflicts(group.fact))} <= texts.keys()
    asked = [query for query in world.queries if query.archetype == "oos_attribute"]
    everything = "\n".join(texts.values())
    labels = {label for department in world.library.departments() for label in department.state.labels.values()}
    for query in asked:
        assert any(label in query.text and label in everything for label in labels), query.text
    assert len(documents) < len(texts)


def test_the_queries_do_not_depend_on_the_base(data: Path, small: World) -> None:
    assert small.queries == build_world(SEED, "dev", STAGES[0], stages=STAGES).queries


def test_the_sources_stand_in_the_meta(data: Path, small: World, tmp_path: Path) -> None:
    meta = write_world(small, tmp_path / "world")
    assert meta["base"] == "real"
    assert meta["real_text"]["peps"]["source"] == "made@peps"
    assert len(meta["real_text"]["keps"]["corpus"]) == 64


def test_a_scale_below_the_first_stage_is_a_slice_of_it(data: Path, small: World) -> None:
    """What a quick run measures: the documents of its queries first, then real text."""
    slices = {scale: replace(small, scale=scale) for scale in (500, 1_500)}
    for scale, world in slices.items():
        assert verify(world) == []
        assert len(list(world.chunks())) == scale
        assert any(chunk.id.startswith("r") for chunk in world.chunks())
        assert any(query.groups and world.is_in_scope(query) for query in world.queries)
    assert _build(500).queries == small.queries


def test_a_scale_between_the_stages_is_refused(data: Path) -> None:
    with pytest.raises(ConfigError, match="not 7000"):
        _build(7_000)


def test_too_little_real_text_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (name for group in SOURCE_GROUPS for name in group):
        _write_dataset(tmp_path / name, 1, 0)
        (tmp_path / name / "corpus.jsonl").write_text('{"_id": "1", "title": "One", "text": "Short."}\n')
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    with pytest.raises(AssayError, match="real text is enough for"):
        list(_build(STAGES[0]).chunks())


def test_a_missing_dataset_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(data.parent))
    with pytest.raises(DatasetError, match="gitlab_handbook"):
        _build(STAGES[0])


@pytest.mark.skipif(
    not (Path(os.environ.get("ASSAY_DATA", "/nowhere")) / "gitlab_handbook").is_dir(), reason="needs the real datasets"
)
def test_chunks_of_the_real_datasets() -> None:
    chunks = list(islice(RealBody.find().chunks(), 400))
    assert len({chunk.id for chunk in chunks}) == 400
    assert all(LEAST_TOKENS <= chunk.tokens <= MOST_TOKENS for chunk in chunks)
    assert len({chunk.title for chunk in chunks}) > 3
    assert not any("](http" in chunk.text for chunk in chunks)
