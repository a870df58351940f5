"""Reports: what the tables say is what the receipts say; pages need no network and survive hostile names."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.bench import lab
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.report import build_report, charts, render_html, render_markdown, tables
from assay.bench.runner import RunPlan
from assay.bench.systems import load_system, make_system
from assay.bench.workspace import Workspace
from assay.config.load import loads
from assay.page import svg
from tests.bench.hand_made import dataset

PLAN = RunPlan(("nDCG@10", "RR@10", "ER@200tok", "ER@400tok"))


@pytest.fixture(scope="module")
def receipts(words: Workspace) -> list[Receipt]:
    """BM25, a worse system that finds only one chunk, the floor and the ceiling."""
    poor = make_system(loads("k = 1\n[legs.bm25]\nk = 1"), "poor")
    chosen = [load_system("bm25"), poor, load_system("random"), load_system("oracle")]
    return list(lab.run(dataset(), chosen, words, PLAN).receipts.values())


def test_systems_stand_best_first_and_are_held_against_a_reference(receipts: list[Receipt]) -> None:
    (board,) = build_report(receipts).boards
    assert [run.system for run in board.systems] == ["bm25", "poor"]
    assert [run.system for run in board.bounds] == ["random", "oracle"]
    assert board.reference == "bm25"
    test = board.test("poor")
    assert test is not None
    # q1 has two relevant documents (2, 1); only the first is found: nDCG = 2 / (2 + 1/log2(3)) = 0.7602…
    assert test.paired.difference == pytest.approx((2 / (2 + 0.6309297535714575) - 1) / 3)
    assert (test.paired.wins, test.paired.ties, test.paired.losses) == (0, 2, 1)
    assert board.missing == ("dense", "hybrid", "hybrid+rerank")
    assert board.budgets() == {"ER": [200, 400]}


def test_against_another_reference(receipts: list[Receipt]) -> None:
    (board,) = build_report(receipts, against="poor").boards
    assert board.reference == "poor"
    with pytest.raises(ReceiptError, match="did you mean 'poor'"):
        build_report(receipts, against="por")
    with pytest.raises(ReceiptError, match="was not scored by"):
        build_report(receipts, "P@3")


def test_markdown_says_what_the_receipts_say(receipts: list[Receipt]) -> None:
    text = render_markdown(build_report(receipts))
    assert "| **bm25** | 1.0000 | reference |" in text
    assert "| poor | 0.9201 |" in text
    assert "3 scored queries, human judgements, 1 queries without an answer kept apart" in text
    assert "not run here: dense, hybrid, hybrid+rerank" in text
    assert all(receipt.digest in text for receipt in receipts)


class Page(HTMLParser):
    """What a page would fetch, and whether its tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [v or "" for k, v in attrs if k in ("src", "href", "data") and not (v or "").startswith("#")]
        if tag not in ("meta", "br", "link", "line", "circle", "rect", "polyline"):
            self.open.append(tag)
        if tag in ("script", "link", "iframe"):
            self.fetched.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            assert self.open.pop() == tag


def test_the_page_needs_no_network_and_its_pictures_are_xml(receipts: list[Receipt]) -> None:
    text = render_html(build_report(receipts))
    page = Page()
    page.feed(text)
    assert page.fetched == []
    assert page.open == []
    assert "url(" not in text
    drawn = re.findall(r"<svg.*?</svg>", text, re.S)
    assert len(drawn) == 2 * 5  # each for wide pages and for phones
    for picture in drawn:
        ElementTree.fromstring(picture)


def test_hostile_names_stay_text(receipts: list[Receipt]) -> None:
    evil = "<script>alert(1)</script>|&\"'"
    changed = []
    for receipt in receipts:
        canonical = dict(receipt.canonical)
        if canonical["system"]["name"] == "poor":
            canonical["system"] = {**canonical["system"], "name": evil}
        changed.append(replace(receipt, canonical={**canonical, "queries": [evil, "q2", "q3"]}))
    page = render_html(build_report(changed))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<script" not in render_markdown(build_report(changed))


def test_receipts_that_do_not_fit_are_refused(receipts: list[Receipt]) -> None:
    with pytest.raises(ReceiptError, match="no receipt of a run"):
        build_report([Receipt("gate", {"verdict": "pass"})])
    other = dict(receipts[0].canonical)
    twin = replace(receipts[0], canonical={**other, "seed": 7})
    with pytest.raises(ReceiptError, match="two receipts of bm25"):
        build_report([receipts[0], twin])
    elsewhere = {**other, "dataset": {**other["dataset"], "digest": "x"}, "system": {**other["system"], "name": "else"}}
    with pytest.raises(ReceiptError, match="digests"):
        build_report([receipts[0], replace(receipts[0], canonical=elsewhere)])


def test_what_was_not_measured_is_said(receipts: list[Receipt]) -> None:
    canonical = dict(receipts[0].canonical)
    absent = {**canonical, "system": {**canonical["system"], "name": "dense"}, "status": "not_measured"}
    absent["why"] = {"code": "text", "values": {"text": "no model"}}
    text = render_markdown(build_report([*receipts, replace(receipts[0], canonical=absent)]))
    assert "dense was not measured: no model" in text
    assert "| dense |" not in text


def test_sets_of_different_judges_never_share_a_table(receipts: list[Receipt]) -> None:
    def moved(name: str, label: str) -> list[Receipt]:
        return [
            replace(r, canonical={**r.canonical, "dataset": {**r.canonical["dataset"], "name": name, "label": label}})
            for r in receipts
        ]

    text = render_markdown(build_report([*receipts, *moved("second", "human"), *moved("weakly", "weak")]))
    (matrix,) = re.findall(r"## All sets.*?(?=##)", text, re.S)
    assert "second (test)" in matrix
    assert "weakly" not in matrix


def test_axes_by_hand() -> None:
    axis = svg.PlotAxis(0.0, 10.0, 100.0, 200.0)
    assert axis.at(5.0) == 150.0
    assert axis.ticks() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    logarithmic = svg.PlotAxis(1.0, 100.0, 0.0, 100.0, logarithmic=True)
    assert logarithmic.at(10.0) == pytest.approx(50.0)
    assert logarithmic.ticks() == [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    assert svg.PlotAxis(1.0, 1.0, 0.0, 10.0).at(1.0) == 5.0
    assert svg.padded_range([1.0, 2.0]) == (0.92, 2.08)


def test_wins_and_losses_count_queries(receipts: list[Receipt], tmp_path: Path) -> None:
    (board,) = build_report(receipts).boards
    drawn = charts.draw_wins(board, "poor")
    assert drawn.count('class="loss"') == 1
    assert drawn.count('class="tie"') == 2
    assert "0 won, 2 equal, 1 lost" in drawn
    assert charts.draw_wins(board, "bm25") == ""


def test_the_worst_queries_come_first_beside_the_ideal_order(receipts: list[Receipt]) -> None:
    (board,) = build_report(receipts, against="poor").boards
    plain = tables.query_table(board)
    assert plain.head == ("query", "bm25", "poor", "ideal")
    texts = {query: f"<b>{query}</b>" for query in board.best.queries}
    held = [replace(receipt, measured={**receipt.measured, "texts": texts}) for receipt in receipts]
    (board,) = build_report(held).boards
    found = tables.query_table(board, most=2)
    assert found.head == ("query", "text", "bm25", "poor", "ideal")
    assert [row[0] for row in found.rows] == list(board.best.queries)[:2]  # bm25 scores 1 on all: the order stays
    assert found.rows[0][1:] == ("<b>q1</b>", "1.0000", "0.7602", "1.0000")
    assert "&lt;b&gt;q1&lt;/b&gt;" in render_html(build_report(held))
