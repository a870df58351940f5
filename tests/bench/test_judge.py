"""Judging by keyboard: what is saved, what survives, what comes of it; at a real terminal and through a pipe."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from assay import kb
from assay.bench.datasets import load
from assay.bench.judge.agreement import cohen_kappa, compute_agreements
from assay.bench.judge.ledger import Ledger
from assay.bench.judge.pool import PoolItem, build_pool
from assay.bench.judge.session import JudgingSession
from assay.bench.query_log import LoggedQuery
from assay.cli.main import cli
from assay.config import load as config
from assay.types import Chunk
from tests.bench.small_docs import write_docs

ASKED = LoggedQuery("q1", "radio parser of the harbour gateway")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judge")
    with kb.open(folder / "kb", embedder="none") as base:
        base.add(write_docs(folder / "docs"))
        base.optimize()
    return folder / "kb"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text('{"_id": "q1", "query": "harbour gateway"}\n{"_id": "q2", "query": "hardware token"}\n')
    return path


def item(query: str, document: str) -> PoolItem:
    return PoolItem(LoggedQuery(query, f"text of {query}"), Chunk(f"chunk of {document}", document, "text", 1))


def sitting(path: Path, judge: str, keys: str, items: list[PoolItem]) -> JudgingSession:
    session = JudgingSession(Ledger.open(path), judge, items, lambda: "now")
    for key in keys:
        session.press(key)
    return session


def run(store: Path, log: Path, out: Path, keys: str, *more: str) -> Result:
    args = ["judge", str(store), "--queries", str(log), "--out", str(out), "--pipeline", "bm25", "--depth", "3", *more]
    return CliRunner(env={"COLUMNS": "100"}).invoke(cli, args, input="".join(f"{key}\n" for key in keys))


def grades(path: Path, judge: str = "me") -> dict[tuple[str, str], int | None]:
    found = Ledger.open(path).judgements
    return {(one.query_id, one.doc_id): one.grade for one in found.values() if one.judge == judge}


# -- agreement


def test_kappa_by_hand() -> None:
    # po = 35/50 = .7, pe = (25·30 + 25·20)/2500 = .5
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert cohen_kappa([(0, 0), (1, 1), (2, 2)]) == pytest.approx(1.0)
    assert cohen_kappa([(0, 1), (1, 0)]) == pytest.approx(-1.0)
    assert cohen_kappa([(0, 1), (1, 2), (2, 3)]) == pytest.approx(-2 / 7)  # po = 0, pe = 2/9
    assert cohen_kappa([]) is None
    assert cohen_kappa([(1, 1), (1, 1)]) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30))
def test_kappa_is_symmetric_and_at_most_one(pairs: list[tuple[int, int]]) -> None:
    found = cohen_kappa(pairs)
    assert found == cohen_kappa([(b, a) for a, b in pairs])
    assert found is None or found <= 1.0 + 1e-12


def test_two_judges_are_compared_on_what_both_graded(tmp_path: Path) -> None:
    items = [item("q", name) for name in "abcd"]
    sitting(tmp_path / "j", "ada", "012s", items)
    sitting(tmp_path / "j", "bob", "010q", items)
    (found,) = compute_agreements(Ledger.open(tmp_path / "j"))
    assert found.judges == ("ada", "bob")
    assert found.items == 3
    assert found.same == pytest.approx(2 / 3)
    # grades (0,0) (1,1) (2,0): po = 2/3, pe = (1·2 + 1·1 + 1·0)/9 = 1/3; relevant or not: po = 2/3, pe = (1·2 + 2·1)/9
    assert found.kappa == pytest.approx(0.5)
    assert found.binary == pytest.approx(0.4)


# -- the ledger


def test_what_the_last_line_says_counts(tmp_path: Path) -> None:
    path, items = tmp_path / "j", [item("q", "a"), item("q", "b")]
    session = sitting(path, "me", "2u0s", items)
    assert session.item is None
    assert grades(path) == {("q", "a"): 0, ("q", "b"): None}
    assert len(path.read_text().splitlines()) == 4  # nothing is ever taken out


def test_undo_goes_back_as_far_as_this_sitting(tmp_path: Path) -> None:
    items = [item("q", name) for name in "abc"]
    sitting(tmp_path / "j", "me", "1", items)
    session = sitting(tmp_path / "j", "me", "2", items)
    assert session.press("u") == "undone"
    assert session.item == items[1]
    assert session.press("u") == "nothing to undo"
    assert grades(tmp_path / "j") == {("q", "a"): 1}


@pytest.mark.parametrize("cut", range(1, 140, 7))
def test_an_unfinished_line_loses_nothing_that_was_acknowledged(tmp_path: Path, cut: int) -> None:
    path, items = tmp_path / "j", [item("q", name) for name in "abc"]
    sitting(path, "me", "31", items)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][: min(cut, len(lines[1]) - 2)])  # killed while the second was written
    ledger = Ledger.open(path)
    assert list(ledger.judgements) == [("q", "a", "me")]
    assert ledger.torn == [f"{path}:2"]
    sitting(path, "me", "2", items)
    assert grades(path) == {("q", "a"): 3, ("q", "b"): 2}


@pytest.mark.parametrize(
    "line", ["[]", "{}", "null", '{"query_id": "q", "doc_id": "d", "judge": "j", "grade": 9}', "\x00"]
)
def test_foreign_lines_are_named_and_passed_over(tmp_path: Path, line: str) -> None:
    (tmp_path / "j").write_text(line + "\n")
    ledger = Ledger.open(tmp_path / "j")
    assert ledger.torn == [f"{tmp_path / 'j'}:1"]
    assert not ledger.judgements


# -- the pool


def test_a_pool_is_the_union_by_document_in_an_order_that_tells_nothing(store: Path) -> None:
    with kb.open(store) as base:
        one, two = config.load("bm25"), config.loads("k = 10\n[legs.exact]\n", "exact")
        items = build_pool(base, [one, two], ASKED, 10, 0).items
        ranked = list(dict.fromkeys(hit.chunk.doc_id for hit in base.search(ASKED.text, 10, pipeline=one)))
        assert {i.chunk.doc_id for i in items} == set(ranked)
        assert len(items) == len(ranked)
        shown = [(i.chunk.doc_id, i.chunk.id) for i in items]
        assert shown == [(i.chunk.doc_id, i.chunk.id) for i in build_pool(base, [two, one], ASKED, 10, 0).items]
        orders = {tuple(i.chunk.doc_id for i in build_pool(base, [one], ASKED, 10, seed).items) for seed in range(8)}
        assert len(orders) > 1
        best = next(hit for hit in base.search(ASKED.text, 10, pipeline=one) if hit.chunk.doc_id == ranked[0])
        assert (ranked[0], best.id) in shown


def test_what_could_not_run_is_said(store: Path, log: Path, tmp_path: Path) -> None:
    result = run(store, log, tmp_path / "mine", "q", "--pipeline", "bm25,dense")
    assert "dense: dense skipped: this store was made without an embedding model" in result.stderr
    assert "bm25:" not in result.stderr


# -- the command


def test_a_piped_sitting_makes_a_dataset(store: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    result = run(store, log, out, "?xt2u3y0nsq")
    assert result.exit_code == 0, result.output
    assert "it answers perfectly" in result.output
    assert "'x' is no key here" in result.output
    assert "next: assay bench run" in result.output
    found = load(str(out), "all")
    assert found.label == "human"
    assert sorted(grade for judged in found.judgements.values() for grade in judged.values()) == [0, 0, 1, 3]
    given_grades = [g for g in grades(out / "judgements.jsonl").values() if g is not None]
    assert sorted(given_grades) == [0, 0, 1, 3]
    for query in found.scored:
        for passage in found.evidence[query]:
            assert found.judgements[query][passage.doc_id] > 0
            assert passage.text.strip()


def test_it_goes_on_where_it_ended_and_a_second_judge_is_compared(store: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    first = run(store, log, out, "20q")
    assert "still open" in first.output
    second = run(store, log, out, "1" * 20)
    assert "That was the last one." in second.output
    assert "Nothing is open" in run(store, log, out, "3").output
    both = run(store, log, out, "20" + "1" * 20, "--judge", "ada")
    assert "ada and me on" in both.output
    assert "100% the same, κ = 1.00" in both.output
    assert load(str(out), "all").label == "human"


def test_several_grades_become_their_low_median(store: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    for judge, key in (("a", "3"), ("b", "0"), ("c", "2"), ("d", "2")):
        run(store, log, out, f"{key}q", "--judge", judge)
    (row,) = (out / "qrels/test.tsv").read_text().splitlines()[1:]
    assert row.endswith("\t2")
    assert json.loads((out / "meta.json").read_text())["judges"] == ["a", "b", "c", "d"]


def test_nothing_judged_writes_no_dataset(store: Path, log: Path, tmp_path: Path) -> None:
    result = run(store, log, tmp_path / "mine", "q")
    assert result.exit_code == 0
    assert "Nothing judged yet" in result.output
    assert not (tmp_path / "mine" / "meta.json").exists()


def test_a_folder_of_somebody_else_is_refused_before_anything_is_asked(store: Path, log: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/corpus.jsonl").write_text("precious")
    result = run(store, log, tmp_path / "mine", "1")
    assert result.exit_code == 2
    assert "is there already" in result.output
    assert (tmp_path / "mine/corpus.jsonl").read_text() == "precious"


@pytest.mark.parametrize("more", [("--judge", "  "), ("--pipeline", ","), ("--pipeline", "defualt")])
def test_mistakes_are_named(store: Path, log: Path, tmp_path: Path, more: tuple[str, str]) -> None:
    result = run(store, log, tmp_path / "mine", "1", *more)
    assert result.exit_code == 2
    assert "cure:" in result.output


# -- a real terminal


class Terminal:
    """`assay judge` on a pseudo-terminal: what it shows, and keys that are pressed."""

    def __init__(self, store: Path, log: Path, out: Path) -> None:
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        command = [sys.executable, "-m", "assay.cli", "judge", store, "--queries", log, "--out", out, "--depth", "3"]
        self.process = subprocess.Popen(
            [*map(str, command), "--pipeline", "bm25"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read until this was shown; the process ending first is a failure."""
        while text not in self.shown:
            ready, _, _ = select.select([self.master], [], [], 0.2)
            if ready:
                self.shown += os.read(self.master, 65536).decode("utf-8", "replace")
            else:
                assert self.process.poll() is None, self.shown

    def press(self, keys: str) -> None:
        self.shown = ""
        os.write(self.master, keys.encode())

    def close(self) -> int:
        while self.process.poll() is None:
            ready, _, _ = select.select([self.master], [], [], 0.05)
            if ready:
                self.shown += os.read(self.master, 65536).decode("utf-8", "replace")
        os.close(self.master)
        os.close(self.slave)
        return self.process.returncode


def test_single_keys_at_a_terminal(store: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    terminal = Terminal(store, log, out)
    terminal.wait_for("? help")
    terminal.press("\x1b[A")  # an arrow is no grade
    terminal.wait_for("is no key here")
    terminal.press("3")
    terminal.wait_for("? help")
    assert list(grades(out / "judgements.jsonl").values()) == [3]
    terminal.press("01")  # two keys that come together are two judgements
    terminal.wait_for("query 2 of 2")
    terminal.press("q")
    terminal.wait_for("next: ")
    assert termios.tcgetattr(terminal.slave) == terminal.before  # the terminal is as it was
    assert terminal.close() == 0
    assert list(grades(out / "judgements.jsonl").values()) == [3, 0, 1]
    assert len(load(str(out), "all").judgements) >= 1


def test_ctrl_c_saves_and_writes_the_dataset(store: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    terminal = Terminal(store, log, out)
    terminal.wait_for("? help")
    terminal.press("2")
    terminal.wait_for("? help")
    terminal.process.send_signal(signal.SIGINT)
    terminal.wait_for("next: ")
    assert terminal.close() == 0
    assert (out / "meta.json").is_file()


def test_ctrl_c_while_an_item_is_being_shown(
    store: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal comes when it comes, not only while a key is awaited."""
    from assay.cli.views import judge as judge_view

    shown = []

    def interrupted(session: JudgingSession, *rest: object, **named: object) -> bool:
        shown.append(session.item)
        if len(shown) == 2:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(judge_view, "show_item", interrupted)
    out = tmp_path / "mine"
    ran = run(store, log, out, "23")
    assert ran.exit_code == 0, ran.output
    assert list(grades(out / "judgements.jsonl").values()) == [2]
    assert (out / "meta.json").is_file()


def test_killed_at_any_point_loses_nothing_acknowledged(store: Path, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    for grade in "12":
        terminal = Terminal(store, log, out)
        terminal.wait_for("? help")
        terminal.press(grade)
        terminal.wait_for("? help")  # the next item shows: the key was acknowledged
        terminal.process.send_signal(signal.SIGKILL)
        terminal.close()
    assert list(grades(out / "judgements.jsonl").values()) == [1, 2]
    (out / "corpus.jsonl").write_text("half wri")  # killed while the dataset was written, too
    assert run(store, log, out, "q").exit_code == 0
    assert len(load(str(out), "all").judgements) >= 1
