"""Replays: one corpus parsed and indexed once, each query embedded once, every kind of receipt checked."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.datasets.beir import JsonLinesCorpus
from assay.bench.datasets.corpus_cache import CachedDocuments
from assay.bench.receipt import compute_digest, read, write
from assay.bench.replay import ReceiptReplay, replay_all
from assay.bench.runner import RunPlan
from assay.bench.systems import load_systems
from assay.bench.workspace import Workspace, prepare
from assay.embed import default_spec
from assay.types import Vector
from tests.bench.hand_made import dataset
from tools.replay_receipts import check_all, find_receipts, summarise

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
PLAN = RunPlan(("nDCG@10",))
needs_model = pytest.mark.skipif(default_spec() == "none", reason="no embedding model is installed")


class CountingEmbedder:
    """An embedder that counts the queries it embeds."""

    def __init__(self, inner: Any, counts: Counter[str]) -> None:
        self.inner = inner
        self.counts = counts

    def encode_query(self, text: str) -> Vector:
        self.counts["embedded"] += 1
        vector: Vector = self.inner.encode_query(text)
        return vector


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a corpus was parsed, an index was opened and a query embedded."""
    found: Counter[str] = Counter()
    inner_pass, start = JsonLinesCorpus.with_places, Workspace.__init__

    def count_parse(corpus: JsonLinesCorpus) -> Any:
        found["parsed"] += 1
        return inner_pass(corpus)

    def count_open(workspace: Workspace, *arguments: Any) -> None:
        found["opened"] += 1
        start(workspace, *arguments)
        workspace.__dict__["_embedder"] = CountingEmbedder(workspace.kb.embedder, found)

    monkeypatch.setattr(JsonLinesCorpus, "with_places", count_parse)
    monkeypatch.setattr(Workspace, "__init__", count_open)
    return found


@needs_model
@pytest.mark.parametrize(
    ("names", "embedded"), [(["bm25", "random", "oracle"], 0), (["bm25", "dense", "default", "hybrid+rerank"], 10)]
)
def test_a_run_parses_its_corpus_once_and_embeds_what_it_must(
    counts: Counter[str], tmp_path: Path, names: list[str], embedded: int
) -> None:
    """It was five parses and ten embeddings, whatever the systems."""
    found = load("tiny")
    with prepare(found, cache=tmp_path) as workspace:
        lab.run(found, load_systems(names), workspace, PLAN)
    assert (counts["parsed"], counts["embedded"]) == (1, embedded)


@needs_model
def test_replays_share_corpus_index_and_vectors(
    counts: Counter[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.bench.workspace.cache_home", lambda: tmp_path / "home")
    receipts = {}
    for split in ("dev", "test"):
        found = load("tiny", split)
        with prepare(found) as workspace:
            done = lab.run(found, load_systems(["bm25", "dense", "default"]), workspace, PLAN, timed=False)
        receipts |= {(split, name): receipt for name, receipt in done.receipts.items()}
    queries = sum(len(receipts[split, "bm25"].canonical["queries"]) for split in ("dev", "test"))
    counts.clear()
    results = dict(replay_all(receipts))
    assert {result.outcome for result in results.values()} == {"same"}
    assert results.keys() == receipts.keys()
    assert counts == {"parsed": 1, "opened": 1, "embedded": queries}


def test_a_large_corpus_is_read_again() -> None:
    class Documents:
        parsed = 0

        def with_places(self) -> Any:
            self.parsed += 1
            return iter([("a:1", {"id": "a", "title": "t", "text": "12345"}), ("a:2", {"id": "b", "text": "1"})])

        def __iter__(self) -> Any:
            return (record for _, record in self.with_places())

    small, large = Documents(), Documents()
    cached, read_again = CachedDocuments(small, most=7), CachedDocuments(large, most=6)
    assert [r["id"] for r in cached] == [r["id"] for r in cached] == [r["id"] for r in read_again] == ["a", "b"]
    assert list(cached.with_places()) == list(read_again.with_places())
    assert (small.parsed, large.parsed) == (1, 2)


def test_a_pass_that_was_broken_off_is_not_kept() -> None:
    class Documents:
        def with_places(self) -> Any:
            return iter([("a:1", {"id": "a"}), ("a:2", {"id": "b"})])

        def __iter__(self) -> Any:
            return (record for _, record in self.with_places())

    documents = CachedDocuments(Documents())
    next(iter(documents))
    assert [record["id"] for record in documents] == ["a", "b"]


def test_what_cannot_be_run_here_is_a_result(words: Workspace, tmp_path: Path) -> None:
    receipt = lab.run(dataset(), load_systems(["bm25"]), words, PLAN, timed=False).receipts["bm25"]
    gone = replace(
        receipt,
        canonical={**receipt.canonical, "dataset": {**receipt.canonical["dataset"], "source": "/nowhere/at/all"}},
    )
    ((_, result),) = replay_all({"gone": gone})
    assert result.outcome == "not replayable"
    assert result.details
    golden = read(GOLDEN / "tiny.test.bm25.json")
    spec = {"legs": {"second": {"use": "no_such_leg"}}}
    system = {**golden.canonical["system"], "spec": spec}
    ((_, result),) = replay_all({"odd": replace(golden, canonical={**golden.canonical, "system": system})})
    assert result.outcome == "not replayable"


def test_same_rankings_from_another_index() -> None:
    golden = read(GOLDEN / "tiny.test.bm25.json")
    index = {**golden.canonical["index"], "digest": "0" * 64}
    other = replace(golden, canonical={**golden.canonical, "index": index})
    assert ReceiptReplay(golden, other).outcome == "same rankings"
    assert not ReceiptReplay(golden, other).other_vectors  # this index has none
    rankings = ["0" * 16, *golden.canonical["rankings"][1:]]
    model = {**index, "model": "m"}
    changed = replace(golden, canonical={**golden.canonical, "index": {**model, "digest": "1" * 64}})
    wrong = replace(golden, canonical={**golden.canonical, "index": model, "rankings": rankings})
    assert ReceiptReplay(changed, wrong).outcome == "differs"
    assert ReceiptReplay(changed, wrong).other_vectors


def test_the_golden_receipts_replay(tmp_path: Path) -> None:
    checks = list(check_all(find_receipts([GOLDEN]), out=tmp_path))
    assert [check.outcome for check in checks] == ["same"] * 3
    assert read(tmp_path / "tests/golden/tiny.test.bm25.json").digest == read(GOLDEN / "tiny.test.bm25.json").digest
    counts = Counter((check.kind, check.outcome) for check in checks)
    assert summarise(counts).splitlines()[1].split() == ["run", "3", "0", "0", "0", "0"]


def test_a_changed_ranking_is_found(tmp_path: Path) -> None:
    golden = read(GOLDEN / "tiny.test.bm25.json")
    rankings = ["0" * 16, *golden.canonical["rankings"][1:]]
    write(replace(golden, canonical={**golden.canonical, "rankings": rankings}), tmp_path / "changed.json")
    (check,) = check_all([tmp_path / "changed.json"])
    assert check.outcome == "differs"
    details = tuple(line for line in check.details if not line.startswith("host.instructions"))  # another processor
    assert details == (f"query {golden.canonical['queries'][0]}: its ranking differs, the first of 1",)


def test_committed_receipts_of_other_kinds_fit_their_runs() -> None:
    """Gates and router reports are recomputed from their runs, fusion columns compared with them."""
    checks = [check for check in check_all(find_receipts([ROOT / "receipts"]), systems=["none"]) if check.kind != "run"]
    assert {check.path.name: check.details for check in checks if check.outcome == "differs"} == {}
    consistent = Counter(check.kind for check in checks if check.outcome == "consistent")
    assert consistent == {"fusion": 32, "gate": 8, "router report": 8}
    assert all(check.details for check in checks if check.outcome == "not replayable")


@pytest.mark.parametrize("change", ["summary", "metric", "gate", "fusion"])
def test_what_does_not_fit_its_runs_is_found(tmp_path: Path, change: str) -> None:
    source = ROOT / "receipts" / ("fusion" if change == "fusion" else "router")
    names = {"gate": "scifact.test.router-gate.json", "fusion": "nfcorpus.test.json"}
    name = names.get(change, "reports/scifact.test.router.json")
    path = tmp_path / Path(name).name
    content = json.loads((source / name).read_text("utf-8"))
    if change == "summary":
        content["summary"]["mrr"] = 0.5
    elif change == "metric":
        content["results"][3]["metrics"]["mrr"] = 0.123
    elif change == "gate":
        content["canonical"]["gates"][0]["verdict"] = "fail"
        content["digest"] = compute_digest(content["canonical"])
    else:
        content["canonical"]["systems"]["bm25"]["scores"][0] += 9_000
    path.write_text(json.dumps(content))
    runs = list((ROOT / "receipts" / "router").glob("scifact*.json"))
    (check,) = [check for check in check_all([path, *runs], systems=["none"]) if check.path == path]
    assert check.outcome == "differs"
    assert check.details


@pytest.mark.slow
def test_a_sample_of_the_committed_receipts_replays() -> None:
    """Systems that use no vectors give the same rankings on every processor, and need no model."""
    folder = os.environ.get("ASSAY_DATA", "")
    if not folder or not (Path(folder) / "cranfield").is_dir():
        pytest.skip("ASSAY_DATA names no folder with cranfield")
    paths = [
        ROOT / "receipts" / "lab" / f"cranfield.test.{name}.json" for name in ("bm25", "random", "oracle", "dense")
    ]
    checks = list(check_all(paths, lexical=True))
    assert [check.outcome for check in checks] == ["same rankings"] * 3  # dense is left out
