"""Axes and the settings they change."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.grid.axes import MAX_CELLS, apply_settings, combine_axes, format_settings, parse_axes, parse_axis
from assay.bench.grid.sweep import build_sweep, choose_base
from assay.bench.systems import load_system, make_system
from assay.config.load import from_dict, load, loads, to_config
from assay.errors import ConfigError

WEIGHTED = to_config(load("weighted"))


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("c=10..100", (10.0, 32.5, 55.0, 77.5, 100.0)),
        ("c=0.2..2.0/4", (0.2, 0.8, 1.4, 2.0)),
        ("c=1..100/3*log", (1.0, 10.0, 100.0)),
        ("c=100..1/3*log", (100.0, 10.0, 1.0)),
        ("c=1..100*log", (1.0, 3.16228, 10.0, 31.6228, 100.0)),
        ("c=-1..1/3", (-1.0, 0.0, 1.0)),
        ("c=.5..1e1/2", (0.5, 10.0)),
        ("c=3..3", (3.0,)),
        ("c=1,2.5,x", (1, 2.5, "x")),
        ("c=true,false", (True, False)),
        ("c=min-max, tm2c2", ("min-max", "tm2c2")),
        ("c=1,1,2", (1, 2)),
        (" c = 60 ", (60,)),
    ],
)
def test_values(axis: str, values: tuple[object, ...]) -> None:
    found = parse_axis(axis)
    assert found.key == "c"
    assert [(type(v), v) for v in found.values] == [(type(v), v) for v in values]


@pytest.mark.parametrize(
    "axis",
    ["c", "=1", "c=", "c=1..", "c=..2", "c=1..2..3", "c=a..b", "c=1..2/1", "c=1..2/0", "c=0..1*log", "c=-1..1*log",
     "c=1..2/99999", "c=1,,2", "c=1..2*lin", "c=1..2/x", "c=nan..1", "c=1..inf"],
)  # fmt: skip
def test_what_is_no_axis_says_how_one_is_written(axis: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_axis(axis)
    assert caught.value.cure


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(2, 30), st.booleans())
def test_a_range_begins_and_ends_where_it_says(first: float, last: float, steps: int, log: bool) -> None:
    values = parse_axis(f"c={first!r}..{last!r}/{steps}{'*log' * log}").values
    assert math.isclose(float(values[0]), first, rel_tol=1e-5)
    assert math.isclose(float(values[-1]), last, rel_tol=1e-5)
    assert len(values) <= steps
    assert list(values) == sorted(values, reverse=first > last)


@pytest.mark.parametrize(
    ("axis", "nearest"),
    [
        ("fuse.cc=1", "did you mean 'c'"),
        ("fuse.weights.dens=1", "did you mean 'dense'"),
        ("legs.bm52.k=1", "did you mean 'bm25'"),
        ("legs.bm25.nrom=1", "did you mean 'norm'"),
        ("step.importanc.base=1", "did you mean 'importance'"),
        ("step.2.base=1", "known: importance"),
        ("step.0.base=1", "known: importance"),
        ("step.importance.bas=1", "did you mean 'base'"),
        ("kk=1", "did you mean 'k'"),
        ("legs=1", "known: k"),
        ("legs.bm25=1", "starts with"),
        ("step=1", "known: k"),
        ("fuse.c.x=1", "vary c itself"),
        ("fuse.weights.dense.x=1", "vary weights itself"),
        ("name=x", "known: k"),
    ],
)
def test_a_key_that_does_not_exist_names_the_nearest(axis: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_axes([axis], WEIGHTED)
    assert nearest in caught.value.cure


def test_keys_reach_every_part_of_a_pipeline() -> None:
    axes = ["k=5", "legs.bm25.k=50", "legs.dense.norm=clamp", "fuse.c=10", "fuse.weights.dense=2", "step.1.base=0.5"]
    config = apply_settings(WEIGHTED, combine_axes(parse_axes(axes, WEIGHTED))[0])
    assert config["k"] == 5
    assert config["legs"]["bm25"]["k"] == 50
    assert config["legs"]["dense"]["norm"] == "clamp"
    assert config["fuse"] == {"use": "rrf", "c": 10, "weights": {"bm25": 1.0, "dense": 2, "graph": 0.35}}
    assert config["step"][0]["base"] == 0.5
    by_name = apply_settings(WEIGHTED, combine_axes(parse_axes(["step.importance.base=0.5"], WEIGHTED))[0])
    assert by_name["step"] == config["step"]
    from_dict(config)
    assert to_config(load("weighted")) == WEIGHTED, "the base is not touched"


def test_a_weight_at_its_default_can_be_varied() -> None:
    rrf = to_config(load("rrf"))
    assert rrf["fuse"]["weights"] == {}
    assert apply_settings(rrf, (("fuse.weights.dense", 2.0),))["fuse"]["weights"] == {"dense": 2.0}
    assert parse_axes(["fuse.weights.dense=1,2"], rrf)
    assert rrf["fuse"]["weights"] == {}


def test_whole_numbers_where_the_setting_is_one() -> None:
    (found,) = parse_axes(["legs.bm25.k=10..12/9"], WEIGHTED)
    assert found.values == (10, 11, 12)


def test_another_component_keeps_the_settings_it_has() -> None:
    config = apply_settings(WEIGHTED, (("fuse.use", "convex"), ("fuse.norm", "tm2c2")))
    assert config["fuse"] == {
        "use": "convex",
        "weights": {"bm25": 1.0, "dense": 1.0, "graph": 0.35},
        "norm": "tm2c2",
    }
    from_dict(config)


def test_a_key_twice_or_too_many_cells() -> None:
    with pytest.raises(ConfigError, match="varied twice"):
        parse_axes(["fuse.c=1,2", "fuse.c=3"], WEIGHTED)
    with pytest.raises(ConfigError, match="2,500 cells") as caught:
        parse_axes(["fuse.c=1..2/50", "fuse.weights.dense=1..2/50"], WEIGHTED)
    assert f"{MAX_CELLS:,}" in caught.value.cure


def test_the_base_is_the_first_cell_and_has_its_place() -> None:
    base = load_system("weighted")
    swept = build_sweep(base, ["fuse.c=30,60", "fuse.weights.dense=1,2"])
    assert swept.cells[0].system is base
    assert [(format_settings(cell.settings), cell.changes) for cell in swept.cells] == [
        ("fuse.c = 60, fuse.weights.dense = 1", 0),
        ("fuse.c = 30, fuse.weights.dense = 1", 1),
        ("fuse.c = 30, fuse.weights.dense = 2", 2),
        ("fuse.c = 60, fuse.weights.dense = 2", 1),
    ]
    away = build_sweep(base, ["fuse.c=10,20"])
    assert away.cells[0].system is base
    assert away.cells[0].settings == ()
    assert [cell.changes for cell in away.cells] == [0, 1, 1]
    met = build_sweep(base, ["fuse.c=30,60"])
    assert [format_settings(cell.settings) for cell in met.cells] == ["fuse.c = 60", "fuse.c = 30"]
    assert met.repeated == 0


def test_each_pipeline_is_one_cell() -> None:
    swept = build_sweep(load_system("rrf"), ["fuse.c=60,60.0,30"])
    assert len(swept.cells) == 2
    named = {cell.system.name for cell in swept.cells}
    assert named == {"rrf", f"rrf-{swept.cells[1].system.digest[:8]}"}
    mirrored = build_sweep(make_system(loads("[legs.bm25]\nk = 5")), ["legs.bm25.use=bm25"])
    assert len(mirrored.cells) == 1
    assert mirrored.repeated == 0


def test_what_cannot_be_swept_says_why() -> None:
    with pytest.raises(ConfigError, match="no pipeline, so nothing"):
        build_sweep(load_system("oracle"), ["fuse.c=1"])
    with pytest.raises(ConfigError, match="varies something"):
        build_sweep(load_system("rrf"), [])
    with pytest.raises(ConfigError, match=r"the cell fuse\.c = -5 is no pipeline"):
        build_sweep(load_system("rrf"), ["fuse.c=-5"])
    with pytest.raises(ConfigError, match=r"no \[fuse\]"):
        build_sweep(load_system("bm25"), ["fuse.c=5"])


def test_the_base_nobody_named_is_the_first_preset_with_the_keys() -> None:
    assert choose_base(["legs.bm25.k=10"]).name == "default"
    assert choose_base(["fuse.weights.dense=0.2..2.0", "fuse.c=10..100"]).name in ("default", "rrf")
    assert choose_base(["step.importance.base=0.5"]).name == "weighted"
    with pytest.raises(ConfigError, match=r"fuse\.cc"):
        choose_base(["fuse.cc=1"])
