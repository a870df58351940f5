"""Sweeps: dev picks, test confirms, a killed one goes on, and nothing of it depends on who did the work."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from assay.bench.gates.rules import RuleSet, parse_rules
from assay.bench.grid import SweepDataset, SweepResult, build_sweep, promote
from assay.bench.grid.cells import CellResults
from assay.bench.grid.chart import draw_sweep
from assay.bench.grid.promote import _best, _notes
from assay.bench.grid.summary import render_sweep, sort_cells
from assay.bench.receipt import Receipt, read
from assay.bench.systems import System, load_system, make_system
from assay.bench.workspace import IndexSettings
from assay.config.load import load
from assay.config.load import loads as pipeline
from assay.errors import ConfigError
from tests.bench.thirds import write_thirds

GATES = """
[[gate]]
name = "better"
metric = "nDCG@10"
against = "baseline"
op = ">"
threshold = 0.0
max_p = 0.05
"""
RULES = parse_rules(GATES)


def shallow() -> System:
    """Looks one deep, and so finds nothing."""
    return make_system(pipeline("[legs.bm25]\nk = 1"), "shallow")


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> SweepDataset:
    folder = tmp_path_factory.mktemp("grid")
    return SweepDataset(str(write_thirds(folder / "thirds")), IndexSettings("none"), folder / "cache")


def swept(
    where: SweepDataset, out: Path, *axes: str, rules: RuleSet = RULES, workers: int = 1, **more: Any
) -> SweepResult:
    return promote(build_sweep(shallow(), axes or ["legs.bm25.k=1..5"]), where, rules, out, workers=workers, **more)


def test_dev_picks_and_test_confirms(where: SweepDataset, tmp_path: Path) -> None:
    """Below three nothing is found; from three on the document stands third: nDCG = 1 / log2(4)."""
    found = swept(where, tmp_path)
    rows = found.receipt.canonical["cells"]
    assert [(row["settings"]["legs.bm25.k"], row["value"]) for row in rows] == [
        (1, 0.0), (2, 0.0), (3, 0.5), (4, 0.5), (5, 0.5),
    ]  # fmt: skip
    tied = min(row["digest"] for row in rows if row["value"] == 0.5)
    assert found.picked is not None
    assert found.picked.system.digest == tied
    assert found.verdict == "pass"
    gate = found.receipt.canonical["confirmation"]["gate"]
    assert gate["dataset"]["split"] == "test"
    assert gate["gates"][0]["observed"] == 0.5
    assert found.receipt.canonical["picked"]["spec"] == found.picked.system.spec
    assert found.receipt.measured["why"].endswith("best on dev, passes every gate on test")
    assert {path.name for path in (tmp_path / "test").glob("*.json")} == {
        "thirds.test.shallow.json",
        f"thirds.test.shallow-{tied[:8]}.json",
    }


def test_a_cell_that_fails_on_test_is_no_winner(where: SweepDataset, tmp_path: Path) -> None:
    found = swept(where, tmp_path, rules=parse_rules(GATES.replace("threshold = 0.0", "threshold = 0.6")))
    assert found.verdict == "fail"
    assert found.picked is not None
    assert found.receipt.measured["why"].endswith("best on dev, fails 'better' on test")


def test_what_is_not_measured_on_test_is_no_winner(where: SweepDataset, tmp_path: Path) -> None:
    found = swept(where, tmp_path, rules=parse_rules(GATES + "min_n = 999\n"))
    assert found.verdict == "not_measured"
    assert "was not measured by 'better'" in found.receipt.measured["why"]


def test_none_passes_when_the_base_is_best(where: SweepDataset, tmp_path: Path) -> None:
    found = swept(where, tmp_path, "legs.bm25.k=1,2")
    assert (found.verdict, found.picked, found.gate) == ("fail", None, None)
    assert found.receipt.measured["why"] == "no cell is above the base on dev"
    assert found.receipt.canonical["confirmation"] is None
    assert not (tmp_path / "test").exists(), "test is not looked at without need"
    assert found.receipt.canonical["notes"] == []


def test_a_cell_that_cannot_run_is_never_picked(where: SweepDataset, tmp_path: Path) -> None:
    """Without a model the dense leg cannot run, whatever its cell would have scored."""
    found = swept(where, tmp_path, "legs.bm25.use=dense,bm25", "legs.bm25.k=1,2,3")
    rows = {(r["settings"]["legs.bm25.use"], r["settings"]["legs.bm25.k"]): r for r in found.receipt.canonical["cells"]}
    assert rows["dense", 3]["status"] == "not_measured"
    assert rows["dense", 3]["value"] is None
    assert "cannot run" in rows["dense", 3]["why"]
    assert found.picked is not None
    assert dict(found.picked.settings)["legs.bm25.use"] == "bm25"
    assert [row["status"] for row in sort_cells(found.receipt)][-1] == "not_measured"
    assert "not measured: " in render_sweep(found.receipt)


def test_a_base_that_cannot_run_confirms_nothing(where: SweepDataset, tmp_path: Path) -> None:
    found = promote(build_sweep(load_system("rrf"), ["fuse.c=10,20"]), where, RULES, tmp_path)
    assert found.verdict == "not_measured"
    assert found.receipt.canonical["verdict"] == "not_measured"
    assert "the base was not measured" in found.receipt.measured["why"]
    ElementTree.fromstring(draw_sweep(found.receipt))


def test_ties_go_to_fewer_changes_then_to_the_digest() -> None:
    cells = build_sweep(load_system("weighted"), ["fuse.c=30,60", "fuse.weights.dense=1,2"]).cells
    rows = [{"value": 0.5, "changes": cell.changes, "digest": cell.system.digest} for cell in cells]
    assert _best(cells, rows) is cells[0]
    rows[0]["value"] = 0.4
    assert _best(cells, rows).changes == 1
    assert _best(cells, rows).system.digest == min(c.system.digest for c in cells if c.changes == 1)
    assert _best(cells, [{**row, "value": None} for row in rows]) is cells[0]


def test_an_axis_that_changes_nothing_is_said() -> None:
    found = build_sweep(load_system("weighted"), ["fuse.c=30,60", "fuse.weights.dense=1,2"])
    runs = {
        cell.system.name: Receipt("run", {"rankings": [str(dict(cell.settings)["fuse.c"])]}) for cell in found.cells
    }
    assert _notes(found, CellResults(runs, {}, 0)) == [
        "fuse.weights.dense changes nothing here: every ranking is the same for all its values"
    ]


def test_dev_and_test_must_not_share_queries(where: SweepDataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="share 12 queries"):
        swept(where, tmp_path, splits=("dev", "dev"))
    with pytest.raises(ConfigError, match="share 12 queries"):
        swept(where, tmp_path, splits=("all", "test"))


def test_a_sweep_goes_on_where_it_was(where: SweepDataset, tmp_path: Path) -> None:
    first = swept(where, tmp_path)
    cells = sorted((tmp_path / "cells").glob("*.json"))
    assert len(cells) == 5
    stamps = [path.stat().st_mtime_ns for path in cells]
    again = swept(where, tmp_path)
    assert again.receipt.measured["cells_kept"] == 5
    assert [path.stat().st_mtime_ns for path in cells] == stamps
    assert again.receipt.digest == first.receipt.digest
    cells[0].unlink()
    cells[1].write_bytes(cells[1].read_bytes()[:300])  # half a file
    content = json.loads(cells[2].read_text())
    cells[2].write_text(json.dumps({**content, "digest": "0" * 64}))  # changed by hand
    third = swept(where, tmp_path)
    assert third.receipt.measured["cells_kept"] == 2
    assert third.receipt.digest == first.receipt.digest


def test_a_cell_of_other_inputs_is_run_again(where: SweepDataset, tmp_path: Path) -> None:
    swept(where, tmp_path)
    wider = swept(where, tmp_path, "legs.bm25.k=1..6/6")
    assert wider.receipt.measured["cells_kept"] == 5
    other = swept(where, tmp_path, pick="R@10")
    assert other.receipt.measured["cells_kept"] == 0, "other metrics first: another receipt"
    changed = write_thirds(tmp_path / "changed", topics=11)
    moved = swept(SweepDataset(str(changed), where.settings, where.cache), tmp_path)
    assert moved.receipt.measured["cells_kept"] == 0


def test_helpers_change_nothing(where: SweepDataset, tmp_path: Path) -> None:
    here = swept(where, tmp_path / "one", workers=1)
    there = swept(where, tmp_path / "two", workers=2)
    assert there.receipt.canonical == here.receipt.canonical
    for cell in (tmp_path / "one" / "cells").iterdir():
        assert read(tmp_path / "two" / "cells" / cell.name).digest == read(cell).digest


def test_the_table_and_the_picture_say_the_same(where: SweepDataset, tmp_path: Path) -> None:
    found = swept(where, tmp_path).receipt
    text = render_sweep(found)
    assert "**Winner: legs.bm25.k = " in text
    assert len(re.findall(r"^\| \d \| ", text, re.M)) == 5
    assert text.count("**picked**") == 1
    assert "| better | pass | nDCG@10 difference +0.5000 is > 0, p 0.0005 ≤ 0.05 |" in text
    drawn = ElementTree.fromstring(draw_sweep(found))
    texts = [element.text for element in drawn.iter() if element.text]
    assert texts.count("0.5000") >= 3
    assert "http" not in draw_sweep(found).replace("http://www.w3.org/2000/svg", "")


def test_pictures_of_two_and_three_axes(where: SweepDataset, tmp_path: Path) -> None:
    two = swept(where, tmp_path, "legs.bm25.k=1,2,3", "k=5,10").receipt
    drawn = ElementTree.fromstring(draw_sweep(two))
    boxes = [e for e in drawn.iter() if e.tag.endswith("rect") and e.get("stroke") == "#fff"]
    assert len(boxes) == 6
    three = swept(where, tmp_path, "legs.bm25.k=1,2,3", "k=5,10", "legs.bm25.priority=0,1").receipt
    texts = [element.text for element in ElementTree.fromstring(draw_sweep(three)).iter() if element.text]
    assert {"legs.bm25.priority = 0", "legs.bm25.priority = 1"} <= set(texts)
    assert any("legs.bm25.priority changes nothing here" in note for note in three.canonical["notes"])


def test_names_from_anywhere_break_no_table_and_no_picture(where: SweepDataset, tmp_path: Path) -> None:
    odd = make_system(pipeline("[legs.bm25]\nk = 1"), "a|b<script>\x07&")
    found = promote(build_sweep(odd, ["legs.bm25.k=1,3"]), where, RULES, tmp_path).receipt
    ElementTree.fromstring(draw_sweep(found))
    assert "<script" not in render_sweep(found)
    assert "<script" not in draw_sweep(found)


def test_a_sweep_killed_in_the_middle_goes_on(where: SweepDataset, tmp_path: Path) -> None:
    """A real process with helpers, killed without warning; then the same command again."""
    out, axis = tmp_path / "out", "legs.bm25.k=1..40/40"
    base = tmp_path / "shallow.toml"
    base.write_text("[legs.bm25]\nk = 1\n")
    rules = tmp_path / "rules.toml"
    rules.write_text(GATES)
    command = [sys.executable, "-m", "assay.cli", "bench", "grid", where.source, "--base", base, "--vary", axis]
    command += ["--rules", rules, "--embedder", "none", "--out", out, "--workers", "2"]
    env = {**os.environ, "ASSAY_HOME": str(tmp_path / "home")}
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    while process.poll() is None and _count(out) < 3:
        time.sleep(0.005)
    helpers = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the sweep is too small for this test"
    assert len(helpers) == 2
    while any(_alive(pid) for pid in helpers):
        time.sleep(0.01)  # they end by themselves when nobody listens
    before = _count(out)
    assert 3 <= before < 40
    assert not (out / "grid.json").exists()
    done = subprocess.run(command, env={**env, "PYTHONHASHSEED": "3"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "silent when piped"
    assert f"{before} of them kept from before" in done.stdout
    found = read(out / "grid.json")
    alone = swept(where, tmp_path / "alone", axis)
    assert alone.receipt.digest == found.digest, "one process, another hash seed, never killed"
    assert alone.picked is not None
    assert load(str(out / "winner.toml")).digest == alone.picked.system.digest


def _count(out: Path) -> int:
    return len(list((out / "cells").glob("*.json"))) if (out / "cells").exists() else 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def _alive(pid: int) -> bool:
    """Running, not merely waiting for somebody to read its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
