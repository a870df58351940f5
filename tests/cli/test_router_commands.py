"""`assay search --record`, `assay replay` and `assay bench router` as a person and as a script meet them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from assay import kb
from assay.sources.open_cache import close_all

Run = Callable[..., Result]

ROUTER = """
k = 5
[legs.first]
use = "bm25"
k = 20
[legs.second]
source = {{ use = "store", path = {other}, pipeline = "bm25" }}
priority = 1
when = {{ use = "fill_to_k" }}
[fuse]
use = "append_fill"
by = "session_id"
"""


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Path]:
    for name, texts in {"mine": ["The signing key."], "other": ["A key elsewhere.", "Lunch."]}.items():
        with kb.open(tmp_path / name, embedder="none") as base:
            base.add([{"id": f"{name}{i}", "text": text, "session_id": f"{name}{i}"} for i, text in enumerate(texts)])
    (tmp_path / "router.toml").write_text(ROUTER.format(other=json.dumps(str(tmp_path / "other"))))
    yield tmp_path
    close_all()


def test_a_second_source_is_asked_and_says_so(run: Run, stores: Path) -> None:
    result = run("search", "key", "--store", stores / "mine", "--pipeline", stores / "router.toml")
    assert result.exit_code == 0, result.output
    assert "A key elsewhere." in result.stdout
    assert "second: triggered: fill_to_k 5, found 1" in result.stdout
    explained = run(
        "explain", "key", "--id", "nothing", "--store", stores / "mine", "--pipeline", stores / "router.toml"
    )
    assert explained.exit_code == 3
    found = json.loads(
        run("search", "key", "--json", "--store", stores / "mine", "--pipeline", stores / "router.toml").stdout
    )
    other = next(hit["id"] for hit in found["hits"] if hit["doc_id"] == "other0")
    why = run("explain", "key", "--id", other, "--store", stores / "mine", "--pipeline", stores / "router.toml")
    assert "Rank 2 of 2 results" in why.stdout


def test_record_and_replay(run: Run, stores: Path) -> None:
    questions = ("search", "key", "--store", stores / "mine", "--pipeline", stores / "router.toml")
    assert run(*questions, "--record", stores / "kept.json").exit_code == 0
    assert "elsewhere" not in (stores / "kept.json").read_text()
    close_all()
    (stores / "other").rename(stores / "gone")
    again = run("replay", stores / "kept.json", "--store", stores / "mine")
    assert again.exit_code == 0, again.output
    assert again.stdout.rstrip().splitlines()[-1].startswith("the served answer: ")
    assert json.loads(run("replay", stores / "kept.json", "--store", stores / "mine", "--json").stdout)["same"]
    kept = json.loads((stores / "kept.json").read_text())
    kept["steps"][1]["result"]["parts"][0][2][0] += 0.5
    (stores / "kept.json").write_text(json.dumps(kept))
    assert run("replay", stores / "kept.json", "--store", stores / "mine").exit_code == 1
    (stores / "kept.json").write_text("{")
    broken = run("replay", stores / "kept.json", "--store", stores / "mine")
    assert broken.exit_code == 3
    assert "cure: name a file of `assay search --record`" in broken.stderr


def test_texts_are_kept_in_a_record_or_nowhere(run: Run, stores: Path) -> None:
    questions = ("search", "key", "--store", stores / "mine", "--pipeline", stores / "router.toml", "--with-text")
    alone = run(*questions)
    assert alone.exit_code == 2
    assert "add --record FILE" in alone.stderr
    assert run(*questions, "--record", stores / "kept.json").exit_code == 0
    assert "A key elsewhere." in (stores / "kept.json").read_text()


def test_a_record_knows_the_order_it_was_asked_in(run: Run, stores: Path) -> None:
    """Newest first, in a budget of tokens: the replay asks for the same."""
    with kb.open(stores / "mine", embedder="none") as base:
        base.add([{"id": "new", "text": "A key of today.", "created": "2025-05-05"}], name="more")
    questions = ("search", "signing key", "--store", stores / "mine", "--pipeline", stores / "router.toml")
    questions = (*questions, "--sort", "recency", "--budget", 50, "--record", stores / "kept.json")
    found = run(*questions, "--json")
    assert json.loads(found.stdout)["hits"][0]["doc_id"] == "more/new", found.stderr
    again = run("replay", stores / "kept.json", "--store", stores / "mine")
    assert again.exit_code == 0, again.output


def test_what_became_of_each_stage_is_there_for_programs(run: Run, stores: Path) -> None:
    questions = ("search", "key", "--json", "--store", stores / "mine", "--pipeline", stores / "router.toml")
    steps = {step["step"]: step for step in json.loads(run(*questions).stdout)["trace"]}
    assert steps["first"]["outcome"] == "ran"
    assert steps["first"]["trigger"] is None
    why = {"name": "fill_to_k", "observed": 1.0, "why": "fill_to_k 5, found 1"}
    assert (steps["second"]["outcome"], steps["second"]["trigger"]) == ("ran", why)


def test_bench_router_on_the_shipped_set(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    (tmp_path / "r.toml").write_text(
        'k = 10\n[legs.first]\nuse = "bm25"\nk = 20\n[legs.second]\nuse = "exact"\npriority = 1\n'
        'when = { use = "fill_to_k" }\n[fuse]\nuse = "append_fill"\nby = "doc_id"\n'
    )
    questions = ("bench", "router", "tiny", "--pipeline", tmp_path / "r.toml", "--embedder", "none")
    result = run(*questions, "--out", tmp_path / "out")
    assert result.exit_code in (0, 1), result.output
    assert result.stdout.startswith("# Router on tiny/test")
    assert "LongMemEval-50 was not measured" in result.stdout
    assert sorted(path.name for path in (tmp_path / "out" / "reports").iterdir()) == [
        "tiny.test.r.json",
        "tiny.test.r.md",
    ]
    written = json.loads((tmp_path / "out" / "reports" / "tiny.test.r.json").read_text())
    assert written["config"]["mode"] == "fill_to_k"
    assert run("bench", "report", tmp_path / "out").exit_code == 0, "receipts stand apart from reports"
    again = json.loads(run(*questions, "--json").stdout)
    assert again["digest"] == written["digest"]


def test_bench_router_needs_two_legs(run: Run) -> None:
    result = run("bench", "router", "tiny", "--pipeline", "bm25")
    assert result.exit_code == 2
    assert "a router has a first and a second" in result.stderr
