"""A whole quick run: every stage and system, interrupted and continued, stopped by a kill line."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench.rb006.replay import find_differences, find_going_on, read_settings, replay_run
from assay.bench.rb006.report.files import read_receipt, write_report
from assay.bench.rb006.report.html import render_html
from assay.bench.rb006.report.markdown import render_markdown
from assay.bench.rb006.report.summary import describe_troubles
from assay.bench.rb006.run_receipt import make_receipt
from assay.bench.rb006.runner.plan import RunSettings, list_stages
from assay.bench.rb006.runner.run import BenchmarkRun, run_benchmark
from assay.bench.rb006.systems import MAIN
from assay.bench.receipt import ReceiptError
from assay.embed.installed_models import find_model
from assay.errors import ConfigError

EXTRA = ("select-adagres", "path-ema", "rerank-children", "soft-assignment", "summaries-generic", "tree-headings")
EXTRA = (*EXTRA, "diversity-mmr", "top-2", "router-maxpool", "race-seed-1", "race-seed-2")
SETTINGS = RunSettings(quick=True, largest=1_500, systems=(*MAIN, *EXTRA))
needs_model = pytest.mark.skipif(find_model("minilm") is None, reason="no embedding model is installed")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rb006")


@pytest.fixture(scope="module")
def done(out: Path) -> BenchmarkRun:
    """Interrupted once in the middle, then continued."""
    seen = 0

    def interrupt(task: str, number: int, total: int) -> None:
        nonlocal seen
        seen += "chunks:" in task
        if seen == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_benchmark(SETTINGS, out / "run", go_on=True, progress=interrupt, cache=out / "cache")
    kept = read_records(out / "run")
    assert kept
    finished = run_benchmark(SETTINGS, out / "run", go_on=True, cache=out / "cache")
    after = read_records(out / "run")
    assert all(after[key] == record for key, record in kept.items()), "a finished record was measured again"
    return finished


def read_records(out: Path) -> dict[tuple[str, str, str], dict[str, object]]:
    found = {}
    for path in sorted((out / "records").rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines()[1:]:
            record = json.loads(line)
            found[path.parent.name, path.stem, record["query"]] = record
    return found


@needs_model
def test_every_system_was_asked_every_query(done: BenchmarkRun) -> None:
    for scale, at in done.measured.scales.items():
        for system in done.systems:
            if system.name in EXTRA and scale != done.measured.gated:
                continue
            assert set(at.records[system.name]) == {query.id for query in at.subject.answered}, system.name
            failed = [record["failed"] for record in at.records[system.name].values() if "failed" in record]
            assert not failed
        assert set(at.detected) == {query.id for query in at.subject.queries}
    assert [outcome.stage.name for outcome in done.stages] == [
        "slice",
        "curves",
        "decomposition",
        "cross-links",
        "ablations",
        "scale-up",
    ]


@needs_model
def test_bounds_hold(done: BenchmarkRun) -> None:
    at = done.measured.at_gate
    assert at.mean("oracle", "A", 400) == 1.0
    assert (at.mean("random", "A", 400) or 0.0) <= (at.mean("flat-strong", "A", 400) or 0.0)
    for system in done.systems:
        for query in at.feasible:
            record = at.records[system.name][query.id]
            for budget in (200, 400, 800, 1200):
                assert record["tokens"][str(budget)] <= budget
                assert record["A_strict"][str(budget)] <= record["A"][str(budget)] <= record["ER"][str(budget)]
    for query in at.feasible:
        grid = at.records["race"][query.id]["grid"]
        assert [grid[3], grid[7], grid[15], grid[23]] == [
            at.records["race"][query.id]["A"][str(budget)] for budget in (200, 400, 800, 1200)
        ]


@needs_model
def test_the_race_is_one_of_its_paths(done: BenchmarkRun) -> None:
    at = done.measured.at_gate
    for query in at.feasible:
        race = at.records["race"][query.id]
        path = at.records[f"{race['race']['winner']}-only"][query.id]
        assert race["ranking"] == path["ranking"]
        assert race["A"] == path["A"]


@needs_model
def test_values_and_verdicts(done: BenchmarkRun) -> None:
    assert set(done.values) >= {
        line.value for one in done.settings.thresholds.hypotheses for line in (*one.go, *one.kill)
    }
    assert done.values["race_minus_flat_400_at_200k"] is not None
    verdicts = {one.hypothesis.name: one.outcome for one in done.settings.thresholds.judge(done.values)}
    assert set(verdicts) == {"H1a", "H1b", "H1c", "impossible"}
    for name, tree in ((scale, at.tree) for scale, at in done.measured.scales.items()):
        assert tree["coverage"] == 1.0, name


@needs_model
def test_a_second_run_measures_nothing_and_says_the_same(done: BenchmarkRun, out: Path) -> None:
    tasks: list[str] = []
    again = run_benchmark(
        SETTINGS, out / "run", go_on=True, progress=lambda task, *_: tasks.append(task), cache=out / "cache"
    )
    assert not [task for task in tasks if "chunks:" in task]
    assert again.values == done.values


@needs_model
def test_a_kill_line_stops_the_run(done: BenchmarkRun, out: Path) -> None:
    thresholds = SETTINGS.thresholds
    hypotheses = tuple(
        replace(one, kill=tuple(replace(line, op=">=", threshold=-9.0) for line in one.kill))
        for one in thresholds.hypotheses
    )
    settings = replace(SETTINGS, thresholds=replace(thresholds, hypotheses=hypotheses))
    stopped = run_benchmark(settings, out / "stopped", cache=out / "cache")
    assert [outcome.state for outcome in stopped.stages] == ["killed", *["not run"] * 5]
    assert stopped.stages[0].killed_by == ("H1c: epsilon_level_1_dev_slice >= -9",)
    assert stopped.stopped
    assert not done.stopped


@needs_model
def test_a_folder_of_another_run_is_refused(done: BenchmarkRun, out: Path) -> None:
    with pytest.raises(ConfigError, match="holds a run with seed None, not 7"):
        run_benchmark(replace(SETTINGS, seed=7), out / "run", cache=out / "cache")


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings(quick=True, largest=500, systems=("flt",)),
        RunSettings(quick=True, largest=500, rerank="flashrank"),
        RunSettings(templates="frozen", largest=10_000, seed=5),
        RunSettings(templates="frozen", largest=10_000, queries=500),
    ],
    ids=["system", "rerank", "seed", "queries"],
)
def test_a_run_that_is_refused_does_not_claim_its_folder(settings: RunSettings, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no system|no rerank stage|was frozen with"):
        run_benchmark(settings, tmp_path / "run", cache=tmp_path / "cache")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("content", ["[]", "{", '"x"'])
def test_a_folder_with_a_damaged_description_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ConfigError, match=r"run\.json") as error:
        run_benchmark(SETTINGS, tmp_path, cache=tmp_path / "cache")
    assert "--out" in str(error.value.cure)


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match="no scale"):
        RunSettings(largest=123)


def test_the_stages_of_a_whole_run() -> None:
    stages = {stage.name: stage for stage in list_stages(RunSettings(largest=200_000))}
    assert list(stages) == ["slice", "curves", "decomposition", "cross-links", "scale-up"]
    assert [part.scale for part in stages["curves"].parts] == [10_000, 50_000]
    assert stages["scale-up"].parts[0].scale == 200_000
    asked = {name for stage in stages.values() for part in stage.parts if part.scale == 50_000 for name in part.systems}
    assert asked == set(MAIN)


@needs_model
def test_the_receipt_is_the_same_again_and_the_report_is_made_from_it(done: BenchmarkRun, out: Path) -> None:
    receipt = make_receipt(done, note="a <b>bold</b> change")
    paths = write_report(receipt, out / "report")
    stored = read_receipt(paths[0])
    assert stored.digest == receipt.digest == make_receipt(done).digest
    html, markdown = (path.read_text("utf-8") for path in paths[1:])
    for verdict in receipt.canonical["verdicts"]:
        assert f'<div class="word">{verdict["outcome"]}</div>' in html
        assert f"**{verdict['outcome']}**" in markdown
    assert "&lt;b&gt;bold" in html
    assert "<b>bold" not in html + markdown
    assert "http" not in html, "the page loads nothing"
    assert "<script" not in html
    assert html.count("<svg") >= 3
    for title in ("What to fix first", "Answers by token budget", "Routing error by level", "Impossible queries"):
        assert title in html
        assert title in markdown or title == "Answers by token budget"
    assert "lattice" in markdown
    assert set(receipt.measured["minutes"]) == {"500", "1000", "1500"}
    assert all(minutes > 0 for minutes in receipt.measured["minutes"].values())
    assert "The flat baseline on public sets" not in markdown, "nobody asked for it"


@needs_model
def test_a_system_that_ran_with_less_is_named_before_the_verdicts(done: BenchmarkRun) -> None:
    receipt = make_receipt(done)
    assert describe_troubles(receipt) == []
    canonical = deepcopy(dict(receipt.canonical))
    canonical["scales"]["1000"]["systems"]["race"]["degraded"] = 2
    canonical["scales"]["1000"]["systems"]["bm25"]["failed"] = 1
    measured = {**receipt.measured, "messages": {"race": ["the model <b>is gone</b>"]}}
    troubled = replace(receipt, canonical=canonical, measured=measured)
    asked = len(canonical["scales"]["1000"]["queries"])
    assert describe_troubles(troubled) == [
        f"bm25 at 1,000 chunks: 1 of {asked} feasible queries failed.",
        f"race at 1,000 chunks: 2 of {asked} feasible queries ran with less than they need: the model <b>is gone</b>",
    ]
    html, markdown = render_html(troubled), render_markdown(troubled)
    assert html.index("the model &lt;b&gt;is gone") < html.index('<div class="word">')
    assert markdown.index("ran with less than they need") < markdown.index("| hypothesis | verdict |")


@needs_model
def test_a_replay_gives_the_same_digest(done: BenchmarkRun, out: Path) -> None:
    receipt = make_receipt(done)
    again = make_receipt(run_benchmark(read_settings(receipt), out / "replay", go_on=True, cache=out / "cache"))
    assert list(find_differences(receipt.canonical, again.canonical)) == []
    with pytest.raises(ReceiptError, match="holds records already"):
        replay_run(receipt, out / "run")
    changed = replace(
        receipt, canonical={**receipt.canonical, "settings": {**receipt.canonical["settings"], "race": "x"}}
    )
    with pytest.raises(ReceiptError, match="other thresholds"):
        replay_run(changed)


@pytest.mark.parametrize(
    ("states", "went_on"),
    [
        (["done", "done"], False),
        (["killed", "not run", "not run"], False),
        (["done", "killed"], False),
        (["killed", "after a kill"], True),
        (["done", "killed", "killed"], True),
    ],
)
def test_a_replay_goes_on_after_a_kill_where_the_run_did(states: list[str], went_on: bool) -> None:
    assert find_going_on({"stages": [{"state": state} for state in states]}) is went_on


def test_differences_are_named_by_their_place() -> None:
    before = {"a": {"b": [1, 2]}, "c": 3, "d": [1]}
    after = {"a": {"b": [1, 5]}, "c": 3, "d": [1, 2], "e": None}
    assert list(find_differences(before, after)) == ["a.b[1]: 2 → 5", "d: [1] → [1, 2]"]
