"""What would change: overlap by hand, reasons from the trace, and the command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from assay import kb
from assay.bench.diff import compare, why
from assay.bench.overlap import overlap, rbo
from assay.bench.query_log import LogError, LoggedQuery, read_log
from assay.cli.main import cli
from assay.config import load as config
from assay.engine.pipeline import LegPlan, Pipeline
from assay.legs.bm25 import Bm25
from assay.protocols import Snapshot
from assay.types import Query, Range, Ranking
from tests.bench.small_docs import write_docs

SHORT = """
k = 10
[legs.bm25]
k = 1
"""
HALVES = """
k = 10
[legs.bm25]
k = 100
norm = "ideal"
[[step]]
use = "min_score"
threshold = 0.5
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diff")
    with kb.open(folder / "kb", embedder="none") as base:
        base.add(write_docs(folder / "docs"))
        base.optimize()
    return folder / "kb"


def run(*args: object) -> Result:
    return CliRunner(env={"COLUMNS": "100", "ASSAY_STORE": None}).invoke(cli, [str(a) for a in args])


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("abc", "abc", 1.0),
        ("", "", 1.0),
        ("abc", "", 0.0),
        ("abc", "def", 0.0),
        ("abc", "acb", 0.955),  # .1/.9 (.9 + .81/2 + .729) + .729
        ("ab", "ba", 0.9),  # .1/.9 · .81 + .81
        ("a", "ab", 1.0),  # the beginning of the other: .1/.9 (.9 + .405 + .405) + .81
        ("ab", "cba", 0.72),  # .1/.9 (.81/2 + .729·2/3 + .729/6) + ((2-1)/3 + 1/2) .729
    ],
)
def test_rank_biased_overlap_by_hand(a: str, b: str, expected: float) -> None:
    assert rbo(a, b) == pytest.approx(expected, abs=1e-4)
    assert rbo(b, a) == rbo(a, b)


lists = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(lists, lists)
def test_rank_biased_overlap_is_symmetric_and_bounded(a: list[str], b: list[str]) -> None:
    assert 0.0 <= rbo(a, b) <= 1.0
    assert rbo(a, b) == pytest.approx(rbo(b, a))
    if not set(a) & set(b) and (a or b):
        assert rbo(a, b) == 0.0


def test_overlap_counts_what_both_have() -> None:
    assert overlap("abcd", "badx") == 0.75
    assert overlap("ab", "abcd") == 0.5
    assert overlap("", "") == 1.0
    assert overlap("", "a") == 0.0


def test_what_left_says_which_step_lost_it(store: Path) -> None:
    with kb.open(store) as base:
        queries = [LoggedQuery("q1", "radio parser of the harbour gateway"), LoggedQuery("q2", "zzz unknown")]
        found = compare(base, config.load("bm25"), config.loads(SHORT, "short"), queries, 10)
        worst, same = found.changes
        assert worst.query.id == "q1"
        assert same.unchanged
        assert same.rbo == 1.0
        assert worst.overlap < 1.0
        assert worst.left
        assert not worst.entered
        assert not worst.top_changed
        assert all(one.why_before.startswith("bm25 #") for one in worst.left)
        assert {one.why_after for one in worst.left} == {"bm25: not among its 1 candidates"}
        assert found.unchanged == 0.5
        assert found.mean_rbo == (worst.rbo + 1.0) / 2
        assert found.latency_ratio is not None


def test_a_filter_and_the_depth_are_reasons(store: Path) -> None:
    with kb.open(store) as base:
        text = "radio parser of the harbour gateway"
        answer = base.search(text, pipeline=config.loads(HALVES, "halves"))
        everything = base.search(text, pipeline="bm25")
        lost = everything[len(everything) - 1].id
        assert "then min_score dropped:" in why(answer, lost)
        assert why(base.search(text, 1, pipeline="bm25"), lost).endswith("below the 1 asked for")


SEEN: list[str] = []


@dataclass(frozen=True)
class Told:
    """BM25 that says when it is asked."""

    name: str
    needs: ClassVar[frozenset[str]] = frozenset({"lexical"})

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        SEEN.append(self.name)
        return Bm25().find(query, snapshot, k, seeds)

    def gives(self) -> Range:
        return Bm25().gives()


def test_who_goes_first_alternates(store: Path) -> None:
    SEEN.clear()
    a, b = (config.with_digest(Pipeline(name, (LegPlan("leg", Told(name)),), None)) for name in "ab")
    with kb.open(store) as base:
        found = compare(base, a, b, [LoggedQuery(str(n), "harbour") for n in range(3)], 10)
    assert "".join(SEEN) == "ab" + "ab" + "ba" + "ab"  # the first two only warm up
    assert found.unchanged == 1.0


def test_the_same_pipeline_is_known_by_its_digest(store: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("harbour\n")
    result = run("bench", "diff", "bm25", "bm25", "--queries", log, "--store", store)
    assert result.exit_code == 0
    assert "Nothing changes" in result.output
    report = json.loads(run("bench", "diff", "bm25", "bm25", "--queries", log, "--store", store, "--json").stdout)
    assert report["summary"]["unchanged"] == 1.0
    assert report["queries"] == []


def test_the_command_shows_the_most_changed_first(store: Path, tmp_path: Path) -> None:
    log, mine = tmp_path / "log.jsonl", tmp_path / "mine.toml"
    log.write_text('{"query": "zzz unknown"}\n{"text": "radio parser of the harbour gateway"}\nnonsense\n[1]\n')
    mine.write_text(SHORT)
    result = run("bench", "diff", "bm25", mine, "--queries", log, "--store", store)
    assert result.exit_code == 0, result.output
    assert f"{log}:3" in result.stderr.replace("\n", "")
    assert "50% unchanged" in result.stdout
    assert "not among its 1 candidates" in result.stdout
    report = json.loads(run("bench", "diff", "bm25", mine, "--queries", log, "--store", store, "--json").stdout)
    assert [row["text"] for row in report["queries"]] == ["radio parser of the harbour gateway", "zzz unknown"]
    assert len(report["skipped"]) == 2
    assert report["digests"].keys() == {"a", "b", "snapshot"}


def test_the_page_interprets_nothing_it_is_given(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(3):
        (docs / f"{number}.md").write_text(f"# <script>alert({number})</script>\n<b>harbour</b> {'gull ' * number}")
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(docs)
    log, mine = tmp_path / "log.txt", tmp_path / "mine.toml"
    log.write_text("harbour <script>alert(9)</script>\n")
    mine.write_text(SHORT)
    result = run(
        "bench", "diff", "bm25", mine, "--queries", log, "--store", tmp_path / "kb", "--html", tmp_path / "x.html"
    )
    assert result.exit_code == 0, result.output
    page = (tmp_path / "x.html").read_text()
    assert "<script" not in page
    assert "alert(9)" in page
    assert "not among its 1 candidates" in page
    assert "http" not in page


def test_words_only_stores_say_what_could_not_run(store: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("harbour\n")
    result = run("bench", "diff", "bm25", "default", "--queries", log, "--store", store)
    assert result.exit_code == 0
    assert "dense skipped" in result.stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"{}\n", "no text"),
        (b"\xff\xfe\n", "not UTF-8"),
        (b"{\n", "not JSON"),
    ],
)
def test_a_log_without_a_query_is_an_error(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(LogError, match=says):
        read_log(path)
    with pytest.raises(LogError, match="cannot be read"):
        read_log(tmp_path / "nothing.jsonl")


def test_a_log_counts_what_comes_again_and_keeps_ids(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"_id": "a", "text": "x  y"}\n{"query": "x y"}\n{"id": "a", "query": "other"}\n{"query": "z"}\n')
    log = read_log(path)
    assert next((q.id, q.text, q.times) for q in log.queries) == ("a", "x y", 2)
    assert [q.text for q in log.queries] == ["x y", "z"]
    assert len(log.skipped) == 1
    plain = tmp_path / "log.txt"
    plain.write_text('what is "this"?\n{"query": "mixed"}\n')
    assert [q.text for q in read_log(plain).queries] == ['what is "this"?', "mixed"]
