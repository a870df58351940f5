"""tree build, show and stats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from assay import kb

Run = Callable[..., Result]
SMALL = ("--leaf-min", "1", "--leaf-cap", "2", "--branching", "3")


def test_build_says_what_it_built_and_remembers_how(run: Run, store: Path) -> None:
    built = run("tree", "build", *SMALL, "--store", store)
    assert built.exit_code == 0
    assert built.stdout.startswith("built the tree of 6 chunks: ")
    data = json.loads(run("tree", "build", "--json", "--seed", "3", "--store", store).stdout)
    assert (data["chunks"], data["settings"]["leaf_cap"], data["settings"]["seed"]) == (6, 2, 3)
    usual = json.loads(run("tree", "build", "--json", "--defaults", "--store", store).stdout)
    assert (usual["nodes"], usual["settings"]["leaf_cap"]) == (1, 128)


def test_show_lists_nodes_by_their_paths(run: Run, store: Path) -> None:
    run("tree", "build", *SMALL, "--store", store)
    shown = run("tree", "show", "--store", store).stdout
    lines = shown.splitlines()
    assert lines[0].startswith("root  6 chunks, ")
    assert any(line.startswith("  1  ") for line in lines)
    assert any(line.startswith("  2  ") for line in lines)
    assert "\x1b" not in shown  # one of the chunks tries to colour the terminal
    whole = json.loads(run("tree", "show", "--json", "--depth", "9", "--store", store).stdout)
    assert whole[0]["path"] == "root"
    assert sum(node["chunks"] for node in whole if not node["children"]) == 6
    with kb.open(store) as base:
        texts = {chunk.id: " ".join(chunk.text.split()) for chunk in base.chunks()}
    for node in whole:
        assert node["summary"]
        assert all(one["text"] in texts[one["id"]] for one in node["summary"])
    leaf = next(node for node in whole if "rotat" in " ".join(node["keywords"]).lower() and not node["children"])
    one = run("tree", "show", "--node", leaf["path"], "--depth", "0", "--store", store).stdout
    assert one.startswith(f"{leaf['path']}  level {leaf['level']}, a leaf")
    assert leaf["summary"][0]["id"] in one


def test_a_path_that_leads_nowhere(run: Run, store: Path) -> None:
    run("tree", "build", *SMALL, "--store", store)
    for path in ("9", "1.x", "0", "1.1.1.1.1.1"):
        lost = run("tree", "show", "--node", path, "--store", store)
        assert lost.exit_code == 2
        assert f"no node {path!r}" in lost.stderr


def test_removed_chunks_leave_the_tree(run: Run, store: Path) -> None:
    run("tree", "build", *SMALL, "--store", store)
    assert "kitchen" in run("tree", "show", "--depth", "9", "--store", store).stdout.lower()
    run("rm", "handbook/food.md", "--store", store)
    after = run("tree", "show", "--depth", "9", "--store", store).stdout
    assert after.startswith("root  5 chunks")
    assert "kitchen" not in after.lower()


def test_stats(run: Run, store: Path) -> None:
    run("tree", "build", *SMALL, "--store", store)
    numbers = json.loads(run("tree", "stats", "--json", "--store", store).stdout)
    assert (numbers["chunks"], numbers["coverage"], numbers["replication"]) == (6, 1.0, 1.0)
    assert numbers["levels"][0]["nodes"] == 1
    assert sum(level["nodes"] for level in numbers["levels"]) == numbers["nodes"]
    text = run("tree", "stats", "--store", store).stdout
    assert "coverage 1.000, replication 1.000" in text


def test_bad_settings_and_stores_without_a_tree(run: Run, store: Path, tmp_path: Path) -> None:
    wrong = run("tree", "build", "--branching", "1", "--store", store)
    assert wrong.exit_code == 2
    assert "branching = 1 is less than 2" in wrong.stderr
    nowhere = run("tree", "build", "--chat", "host#model", "--store", store)
    assert nowhere.exit_code == 2
    run("copy", tmp_path / "one.sqlite", "--store", store)
    for command in ("build", "show", "stats"):
        refused = run("tree", command, "--store", tmp_path / "one.sqlite")
        assert refused.exit_code == 3
        assert "only stores in a folder keep a tree" in refused.stderr


def test_an_empty_store(run: Run, tmp_path: Path) -> None:
    with kb.open(tmp_path / "kb", embedder="none"):
        pass
    assert "built the tree of 0 chunks: 0 nodes" in run("tree", "build", "--store", tmp_path / "kb").stdout
    assert "the tree is empty" in run("tree", "show", "--store", tmp_path / "kb").stdout
    assert json.loads(run("tree", "stats", "--json", "--store", tmp_path / "kb").stdout)["nodes"] == 0
