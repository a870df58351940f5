"""Components of pages: charts keep their letters on a phone, labels never overlap, tables escape what they show."""

from __future__ import annotations

import re

import pytest

from assay.page.charts import Curve, ForestRow, HeatCell, draw_curves, draw_forest, draw_heat_map, spread_labels
from assay.page.document import read_style, render_document, render_figure
from assay.page.svg import NARROW, WIDTH
from assay.page.tables import ReportTable, render_table

ROWS = [ForestRow(f"system {n}", 0.1 * n, 0.05 * n, 0.2 * n, f"c{n}", "tip", "note") for n in range(3)]
CURVES = [Curve(f"system {n}", [(0.0, 0.0), (400.0, 0.5)], f"c{n}", ["", f"tip {n}"]) for n in range(4)]


@pytest.mark.parametrize("width", [WIDTH, NARROW])
def test_nothing_is_drawn_beside_the_chart(width: float) -> None:
    labels = ("chart", "tokens", "A")
    for drawn in (
        draw_forest(ROWS, "difference", width),
        draw_curves(CURVES, (0, 400), (0, 1), labels, {0.0: "0", 400.0: "400"}, width),
        draw_heat_map({"level 1": [HeatCell(0.1 * n, str(n), "tip") for n in range(40)]}, "map", width),
    ):
        assert f'viewBox="0 0 {width} ' in drawn
        places = [float(x) for x in re.findall(r' (?:x|x1|x2|cx)="([-\d.]+)"', drawn)]
        assert min(places) >= 0
        assert max(places) <= width


def test_a_long_row_of_a_heat_map_goes_on_in_the_next_line() -> None:
    cells = [HeatCell(0.0, "", f"node {n}") for n in range(30)]
    heights = {
        width: len(set(re.findall(r'<rect [^>]*?y="([\d.]+)"', draw_heat_map({"level 1": cells}, "map", width))))
        for width in (WIDTH, NARROW)
    }
    assert heights == {WIDTH: 2, NARROW: 3}  # (720 − 70) / 28 = 23 cells in a line, (360 − 70) / 28 = 10


def test_the_colour_of_a_cell_follows_its_share() -> None:
    drawn = draw_heat_map({"level": [HeatCell(share, "1", "") for share in (0.0, 0.05, 0.2, 0.5, 0.6)]}, "map")
    assert re.findall(r'class="(heat\d)"', drawn) == ["heat0", "heat1", "heat2", "heat3", "heat4"]
    assert re.findall(r'class="(cell[^"]*)"', drawn) == ["cell", "cell", "cell", "cell deep", "cell deep"]


def test_labels_are_spread_and_stay_above_the_axis() -> None:
    assert spread_labels([10.0, 100.0], 290.0) == [10.0, 100.0]
    assert spread_labels([100.0, 100.0, 101.0], 290.0) == [100.0, 114.0, 128.0]
    assert spread_labels([285.0, 284.0], 290.0) == [286.0, 272.0]


def test_a_table_escapes_its_cells_and_can_be_reached_by_keyboard() -> None:
    drawn = render_table(ReportTable(("name", "text"), (("<b>", "a & b"),), texts=frozenset({1})), 'a "label"')
    assert "<td>&lt;b&gt;</td>" in drawn
    assert '<td class="text">a &amp; b</td>' in drawn
    assert 'tabindex="0" role="region" aria-label="a &quot;label&quot;"' in drawn


def test_a_page_carries_the_one_style_sheet() -> None:
    page = render_document("<title>", [render_figure("Chart", lambda width: f"<svg>{width}</svg>")])
    assert read_style() in page
    assert "<title>&lt;title&gt;</title>" in page
    assert f'<div class="chart-wide"><svg>{WIDTH}</svg></div>' in page
    assert f'<div class="chart-narrow"><svg>{NARROW}</svg></div>' in page
    assert render_figure("Chart", lambda _: "") == ""
