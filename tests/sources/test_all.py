"""What holds for every registered source, before anything is asked of it."""

import dataclasses

import pytest

from assay.config.load import from_dict, to_config
from assay.config.registry import component_class, is_source
from assay.errors import ConfigError, LawBroken
from assay.legs import SOURCES
from assay.protocols import Leg
from assay.sources.listing import SourceHit, build_result
from assay.testing.contracts import check_source
from assay.testing.sample import sample_snapshot
from assay.types import Chunk, Query

NEEDED = {
    "recorded": {"path": "report.json"},
    "qmd": {},
    "qmd_http": {},
    "lance_table": {"path": "folder"},
    "qdrant_collection": {"address": "qdrant://host/notes"},
    "store": {"path": "folder"},
}


def pipeline(name, **plan):
    return from_dict({"legs": {"second": {"source": {"use": name, **NEEDED[name]}, **plan}}})


def test_every_source_is_tried_here():
    assert set(NEEDED) == set(SOURCES)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_source_is_a_leg_that_looks_elsewhere(name):
    source = component_class("source", name)(**NEEDED[name])
    assert isinstance(source, Leg)
    assert is_source(source)
    assert source.__dataclass_params__.frozen
    assert component_class("source", name).__doc__
    assert source.gives().scale in ("raw", "unit")


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_config_round_trips_with_every_setting(name):
    made = pipeline(name, k=7, priority=2, cap_ms=600, cost_ms=40.5, required=True)
    config = to_config(made)
    again = from_dict(config)
    assert again == made
    assert again.digest == made.digest
    said = config["legs"]["second"]["source"]
    fields = {f.name for f in dataclasses.fields(component_class("source", name)) if f.default is not None}
    assert set(said) == {"use", *fields}, "what is not set is left out, nothing else"
    for key, value in (("cap_ms", 601), ("cost_ms", 1), ("required", False), ("k", 8)):
        config["legs"]["second"] = {**to_config(made)["legs"]["second"], key: value}
        assert from_dict(config).digest != made.digest


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_an_unknown_setting_names_the_nearest(name):
    config = {"legs": {"second": {"source": {"use": name, **NEEDED[name], "colection": "x", "pth": "y"}}}}
    with pytest.raises(ConfigError, match=r"legs\.second\.source: .* has no setting"):
        from_dict(config)


def test_a_source_that_was_never_there_skips_and_says_so():
    for name in ("recorded", "lance_table", "store"):
        answer = pipeline(name).run(Query("x"), sample_snapshot())
        assert answer.status.word == "nothing found, degraded"
        assert answer.trace[-1].outcome == "failed"


def listed(*scores, name="s"):
    return [SourceHit(Chunk(f"{name}{i}", "d", "", 0), score) for i, score in enumerate(scores)]


def test_a_list_keeps_its_makers_order():
    found = build_result("they", listed(0.5, 0.7, 0.6, 0.2), "unit", 3)
    assert found.ids.tolist() == ["s0", "s1", "s2"]
    assert found.score.tolist() == [0.5, 0.5, 0.5]
    assert len(found.chunks) == 3
    clamped = build_result("they", listed(1.5, 0.2), "unit", 3)
    assert clamped.score.tolist() == [1.0, 0.2]


def test_the_contract_catches_a_source_without_chunks():
    from assay.legs.bm25 import Bm25

    with pytest.raises(LawBroken, match="brings no chunks"):
        check_source(Bm25())
