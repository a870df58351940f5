"""The dataset folder: what the lab loads is what the world says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench.dataset_writer import FolderTaken
from assay.bench.datasets import load
from assay.bench.metrics.budget import score_budgets
from assay.bench.metrics.names import parse
from assay.bench.rb006.world import World, write_world
from assay.bench.types import Piece, TopicResult
from assay.ingest.records import parse_record
from tests.bench.rb006.small_world import SEED, STAGES


@pytest.fixture(scope="module")
def folder(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("worlds") / "small"
    write_world(world, path)
    return path


def test_the_lab_loads_queries_judgements_and_evidence(world: World, folder: Path) -> None:
    dataset = load(str(folder), "all")
    scoped = {query.id: query for query in world.queries if world.is_in_scope(query)}
    assert dataset.document_count == world.scale
    assert dataset.label == "synthetic"
    assert set(dataset.scored) == {name for name, query in scoped.items() if query.groups}
    assert dataset.abstain == {name for name, query in scoped.items() if query.kind == "out_of_scope"}
    for name in dataset.scored:
        query, found = scoped[name], dataset.evidence[name]
        expected = {
            (sentence.chunk_id, sentence.start, sentence.end, sentence.text, number)
            for number, group in enumerate(query.groups)
            for sentence in group.sentences
        }
        assert {(e.doc_id, e.start, e.end, e.text) for e in found} == {row[:4] for row in expected}
        assert len({e.group for e in found}) <= len(query.groups)
        assert set(dataset.judgements[name]) == {row[0] for row in expected}


def test_dev_and_test_have_the_template_splits(world: World, folder: Path) -> None:
    splits = {query.id: query.template_split for query in world.queries}
    for split, templates in (("dev", "tuning"), ("test", "heldout")):
        dataset = load(str(folder), split)
        assert {splits[name] for name in (*dataset.scored, *dataset.abstain)} == {templates}


def test_metadata_of_queries(folder: Path) -> None:
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 300
    for row in rows:
        meta = row["metadata"]
        assert meta["answerability"] in ("answerable", "impossible")
        assert (meta["impossible_kind"] == "none") == (meta["answerability"] == "answerable")
        assert meta.get("unanswerable", False) == (meta["impossible_kind"] == "out_of_scope")
        assert meta["stage"] in ("6k", "8k", "10k")
        assert {"template", "template_split", "tags", "evidence_tokens", "in_scope", "source"} <= set(meta)


def test_meta_says_how_it_was_made(world: World, folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    assert (meta["seed"], meta["scale"], meta["template_set"]) == (SEED, 2_000, "dev")
    assert meta["stages"] == {"6k": 6_000, "8k": 8_000, "10k": 10_000} == dict(zip(meta["stages"], STAGES, strict=True))
    assert meta["counts"]["docs"] == 2_000
    assert {"corpus.jsonl", "queries.jsonl", "evidence.jsonl", "qrels/dev.tsv"} <= set(meta["sha256"])


def test_conflicts_are_read_by_the_strict_metric(world: World, folder: Path) -> None:
    """A context that holds the gold and a twin without its title is answerable, not strictly."""
    dataset = load(str(folder), "all")
    query = next(q for q in world.queries if world.is_in_scope(q) and q.archetype == "policy_rule")
    gold = query.groups[0].sentences[0]
    twin = world.library.conflicts(query.groups[0].fact)[0]
    title = world.library.title(twin, query.groups[0].fact)
    contexts = {
        (1.0, 1.0): [gold.text],
        (1.0, 0.0): [gold.text, twin.text],
        (1.0, 1.0, "with its title"): [gold.text, f"{title} {twin.text}"],
    }
    for (plain, strict, *_), texts in contexts.items():
        pieces = tuple(Piece(gold.chunk_id, text, 10) for text in texts)
        scores = score_budgets(
            [parse("A@400tok"), parse("A_strict@400tok")], dataset, [TopicResult(query.id, pieces=pieces)]
        )
        assert [float(values[0]) for values in scores.values()] == [plain, strict]


def test_sections_reach_the_store(folder: Path) -> None:
    record = next(iter(load(str(folder), "all").documents))
    chunk = parse_record(record).sections[0]
    assert chunk.path
    assert " > ".join(chunk.path) == record["section"]


def test_writing_again_gives_the_same_bytes(world: World, folder: Path, tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    before = json.loads((folder / "meta.json").read_text("utf-8"))["sha256"]
    again = write_world(world, tmp_path / "small", progress=lambda *call: calls.append(call))
    assert again["sha256"] == before
    assert calls[-1] == ("writing chunks", 2_000, 2_000)


def test_a_foreign_folder_is_not_overwritten(world: World, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(FolderTaken, match="is there already"):
        write_world(replace(world, scale=500), tmp_path)
