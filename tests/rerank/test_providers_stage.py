"""The step without a server: its modes, what happens without a key, its laws and its settings."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from rerank_server import KEY, Server

from assay.config.load import from_dict, to_config
from assay.embed.installed_models import find_model
from assay.errors import ConfigError
from assay.rerank.cosine import Cosine
from assay.rerank.late_interaction import LateInteraction
from assay.rerank.provider_rerank import ProviderRerank
from assay.rerank.providers import client
from assay.rerank.providers.breaker import Breakers
from assay.rerank.providers.table import PROVIDERS
from assay.testing.build import found
from assay.testing.contracts import check_stage
from assay.testing.memory_snapshot import MemorySnapshot
from assay.testing.sample import QUERIES, sample_snapshot
from assay.types import Chunk, Query, Range, Ranking

UNIT = Range("unit", 0.0, 1.0)
GIVEN = found({"keys-3": 0.9, "keys-1": 0.5, "odd-1": 0.3})
COSINE = {"keys-3": 0.63 + 0.18, "keys-1": 0.35 + 0.3, "odd-1": 0.3}
"""70 % of the score, 30 % of the cosine with (1, 0, 0): 0.6 and 1; odd-1 has no vector."""


def by_id(ranking):
    return dict(zip(ranking.ids.tolist(), ranking.score.tolist(), strict=True))


@pytest.fixture
def _no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a test without a key reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


# -- modes


def test_lightweight_is_the_cosine_of_002():
    ranking = ProviderRerank(mode="lightweight").apply(QUERIES[0], GIVEN, sample_snapshot())
    assert by_id(ranking) == pytest.approx(COSINE, abs=1e-7)
    assert ranking.notes == ()


def test_none_changes_nothing():
    assert ProviderRerank(mode="none").apply(QUERIES[0], GIVEN, sample_snapshot()) is GIVEN


@pytest.mark.parametrize("mode", ["lightweight", "cross-encoder"])
def test_without_vectors_the_scores_stay(mode):
    step = ProviderRerank(mode=mode, local_model="none")
    for query, snapshot in ((Query("key"), sample_snapshot()), (QUERIES[0], sample_snapshot(vectors=False))):
        ranking = step.apply(query, GIVEN, snapshot)
        assert by_id(ranking) == by_id(GIVEN)
        assert ranking.notes[-1].kind == "skipped"
        assert "the scores stay" in ranking.notes[-1].text


@pytest.mark.parametrize("provider", ["jina", "local"])
def test_a_query_without_text(provider):
    query = Query("  ", vector=QUERIES[0].vector)
    ranking = ProviderRerank(provider=provider).apply(query, GIVEN, sample_snapshot())
    assert by_id(ranking) == pytest.approx(COSINE, abs=1e-7)
    assert [note.kind for note in ranking.notes] == ["skipped", "info"]


# -- without a key


@pytest.mark.usefixtures("_no_network")
@pytest.mark.parametrize("provider", [name for name, row in PROVIDERS.items() if row.needs_key])
def test_without_a_key_nobody_is_asked(provider):
    row = PROVIDERS[provider]
    ranking = ProviderRerank(provider=provider, local_model="none").apply(QUERIES[0], GIVEN, sample_snapshot())
    assert by_id(ranking) == pytest.approx(COSINE, abs=1e-7)
    first = ranking.notes[0]
    assert first.kind == "info"
    assert first.text == f"{provider} ({row.model}) was not asked: no key in {row.key_env}"
    assert ranking.notes[1].kind == "degraded"
    assert "late_interaction did not run" in ranking.notes[1].text
    assert "30%" in ranking.notes[2].text


@pytest.mark.usefixtures("_no_network")
def test_blanks_are_no_key(monkeypatch):
    monkeypatch.setenv("JINA_API_KEY", " \n")
    ranking = ProviderRerank(local_model="none").apply(QUERIES[0], GIVEN, sample_snapshot())
    assert "no key in JINA_API_KEY" in ranking.notes[0].text


SNAPSHOT = MemorySnapshot(
    [
        Chunk("a", "d", "The cafeteria serves lunch from noon until two.", 1),
        Chunk("b", "d", "Signing keys are rotated every ninety days by the security team.", 1),
        Chunk("c", "d", "Parking is free on weekends.", 1),
    ]
)
ASKED = Query("how often do we rotate the signing key?")


@pytest.mark.usefixtures("_no_network")
@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_without_a_key_the_local_model_reads():
    candidates = found({"a": 0.52, "b": 0.51, "c": 0.5})
    local = LateInteraction(pool=20).apply(ASKED, candidates, SNAPSHOT)
    ranking = ProviderRerank().apply(ASKED, candidates, SNAPSHOT)
    assert by_id(ranking) == by_id(local) != by_id(candidates)
    assert [note.kind for note in ranking.notes] == ["info", "info"]  # no key is a choice
    ranking = ProviderRerank(provider="local").apply(ASKED, candidates, SNAPSHOT)
    assert by_id(ranking) == by_id(local)
    assert [note.kind for note in ranking.notes] == ["info"]  # as planned


@pytest.mark.skipif(find_model("minilm") is None, reason="the embedding model is not installed (assay model install)")
def test_a_single_candidate_is_not_said_to_have_been_read():
    alone = found({"keys-3": 0.9})
    ranking = ProviderRerank(provider="local").apply(QUERIES[0], alone, sample_snapshot())
    assert by_id(ranking) == {"keys-3": 0.9}
    assert [(note.kind, note.text) for note in ranking.notes] == [
        ("info", "a single candidate was not read: its score stays")
    ]


def test_a_single_candidate_without_the_local_model_has_its_cosine():
    alone = found({"keys-3": 0.9})
    ranking = ProviderRerank(provider="local", local_model="none").apply(QUERIES[0], alone, sample_snapshot())
    assert by_id(ranking) == pytest.approx({"keys-3": COSINE["keys-3"]})
    assert [note.kind for note in ranking.notes] == ["degraded", "info"]


def test_a_local_model_that_is_missing():
    ranking = ProviderRerank(provider="local", local_model="none").apply(QUERIES[0], GIVEN, sample_snapshot())
    assert by_id(ranking) == pytest.approx(COSINE, abs=1e-7)
    assert [note.kind for note in ranking.notes] == ["degraded", "info"]


# -- laws


@pytest.mark.usefixtures("_no_network")
@pytest.mark.parametrize("mode", ["cross-encoder", "lightweight", "none"])
def test_laws_without_a_key(mode):
    check_stage(ProviderRerank(mode=mode, local_model="none"))


def test_laws_with_a_server(monkeypatch):
    """A server that leaves out the last text of every request, and gives each of the others a score of its length."""
    monkeypatch.setattr(client, "BREAKERS", Breakers(lambda: 0.0))
    monkeypatch.setenv("TEST_RERANK_KEY", KEY)
    server = Server()

    def partly(provider, request):
        server.scores = {text: len(text) / 2000 for text in request["documents"]}
        with server.lock:
            server.rules.append(partly)
        return server.proper(provider, request | {"documents": request["documents"][:-1] or request["documents"]})

    server.rules = [partly]
    try:
        check_stage(ProviderRerank(endpoint=server.url("jina"), key_env="TEST_RERANK_KEY", pool=4))
        assert len(server.requests) > 100
    finally:
        server.close()


def test_ranges_cover_every_way_it_may_go():
    candidates = Range("unit", 0.8, 0.9)
    light = Cosine(0.3).gives(candidates)
    assert ProviderRerank(mode="none").gives(candidates) is candidates
    assert ProviderRerank(mode="none").gives(Range("raw", 0.0, 9.0)).scale == "raw"
    assert ProviderRerank(mode="lightweight").gives(candidates) == Range("unit", light.lo, light.hi)
    # from 0.7 · 0.8 − 0.3 (a cosine of −1) up to 0.4 · 0.9 + 0.6 (a judgement of 1)
    assert ProviderRerank().gives(candidates) == Range("unit", pytest.approx(0.26), pytest.approx(0.96))
    # here late interaction (half) and what is not returned (four fifths) reach lower than any cosine
    assert ProviderRerank(cosine_weight=0.0).gives(candidates).lo == pytest.approx(0.32)
    assert ProviderRerank(cosine_weight=0.0, blend=0.2).gives(candidates).lo == pytest.approx(0.4)
    for mode in ("cross-encoder", "lightweight"):
        with pytest.raises(ConfigError, match="needs unit scores"):
            ProviderRerank(mode=mode).gives(Range("raw", 0.0, 40.0))


def test_nothing_found():
    assert len(ProviderRerank().apply(QUERIES[0], Ranking.empty("unit"), sample_snapshot())) == 0


def test_it_stands_in_a_config():
    config = {"legs": {"dense": {"norm": "clamp"}}, "step": [{"use": "provider_rerank", "provider": "tei", "pool": 5}]}
    pipeline = from_dict(config)
    assert from_dict(to_config(pipeline)) == pipeline
    other = from_dict({**config, "step": [{"use": "provider_rerank", "provider": "tei", "pool": 6}]})
    assert pipeline.digest != other.digest


def test_tiers_are_kept():
    from dataclasses import replace

    candidates = replace(found({"keys-3": 0.9, "keys-1": 0.5}), tier=np.array([0, 1], np.int32))
    ranking = ProviderRerank(mode="lightweight", cosine_weight=1.0).apply(QUERIES[0], candidates, sample_snapshot())
    assert ranking.ids.tolist() == ["keys-3", "keys-1"]  # a cosine of 1 does not lift keys-1 into the tier above
    assert ranking.tier.tolist() == [0, 1]


# -- settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"provider": "jena"}, "did you mean 'jina'"),
        ({"mode": "crossencoder"}, "did you mean 'cross-encoder'"),
        ({"scale": "raw"}, "scale = 'raw'"),
        ({"pool": 1}, "pool = 1"),
        ({"blend": 1.1}, "blend = 1.1"),
        ({"unreturned": -0.1}, "unreturned = -0.1"),
        ({"cosine_weight": float("nan")}, "cosine_weight = nan"),
        ({"timeout_s": 0.0}, "timeout_s = 0.0"),
        ({"deadline_s": 1.0}, "deadline_s = 1 is below timeout_s = 5"),
        ({"endpoint": "api.jina.ai/v1/rerank"}, "https://"),
        ({"provider": "local", "endpoint": "http://x/"}, "endpoint has no effect with provider = 'local'"),
        ({"provider": "local", "model": "minilm"}, "local_model"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_impossible_settings(settings, said):
    with pytest.raises(ConfigError) as caught:
        ProviderRerank(**settings)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"key_env": KEY},
        {"key_env": "jina_0123secret"},
        {"endpoint": "https://user:secret@host/rerank"},
        {"endpoint": "https://host/rerank?key=secret"},
    ],
    ids=["a key for a name", "a key in small letters", "a password", "a query"],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(settings):
    with pytest.raises(ConfigError) as caught:
        ProviderRerank(**settings)
    assert "secret" not in str(caught.value)


def test_a_key_in_the_environment_alone_sends_nothing(monkeypatch):
    """Everything is set up but the permission: the local path answers, and the note says what would allow it."""
    monkeypatch.setattr(client, "BREAKERS", Breakers(lambda: 0.0))
    monkeypatch.setenv("TEST_RERANK_KEY", KEY)
    server = Server()
    step = ProviderRerank(endpoint=server.url("jina"), key_env="TEST_RERANK_KEY", local_model="none")
    try:
        for allowed in ("", "host:127.0.0.1", "variable:TEST_RERANK_KEY", "host:localhost,variable:TEST_RERANK_KEY"):
            monkeypatch.setenv("ASSAY_ALLOW", allowed)
            notes = step.apply(QUERIES[0], GIVEN, sample_snapshot()).notes
            assert server.requests == []
            assert any("was not asked: not allowed to" in note.text for note in notes)
        monkeypatch.setenv("ASSAY_ALLOW", "")
        note = step.apply(QUERIES[0], GIVEN, sample_snapshot()).notes[0]
        assert note.cure.endswith("assay allow host:127.0.0.1 variable:TEST_RERANK_KEY")
        monkeypatch.setenv("ASSAY_ALLOW", "host:127.0.0.1,variable:TEST_RERANK_KEY")
        step.apply(QUERIES[0], GIVEN, sample_snapshot())
        assert len(server.requests) == 1
    finally:
        server.close()


def test_an_allowed_host_without_its_variable_gets_no_key(monkeypatch):
    """A server that needs no key is asked, but the key of a variable that is not allowed stays here."""
    monkeypatch.setattr(client, "BREAKERS", Breakers(lambda: 0.0))
    monkeypatch.setenv("ASSAY_ALLOW", "host:127.0.0.1")
    monkeypatch.setenv("TEST_RERANK_KEY", KEY)
    server = Server()
    try:
        step = ProviderRerank(provider="tei", endpoint=server.url("tei"), key_env="TEST_RERANK_KEY")
        step.apply(QUERIES[0], GIVEN, sample_snapshot())
        assert len(server.requests) == 1
        assert KEY not in str(server.headers)
    finally:
        server.close()
