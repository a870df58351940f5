"""Grouped fusion against the router policy: one candidate per session, first occurrence by stage priority."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config.load import from_dict, to_config
from assay.config.registry import component_class
from assay.errors import ConfigError
from assay.fuse import FUSERS
from assay.fuse.append_fill import AppendFill
from assay.fuse.grouped import Grouped
from assay.fuse.rrf import Rrf
from assay.protocols import Fuser
from assay.testing.build import found
from assay.testing.contracts import check_fuser
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.strategies import IDS, leg_rankings
from assay.types import Chunk, Query, Range

UNIT = Range("unit", 0.0, 1.0)
SESSIONS = MemorySnapshot(
    [Chunk(name, f"doc-{name}", "t", 1, meta={"session_id": name[0]}) for name in ("a1", "a2", "a3", "b1", "b2", "c1")]
    + [Chunk("lone", "lone", "t", 1)]
)


def fuse(fuser, **legs):
    return Grouped(fuser, "session_id").fuse(Query("q"), legs, SESSIONS)


@pytest.mark.parametrize("name", sorted(FUSERS))
def test_the_laws_hold_over_every_fuser(name):
    check_fuser(cast(Fuser, Grouped(component_class("fuser", name)(), "doc_id")))


def test_append_fill_appends_sessions_not_chunks():
    fused = fuse(
        AppendFill(max_fill=1),
        first=found({"a1": 0.9, "a2": 0.8}),
        second=found({"a3": 0.99, "b1": 0.7, "b2": 0.6, "c1": 0.5}, priority=1),
    )
    # a3 is of a session that stage 1 has, b2 of one that b1 stands for: c1 is the second to append, and one is allowed
    assert fused.ids.tolist() == ["a1", "b1"]
    dropped = {note.text: note.ids for note in fused.notes if note.kind == "dropped"}
    assert dropped["another chunk of the same session_id stands for it"] == ("a2", "a3", "b2")
    assert dropped["more than max_fill = 1 to append"] == ("c1",)


def test_one_number_is_one_session_however_a_source_spells_it():
    values = {"here": 7, "table": 7.0, "report": "7", "half": 7.5, "other": 8, "odd": float("inf")}
    view = MemorySnapshot([Chunk(name, name, "t", 1, meta={"session_id": value}) for name, value in values.items()])
    legs = {"first": found({"here": 0.9}), "second": found(dict.fromkeys(values, 0.5), priority=1)}
    fused = Grouped(AppendFill(), "session_id").fuse(Query("q"), legs, view)
    assert fused.ids.tolist() == ["here", "half", "odd", "other"]


def test_an_empty_value_is_no_session():
    view = MemorySnapshot([Chunk(name, name, "t", 1, meta={"session_id": ""}) for name in ("a", "b")])
    fused = Grouped(AppendFill(), "session_id").fuse(Query("q"), {"first": found({"a": 0.9, "b": 0.8})}, view)
    assert fused.ids.tolist() == ["a", "b"]
    assert [note.text for note in fused.notes] == ["2 of 2 candidates have no session_id; each stands for itself"]


def test_of_several_fields_each_chunk_goes_by_the_first_it_has():
    """A store of sessions beside a table of documents named after them; a page without a session is its document."""
    metas = {"a1": {"session_id": "s"}, "a2": {"session_id": "s"}, "p1": {}, "p2": {}}
    docs = {"a1": "d", "a2": "d", "p1": "page", "p2": "page", "row": "s"}
    view = MemorySnapshot([Chunk(name, docs[name], "t", 1, meta=metas.get(name, {})) for name in docs])
    legs = {"first": found({"a1": 0.9, "a2": 0.8, "p1": 0.7, "p2": 0.6}), "second": found({"row": 0.9}, priority=1)}
    both = Grouped(AppendFill(), ["session_id", "doc_id"])
    fused = both.fuse(Query("q"), legs, view)
    assert fused.ids.tolist() == ["a1", "p1"], "row is of the document s, which is the session s"
    notes = [note.text for note in fused.notes if note.kind == "info"]
    assert notes == ["3 of 5 candidates have no session_id; one stands for each doc_id"]
    assert both.count_keys(legs, view) == {"session_id": 2, "doc_id": 3, "": 0}
    assert Grouped(AppendFill(), "session_id").count_keys(legs, view) == {"session_id": 2, "": 3}


def test_rrf_adds_up_the_ranks_of_a_session():
    fused = fuse(
        Rrf(60.0),
        first=found({"b1": 0.9, "b2": 0.8, "a1": 0.7}),
        second=found({"a3": 0.9, "c1": 0.8}, priority=1),
    )
    got = dict(zip(fused.ids.tolist(), fused.score.tolist(), strict=True))
    # Sessions of stage 1: b, a; of stage 2: a, c. a: 1/62 + 1/61; b: 1/61; c: 1/62; all over 2/61.
    peak = 2 / 61
    assert got == pytest.approx({"a1": (1 / 62 + 1 / 61) / peak, "b1": 1 / 61 / peak, "c1": 1 / 62 / peak})
    assert fused.ids.tolist() == ["a1", "b1", "c1"], "a goes by its chunk of the must-first stage"
    assert fused.source_rank.tolist() == [2, 1, 2], "ranks are counted by session"


def test_a_chunk_without_the_key_stands_for_itself():
    fused = fuse(
        AppendFill(), first=found({"lone": 0.9, "a1": 0.8}), second=found({"gone": 0.5, "a2": 0.4}, priority=1)
    )
    assert fused.ids.tolist() == ["lone", "a1", "gone"]
    assert "2 of 4 candidates have no session_id; each stands for itself" in [n.text for n in fused.notes]


def test_a_key_that_nobody_has_changes_nothing():
    legs = {"first": found({"a1": 0.9, "a2": 0.8}), "second": found({"b1": 0.5}, priority=1)}
    plain = AppendFill().fuse(Query("q"), legs, SESSIONS)
    keyed = Grouped(AppendFill(), "no_such_key").fuse(Query("q"), legs, SESSIONS)
    assert keyed.ids.tolist() == plain.ids.tolist()
    assert keyed.score.tolist() == plain.score.tolist()


@given(leg_rankings({"first": UNIT, "second": UNIT}), st.sampled_from([AppendFill(), Rrf()]))
def test_one_of_a_group_at_most(legs, fuser):
    view = MemorySnapshot([Chunk(name, f"d{int(name[1:]) % 5}", "t", 1) for name in IDS])
    fused = Grouped(fuser, "doc_id").fuse(Query("q"), legs, view)
    groups = [int(name[1:]) % 5 for name in fused.ids.tolist()]
    every = {int(name[1:]) % 5 for r in legs.values() for name in r.ids.tolist()}
    assert len(groups) == len(set(groups))
    assert set(groups) == every, "no group is lost"


def test_config_says_by_and_reads_it_back():
    config = {
        "legs": {"bm25": {}, "dense": {"priority": 1}},
        "fuse": {"use": "append_fill", "by": "session_id", "max_fill": 10},
    }
    pipeline = from_dict(config)
    assert to_config(pipeline)["fuse"] == config["fuse"]
    assert from_dict(to_config(pipeline)).digest == pipeline.digest
    assert from_dict({**config, "fuse": {"use": "append_fill", "max_fill": 10}}).digest != pipeline.digest
    listed = from_dict({**config, "fuse": {**config["fuse"], "by": ["session_id", "doc_id"]}})
    assert to_config(listed)["fuse"]["by"] == ["session_id", "doc_id"]
    assert from_dict(to_config(listed)).digest == listed.digest != pipeline.digest
    for bad in ("", 3, [], ["session_id", ""], ["doc_id", "doc_id"]):
        with pytest.raises(ConfigError, match=r"fuse\.by"):
            from_dict({**config, "fuse": {"use": "append_fill", "by": bad}})
