"""A world on disk is checked before anything is measured on it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.bench.datasets.errors import DatasetError
from assay.bench.rb006.subject import SubjectError, load_world
from assay.bench.rb006.world import World, write_world


@pytest.fixture(scope="module")
def original(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("subjects") / "small"
    write_world(world, path)
    return path


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "small"))


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Change the rows of a file, and its digest in meta.json, as somebody would who means it."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in change(lines)), "utf-8")
    meta = json.loads((path.parent / "meta.json").read_text("utf-8"))
    meta["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (path.parent / "meta.json").write_text(json.dumps(meta), "utf-8")


def test_a_file_that_was_changed_is_refused(folder: Path) -> None:
    with (folder / "evidence.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(DatasetError, match="was changed"):
        load_world(folder)


def test_queries_evidence_and_hops(world: World, original: Path) -> None:
    subject = load_world(original, world)
    assert len(subject.queries) == 300
    scoped = {query.id: query for query in world.queries if world.is_in_scope(query)}
    assert {query.id for query in subject.answered} == {name for name, query in scoped.items() if query.groups}
    assert {query.id for query in subject.feasible} == {name for name, query in scoped.items() if query.is_answerable}
    for query in subject.answered:
        assert max(hop for _, hop in query.hops) == max(group.hop for group in scoped[query.id].groups)
    assert subject.about["seed"] == world.seed
    assert len(subject.about["files"]["corpus.jsonl"]) == 64


def test_a_world_of_another_seed_is_refused(world: World, folder: Path) -> None:
    with pytest.raises(SubjectError, match="seed 11, not 12"):
        load_world(folder, replace(world, seed=12))


def test_another_scale_is_refused(world: World, folder: Path) -> None:
    with pytest.raises(SubjectError, match="scale 2000, not 4000"):
        load_world(folder, replace(world, scale=4_000))


def test_a_changed_query_is_refused(world: World, folder: Path) -> None:
    rewrite(folder / "queries.jsonl", lambda rows: [{**rows[0], "text": "What else?"}, *rows[1:]])
    with pytest.raises(SubjectError, match="not those of the suite"):
        load_world(folder, world)


def test_missing_evidence_is_refused(folder: Path) -> None:
    rewrite(folder / "evidence.jsonl", lambda rows: [row for row in rows if row["query_id"] != rows[0]["query_id"]])
    with pytest.raises(SubjectError, match=r"evidence of the query .* is missing"):
        load_world(folder)


def test_evidence_that_does_not_stand_in_the_corpus_is_refused(folder: Path) -> None:
    wanted = json.loads((folder / "evidence.jsonl").read_text("utf-8").splitlines()[0])["doc_id"]
    rewrite(
        folder / "corpus.jsonl",
        lambda rows: [{**row, "text": "x" * len(row["text"])} if row["_id"] == wanted else row for row in rows],
    )
    with pytest.raises(SubjectError, match=f"is missing in {wanted}"):
        load_world(folder)


@pytest.mark.parametrize("content", ["", "[]", "{}", "{", '{"maker": "other"}'])
def test_a_folder_that_holds_no_world(tmp_path: Path, content: str) -> None:
    (tmp_path / "meta.json").write_text(content)
    with pytest.raises(SubjectError, match="holds"):
        load_world(tmp_path)
