"""The laws, over every reranker in the table: with a model, and without one."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from assay.embed.bert import BertEncoder
from assay.embed.token_cache import CachedTokens
from assay.embed.token_codes import BITS, open_coder
from assay.rerank import RERANKERS, late_interaction
from assay.testing.contracts import check_stage
from assay.testing.sample import CHUNKS, QUERIES, sample_snapshot
from assay.testing.strategies import rankings
from assay.types import Range

SETTINGS = {"cross_encoder": {"path": "no such folder"}, "late_interaction": {"pool": 4, "model": "none"}}


def build_stage(name, **settings):
    module, _, cls = RERANKERS[name].partition(":")
    return getattr(import_module(module), cls)(**{**SETTINGS.get(name, {}), **settings})


@pytest.mark.parametrize("name", sorted(RERANKERS))
def test_with_what_is_there(name):
    check_stage(build_stage(name))


@pytest.fixture
def _encoder(monkeypatch, tmp_path):
    """The real encoder class over a table of vectors instead of weights."""
    table = np.linalg.qr(np.cos(np.arange(64.0 * 64.0).reshape(64, 64)))[0].astype(np.float32)
    tiny = BertEncoder("tiny", "tiny", 64, 64, 1, lambda ids: table[[i % 64 for i in ids]])
    cached = {bits: CachedTokens(open_coder(tiny, bits), tmp_path / "t.sqlite") for bits in BITS}
    monkeypatch.setattr(late_interaction, "open_token_cache", lambda _, bits: cached[bits])


@pytest.mark.usefixtures("_encoder")
@pytest.mark.parametrize("within", [Range("unit", 0.0, 1.0), Range("unit", 0.5, 0.75)])
def test_late_interaction_with_an_encoder(within):
    check_stage(build_stage("late_interaction"), within)


@pytest.mark.usefixtures("_encoder")
@settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(rankings(tuple(chunk.id for chunk in CHUNKS), tiers=True, least=2))
def test_late_interaction_keeps_what_is_outside_the_pool_behind_it(before):
    after = build_stage("late_interaction", weight=3.0).apply(QUERIES[0], before, sample_snapshot())
    inside = set(before.ids[:4].tolist())
    assert [i for i in after.ids if i not in inside] == [i for i in before.ids if i not in inside]
    for tier in np.unique(before.tier):
        pool, rest = (before.score[(before.tier == tier) & mask] for mask in (_first(before, 4), ~_first(before, 4)))
        if len(pool) and len(rest) and pool.max() > rest.max():
            here = after.tier == tier
            is_inside = [name in inside for name in after.ids[here]]
            assert is_inside == sorted(is_inside, reverse=True)


def _first(ranking, count):
    return np.arange(len(ranking)) < count
