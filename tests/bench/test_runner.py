"""One dataset, one index, many systems: what a run receipt says, and that it says the same again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from assay.bench import lab
from assay.bench.messages import failures, why
from assay.bench.receipt import read
from assay.bench.report import build_report, render_html, render_markdown
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import System, load_system, load_systems, make_system
from assay.bench.types import TopicResult
from assay.bench.workspace import IndexSettings, Workspace, compute_corpus_digest, prepare
from assay.cli.views.run import show
from assay.config.load import loads
from assay.engine.pipeline import LegPlan, Pipeline
from assay.errors import ConfigError, QueryError
from assay.protocols import Snapshot
from assay.types import Query, Range, Ranking
from tests.bench.hand_made import DOCUMENTS, JUDGEMENTS, TOPICS, dataset

PLAN = RunPlan(("nDCG@10", "RR@10", "P@5", "R@10"))


def test_bm25_by_hand(words: Workspace) -> None:
    """q2 and q3 find their one document first; q1 finds `keys` (grade 2) before `bug` (grade 1)."""
    bench = Bench(dataset(), words, PLAN)
    results = bench.run(load_system("bm25"))
    assert [r.topic for r in results] == ["q1", "q2", "q3"]
    assert results[0].documents[:2] == ("keys", "bug")
    receipt = bench.receipt(load_system("bm25"), results)
    assert receipt.canonical["scores"] == {
        "nDCG@10": [1.0, 1.0, 1.0],
        "RR@10": [1.0, 1.0, 1.0],
        "P@5": [0.4, 0.2, 0.2],
        "R@10": [1.0, 1.0, 1.0],
    }
    assert receipt.canonical["aggregates"]["kind=fact"]["P@5"] == 0.3
    assert receipt.canonical["strata"] == {"kind=fact": [0, 2], "kind=identifier": [1]}
    assert receipt.canonical["status"] == "measured"


def test_a_packer_is_measured_at_every_budget(words: Workspace) -> None:
    """q3 asks for the second sentence of `tea`; 20 tokens hold it, with its header, and not the first one."""
    toml = 'k = 10\n[legs.bm25]\nk = 10\n[context]\nuse = "PACKER"\n'
    bench = Bench(dataset(), words, RunPlan(("A@16tok", "A@400tok", "nDCG@10")))
    found = {}
    for packer in ("naive", "coverage"):
        system = make_system(loads(toml.replace("PACKER", packer)), packer)
        results = bench.run(system)
        assert not any(result.failed for result in results)
        assert sorted(results[2].contexts) == [16, 400]
        assert not results[0].contexts, "a topic without evidence is not packed"
        assert all(sum(piece.tokens for piece in pieces) <= size for size, pieces in results[2].contexts.items())
        found[packer] = bench.receipt(system, results).canonical["scores"]["A@16tok"][2]
    assert found == {"naive": 0.0, "coverage": 1.0}


def test_the_bounds(words: Workspace) -> None:
    bench = Bench(dataset(), words, PLAN)
    oracle = bench.run(load_system("oracle"))
    assert [r.documents for r in oracle] == [("keys", "bug"), ("bug",), ("tea",)]
    assert oracle[2].pieces[0].text == "The kettle stands in the kitchen."
    lot = bench.run(load_system("random"))
    findable = {"keys", "tea", "leave", "bug"}  # `void` has nothing to find
    assert all(set(r.documents) == findable for r in lot)
    other = Bench(dataset(), words, replace(PLAN, seed=1)).run(load_system("random"))
    assert [r.documents for r in lot] != [r.documents for r in other]


def test_random_stays_inside_the_filter(words: Workspace) -> None:
    topics = {**TOPICS, "q1": replace(TOPICS["q1"], where='title = "Tea"')}
    bench = Bench(dataset(topics=topics), words, PLAN)
    assert bench.run(load_system("random"))[0].documents == ("tea",)
    assert bench.run(load_system("bm25"))[0].documents == ()


def test_a_leg_the_index_cannot_serve_is_not_measured(words: Workspace) -> None:
    bench = Bench(dataset(), words, PLAN)
    for name in ("dense", "default"):
        receipt = bench.receipt(load_system(name), bench.run(load_system(name)))
        assert receipt.canonical["status"] == "not_measured"
        assert receipt.canonical["why"]["code"] == "cannot_run"
        assert why(receipt).startswith("dense cannot run: ")


@dataclass(frozen=True)
class Moody:
    """A plug-in's leg that fails on some questions."""

    needs: ClassVar[frozenset[str]] = frozenset()
    on: str = "ERR"
    error: str = "QueryError"

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        if self.on in query.text:
            raise {"QueryError": QueryError("no mood"), "ValueError": ValueError("no mood")}[self.error]
        found = snapshot.lexical(query, k)
        return Ranking.of(snapshot.ids(found.rows), found.parts, "raw", rows=found.rows)

    def gives(self) -> Range:
        return Range("raw", 0.0, float("inf"))


@pytest.mark.parametrize("error", ["QueryError", "ValueError"])
def test_a_failed_query_is_a_row_with_a_reason(words: Workspace, error: str) -> None:
    moody = System("moody", {"x": 1}, Pipeline("moody", (LegPlan("moody", Moody(error=error)),), None, digest="m"))
    bench = Bench(dataset(), words, PLAN)
    receipt = bench.receipt(moody, bench.run(moody))
    assert receipt.canonical["failed"] == {"q2": error}
    assert failures(receipt) == {"q2": f"{error}: no mood"}
    assert receipt.canonical["scores"]["nDCG@10"] == [1.0, 0.0, 1.0]
    assert receipt.canonical["status"] == "measured"
    always = System("always", {"x": 2}, Pipeline("a", (LegPlan("a", Moody(on="", error=error)),), None, digest="a"))
    receipt = bench.receipt(always, bench.run(always))
    assert receipt.canonical["status"] == "not_measured"
    assert receipt.canonical["why"] == {"code": "all_failed", "values": {"error": error}}
    assert "every query failed" in why(receipt)


def test_one_leg_search_serves_every_system(words: Workspace) -> None:
    bench = Bench(dataset(), words, PLAN)
    bench.run(load_system("bm25"))
    searches = bench.snapshot.searches
    bench.run(make_system(loads("[legs.bm25]\nk = 100\n[[step]]\nuse = 'importance'"), "prior"))
    assert (searches, bench.snapshot.searches) == (3, 3)
    assert bench.snapshot.cache_hits == 3


def test_remembered_and_fresh_are_equal(words: Workspace) -> None:
    bench = Bench(dataset(), words, PLAN)
    first = bench.receipt(load_system("bm25"), bench.run(load_system("bm25")))
    again = bench.receipt(load_system("bm25"), bench.run(load_system("bm25")))
    fresh = Bench(dataset(), words, PLAN)
    assert first.digest == again.digest == fresh.receipt(load_system("bm25"), fresh.run(load_system("bm25"))).digest


@pytest.mark.parametrize("what", ["judgement", "document", "weight", "query"])
def test_one_change_changes_the_digest(words: Workspace, tmp_path: Path, what: str) -> None:
    chosen = make_system(loads("[legs.bm25]\nk = 100"), "mine")
    changed, other = dataset(), chosen
    if what == "judgement":
        changed = dataset(judgements={**JUDGEMENTS, "q3": {"tea": 2}})
    elif what == "document":
        changed = dataset(documents=[*DOCUMENTS[:-1], {"id": "void", "title": "", "text": "something"}])
    elif what == "query":
        changed = dataset(topics={**TOPICS, "q3": replace(TOPICS["q3"], text="kettles")})
    else:
        other = make_system(loads("[legs.bm25]\nk = 99"), "mine")
    before = Bench(dataset(), words, PLAN)
    with prepare(changed, IndexSettings("none"), cache=tmp_path) as workspace:
        after = Bench(changed, workspace, PLAN)
        one = before.receipt(chosen, before.run(chosen))
        two = after.receipt(other, after.run(other))
    assert one.digest != two.digest


def test_a_workspace_is_built_once(tmp_path: Path) -> None:
    seen: list[str] = []

    def report(what: str, done: int, total: int) -> None:
        seen.append(what)

    for _ in range(2):
        with prepare(dataset(), IndexSettings("none"), report, cache=tmp_path) as workspace:
            assert workspace.snapshot.size == 4
    assert seen.count("adding documents") == len(DOCUMENTS)


def test_a_damaged_workspace_is_built_anew(tmp_path: Path) -> None:
    with prepare(dataset(), IndexSettings("none"), cache=tmp_path) as workspace:
        digest = workspace.snapshot.digest
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    for path in folder.iterdir():
        if path.is_file():
            path.write_bytes(b"rubbish")
    with prepare(dataset(), IndexSettings("none"), cache=tmp_path) as workspace:
        assert workspace.snapshot.digest == digest


def test_splits_share_their_corpus() -> None:
    other = dataset(split="dev", judgements={"q1": {"keys": 1}})
    assert compute_corpus_digest(dataset()) == compute_corpus_digest(other)


CHILD = """
import sys
from pathlib import Path
from assay.bench.runner import Bench, RunPlan
from assay.bench.systems import load_system
from assay.bench.workspace import IndexSettings, prepare
from tests.bench.hand_made import dataset
with prepare(dataset(), IndexSettings("none"), cache=Path(sys.argv[1])) as workspace:
    bench = Bench(dataset(), workspace, RunPlan(("nDCG@10",)))
    for name in ("bm25", "random"):
        print(bench.receipt(load_system(name), bench.run(load_system(name))).digest)
"""


def test_the_same_digest_in_other_processes_and_hash_seeds(tmp_path: Path) -> None:
    outputs = set()
    for seed, threads in (("0", "1"), ("1", "2"), ("4711", "2")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads, "PYTHONPATH": os.getcwd()}
        command = [sys.executable, "-c", CHILD, str(tmp_path / seed)]
        outputs.add(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)
    assert len(outputs) == 1


def test_a_run_writes_receipts_and_takes_them_up_again(words: Workspace, tmp_path: Path) -> None:
    chosen = load_systems(["bm25", "random", "oracle"])
    first = lab.run(dataset(), chosen, words, PLAN, out=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hand.test.bm25.json",
        "hand.test.oracle.json",
        "hand.test.random.json",
    ]
    receipt = read(tmp_path / "hand.test.bm25.json")
    assert receipt.digest == first.receipts["bm25"].digest
    assert receipt.measured["latency_ms"]["total"]["p50"] > 0.0
    assert "texts" not in receipt.measured
    again = lab.run(dataset(), chosen, words, PLAN, out=tmp_path)
    assert again.reused == ("bm25", "random", "oracle")
    other = lab.run(dataset(), chosen, words, replace(PLAN, metrics=("P@5",)), out=tmp_path)
    assert other.reused == ()
    forced = lab.run(dataset(), chosen, words, replace(PLAN, metrics=("P@5",)), out=tmp_path, again=True, timed=False)
    assert forced.reused == ()


def test_texts_enter_only_when_asked_for_and_outside_the_digest(words: Workspace, tmp_path: Path) -> None:
    plain = lab.run(dataset(), [load_system("bm25")], words, PLAN, out=tmp_path, timed=False).receipts["bm25"]
    with_texts = lab.run(dataset(), [load_system("bm25")], words, PLAN, with_text=True, timed=False).receipts["bm25"]
    assert with_texts.measured["texts"]["q3"] == "kettle"
    assert plain.digest == with_texts.digest
    assert "kettle" not in (tmp_path / "hand.test.bm25.json").read_text()


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """The second system kills the process; the first one's work is on disk, and the next run goes on from it."""
    code = f"""
import os, signal
from pathlib import Path
from assay.bench import lab
from assay.bench.runner import RunPlan
from assay.bench.systems import load_systems
from assay.bench.workspace import IndexSettings, prepare
from tests.bench.hand_made import dataset
def report(what, done, total):
    if what == "random":
        os.kill(os.getpid(), signal.SIGKILL)
folder = Path({str(tmp_path)!r})
with prepare(dataset(), IndexSettings("none"), cache=folder / "cache") as workspace:
    chosen = load_systems(["bm25", "random"])
    lab.run(dataset(), chosen, workspace, RunPlan(("nDCG@10",)), out=folder / "out", progress=report)
"""
    env = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["hand.test.bm25.json"]
    unfinished = read(tmp_path / "out" / "hand.test.bm25.json")
    with prepare(dataset(), IndexSettings("none"), cache=tmp_path / "cache") as workspace:
        chosen = load_systems(["bm25", "random"])
        whole = lab.run(dataset(), chosen, workspace, RunPlan(("nDCG@10",)), out=tmp_path / "out", timed=False)
    assert whole.receipts["bm25"].digest == unfinished.digest


def test_impossible_results_are_said(words: Workspace) -> None:
    """Judgements changed behind the oracle's back: a system that beats it is an error of the lab."""
    bench = Bench(dataset(), words, PLAN)
    good = bench.receipt(load_system("bm25"), bench.run(load_system("bm25")))
    poor = bench.receipt(load_system("oracle"), [TopicResult(t) for t in dataset().scored])
    from assay.bench.sanity_checks import check_results

    (doubt,) = check_results({"bm25": good, "oracle": poor}, "nDCG@10")["bm25"]
    assert (doubt.level, doubt.where) == ("error", "ceiling")
    nothing = bench.receipt(load_system("bm25"), [TopicResult(t) for t in dataset().scored])
    lot = bench.receipt(load_system("random"), bench.run(load_system("random")))
    (doubt,) = check_results({"bm25": nothing, "random": lot}, "nDCG@10")["bm25"]
    assert doubt.where == "floor"


def test_systems_that_differ_in_nothing_are_said(words: Workspace) -> None:
    two = make_system(loads("[legs.bm25]\nk = 90"), "shallower")
    doubts = lab.run(dataset(), [load_system("bm25"), two], words, PLAN, timed=False).doubts
    assert [doubt.where for doubt in doubts["shallower"]] == ["no effect"]


def test_leaks_and_self_hits(words: Workspace) -> None:
    from assay.bench.sanity_checks import check_dataset

    assert check_dataset(dataset(), words) == []
    topics = {**TOPICS, "q3": replace(TOPICS["q3"], text="TEA")}
    (leak,) = check_dataset(dataset(topics=topics), words)
    assert leak.where == "leakage"
    assert "1 of 3 queries are the title of a relevant document" in leak.text
    judged = {"keys": {"keys": 1}}
    numbered = {"keys": replace(TOPICS["q1"], id="keys")}
    assert check_dataset(dataset(topics=numbered, judgements=judged), words) == [], "that ids coincide means nothing"
    text = next(record["text"] for record in dataset().documents if record["id"] == "keys")
    quoted = {"keys": replace(TOPICS["q1"], id="keys", text=" ".join(text.split()[:4]).upper())}
    (itself,) = check_dataset(dataset(topics=quoted, judgements=judged), words)
    assert itself.where == "self-hits"


def test_a_leg_that_never_finds_anything_is_said(words: Workspace) -> None:
    both = make_system(loads("[legs.bm25]\n[legs.exact]\n[fuse]\nuse = 'rrf'"), "both")
    plain = dataset(topics={**TOPICS, "q2": replace(TOPICS["q2"], text="crash")})  # no identifier, no phrase
    bench = Bench(plain, words, PLAN)
    findings = bench.receipt(both, bench.run(both)).canonical["preflight"]
    assert [f["where"] for f in findings if f["code"] == "leg_found_nothing"] == ["legs.exact"]
    bench = Bench(dataset(), words, PLAN)
    findings = bench.receipt(both, bench.run(both)).canonical["preflight"]
    assert not [f for f in findings if f["code"] == "leg_found_nothing"]


def test_names_of_systems(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'dense'"):
        load_system("dennse")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.toml").write_text(f"[legs.bm25]\nk = {len(folder) if folder == 'a' else 7}")
    with pytest.raises(ConfigError, match="two different systems are called 'mine'"):
        load_systems([str(tmp_path / "a" / "mine.toml"), str(tmp_path / "b" / "mine.toml")])
    assert [s.name for s in load_systems(["bm25", "bm25", "dense"])] == ["bm25", "dense"]


def test_specs_rebuild_their_systems() -> None:
    from assay.bench.systems import BASELINES, from_spec
    from assay.config.load import preset_names

    for name in {*BASELINES, *preset_names()}:
        found = load_system(name)
        again = from_spec(found.name, found.spec)
        assert (again.name, again.digest, again.spec) == (found.name, found.digest, found.spec)


def test_budgets_read_the_chunks(words: Workspace) -> None:
    bench = Bench(dataset(), words, RunPlan(("ER@400tok",)))
    receipt = bench.receipt(load_system("bm25"), bench.run(load_system("bm25")))
    scores: Mapping[str, list[float | None]] = receipt.canonical["scores"]
    assert scores["ER@400tok"] == [None, None, 1.0]


def test_a_receipt_says_what_each_leg_alone_brought(words: Workspace, tmp_path: Path) -> None:
    graph = loads('[legs.bm25]\n[legs.graph]\nafter = ["bm25"]\n[fuse]\nuse = "rrf"\n', "with-graph")
    done = lab.run(dataset(), [make_system(graph), load_system("bm25")], words, PLAN, out=tmp_path, timed=False)
    legs = done.receipts["with-graph"].measured["legs"]
    assert legs["bm25"]["chosen"] == legs["bm25"]["alone"] + (legs["graph"]["chosen"] - legs["graph"]["alone"])
    assert "legs" not in done.receipts["bm25"].measured  # one leg brings everything
    text = render_markdown(build_report(list(done.receipts.values())))
    assert f"| with-graph | graph | {legs['graph']['chosen']} | {legs['graph']['alone']} |" in text
    assert "it alone had found" in render_html(build_report(list(done.receipts.values())))


@pytest.mark.parametrize(("weight", "alone", "shown"), [(0.35, 0, "not measured"), (0.35, 2, "2"), (1.0, 0, "0")])
def test_none_alone_is_no_measurement_where_none_could_be(
    words: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str], weight: float, alone: int, shown: str
) -> None:
    toml = f"[legs.bm25]\n[legs.graph]\nafter = ['bm25']\n[fuse]\nuse = 'rrf'\nweights = {{graph = {weight}}}\n"
    done = lab.run(dataset(), [make_system(loads(toml, "graphed"))], words, PLAN, out=tmp_path, timed=False)
    receipt = done.receipts["graphed"]
    receipt.measured["legs"]["graph"] = {"chosen": 7, "alone": alone}
    assert f"| graphed | graph | 7 | {shown} |" in render_markdown(build_report(list(done.receipts.values())))
    show(dataset(), PLAN, done, None)
    text = f"graph 7 (alone {shown})" if shown == "not measured" else f"graph 7 ({shown} alone)"
    assert text in " ".join(capsys.readouterr().out.split())
