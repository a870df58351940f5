"""Every provider against a real server of its format: requests, responses, and the memory pipeline's blend by hand."""

from __future__ import annotations

import json
import time
from dataclasses import fields
from pathlib import Path

import pytest
from rerank_server import FORMATS, KEY, Server, reply, results

from assay.rerank.provider_rerank import ProviderRerank
from assay.rerank.providers import client
from assay.rerank.providers.breaker import Breakers
from assay.rerank.providers.table import PROVIDERS
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import Chunk, Query

TEXTS = {"a": "alpha", "b": "beta", "c": "gamma", "d": "delta"}
SNAPSHOT = MemorySnapshot([Chunk(name, "d", text, 1) for name, text in TEXTS.items()])
GIVEN = found({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6})


def by_id(ranking):
    return dict(zip(ranking.ids.tolist(), ranking.score.tolist(), strict=True))


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(client, "BREAKERS", Breakers(lambda: 0.0))
    monkeypatch.setenv("TEST_RERANK_KEY", KEY)
    server = Server()
    server.scores = {"alpha": 0.1, "beta": 0.2, "gamma": 0.5, "delta": 1.0}
    yield server
    server.close()


def stage(server, provider, **settings):
    return ProviderRerank(
        **{"provider": provider, "endpoint": server.url(provider), "key_env": "TEST_RERANK_KEY"} | settings
    )


def test_there_is_a_format_for_every_row():
    assert set(FORMATS) == {name for name, row in PROVIDERS.items() if row.wire}


@pytest.mark.parametrize("provider", FORMATS)
def test_blend_of_002(server, provider):
    """0.6 · judgement + 0.4 · score."""
    ranking = stage(server, provider).apply(Query("which?"), GIVEN, SNAPSHOT)
    expected = {"a": 0.06 + 0.36, "b": 0.12 + 0.32, "c": 0.3 + 0.28, "d": 0.6 + 0.24}
    assert by_id(ranking) == pytest.approx(expected)
    assert ranking.ids.tolist() == ["d", "c", "b", "a"]
    assert [(part.name, part.op) for part in ranking.parts] == [
        ("found", "add"),
        ("rerank.keep", "mul"),
        ("rerank", "add"),
    ]
    (note,) = ranking.notes
    assert (note.kind, note.text.split(" judged ")[1]) == ("info", "4 of 4 candidates")
    assert note.text.startswith(provider)
    header, value = FORMATS[provider].key
    assert server.headers[0][header] == value


@pytest.mark.parametrize("provider", FORMATS)
def test_what_is_sent(server, provider):
    stage(server, provider, model="my-model", pool=2).apply(Query("w\ud800?"), GIVEN, SNAPSHOT)
    (request,) = server.requests
    texts = ["alpha", "beta"]  # the first two: the pool
    expected = {
        "jina": {"documents": texts, "top_n": 2, "return_documents": False},
        "cohere": {"documents": texts, "top_n": 2},
        "voyage": {"documents": texts, "top_k": 2, "truncation": True},
        "tei": {"texts": texts, "raw_scores": False, "truncate": True},
        "pinecone": {
            "documents": [{"text": "alpha"}, {"text": "beta"}],
            "top_n": 2,
            "return_documents": False,
            "parameters": {"truncate": "END"},
        },
    }
    expected["siliconflow"] = expected["jina_shaped"] = expected["jina"]
    if provider == "dashscope":
        assert request == {
            "model": "my-model",
            "input": {"query": "w??", "documents": texts},
            "parameters": {"top_n": 2, "return_documents": False},
        }
    else:
        named = {} if provider == "tei" else {"model": "my-model"}
        assert request == named | {"query": "w??"} | expected[provider]
    assert ("X-Pinecone-Api-Version" in server.headers[0]) == (provider == "pinecone")


def test_a_server_of_one_model_need_not_know_its_name(server):
    stage(server, "jina_shaped", key_env="").apply(Query("q"), GIVEN, SNAPSHOT)
    assert "model" not in server.requests[0]
    assert "Authorization" not in server.headers[0]


def test_002_defaults():
    row, step = PROVIDERS["jina"], ProviderRerank()
    assert (row.url, row.model) == ("https://api.jina.ai/v1/rerank", "jina-reranker-v3")
    assert {field.name: getattr(step, field.name) for field in fields(step)} == {
        "mode": "cross-encoder",
        "provider": "jina",
        "endpoint": "",
        "model": "",
        "key_env": "",
        "scale": "",
        "local_model": "minilm",
        "pool": 20,
        "blend": 0.6,
        "unreturned": 0.8,
        "cosine_weight": 0.3,
        "timeout_s": 5.0,
        "deadline_s": 5.0,
    }


def test_logits_pass_a_sigmoid(server):
    """Logits 0, ln 3, −ln 3 and 800 are 0.5, 0.75, 0.25 and 1."""
    server.scores = {"alpha": 0.0, "beta": 1.0986122886681098, "gamma": -1.0986122886681098, "delta": 800.0}
    ranking = stage(server, "jina_shaped", scale="logit", blend=1.0).apply(Query("q"), GIVEN, SNAPSHOT)
    assert by_id(ranking) == pytest.approx({"a": 0.5, "b": 0.75, "c": 0.25, "d": 1.0})
    assert [note.kind for note in ranking.notes] == ["info"]


def test_unit_scores_are_held_to_their_scale(server):
    server.scores = {"alpha": -0.25, "beta": 0.5, "gamma": 0.5, "delta": 0.5}  # a cosine may be negative
    ranking = stage(server, "jina", blend=1.0).apply(Query("q"), GIVEN, SNAPSHOT)
    assert by_id(ranking)["a"] == 0.0
    assert [note.kind for note in ranking.notes] == ["info", "info"]
    assert "1 scores below 0 and 0 above 1" in ranking.notes[1].text
    server.scores = {"alpha": -3.0, "beta": 4.5, "gamma": 7.0, "delta": 0.5}  # and these are logits
    ranking = stage(server, "jina", blend=1.0).apply(Query("q"), GIVEN, SNAPSHOT)
    assert ranking.notes[1].kind == "degraded"
    assert 'cure: scale = "logit"' in str(ranking.notes[1].reason)


def test_beyond_the_pool_and_without_text(server):
    """Not sent is not returned: 0.8 · score."""
    snapshot = MemorySnapshot([Chunk(n, "d", t, 1) for n, t in {**TEXTS, "b": " "}.items()])
    ranking = stage(server, "jina", pool=3).apply(Query("q"), GIVEN, snapshot)
    assert by_id(ranking) == pytest.approx({"a": 0.42, "b": 0.64, "c": 0.58, "d": 0.48})
    assert server.requests[0]["documents"] == ["alpha", "gamma"]
    assert ranking.parts[-1].name == "unreturned"
    empty = MemorySnapshot([Chunk(name, "d", "", 1) for name in TEXTS])
    ranking = stage(server, "jina").apply(Query("q"), GIVEN, empty)
    assert by_id(ranking) == by_id(GIVEN)
    assert "no candidate has a text" in ranking.notes[0].text
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", FORMATS)
def test_the_memory_presets_whole_pool_is_judged(server, provider):
    """40 candidates, of which text i is judged i/40: TEI takes no more than 32 texts in a request."""
    names = [f"n{place:02}" for place in range(40)]
    server.scores = {f"text {name}": place / 40 for place, name in enumerate(names)}
    snapshot = MemorySnapshot([Chunk(name, "d", f"text {name}", 1) for name in names])
    ranking_before = found(dict.fromkeys(names, 0.5))
    ranking = stage(server, provider, pool=40).apply(Query("q"), ranking_before, snapshot)
    assert by_id(ranking) == pytest.approx({name: 0.2 + 0.6 * place / 40 for place, name in enumerate(names)})
    assert ranking.notes[0].text.endswith("judged 40 of 40 candidates")
    assert len(server.requests) == (2 if provider == "tei" else 1)


def test_two_requests_that_misspeak_are_one_account(server):
    """Of 40 texts the first request has 32 and the second 8; an index counts within its own request."""
    names = [f"n{place:02}" for place in range(40)]
    snapshot = MemorySnapshot([Chunk(name, "d", f"text {name}", 1) for name in names])
    server.rules = [results((0, 1.0), (32, 1.0), (1, 1.5)), results((7, 1.0), (8, 1.0), (7, 0.0))]
    ranking = stage(server, "tei", pool=40).apply(Query("q"), found(dict.fromkeys(names, 0.5)), snapshot)
    scores = by_id(ranking)
    assert [name for name in names if scores[name] == pytest.approx(0.8)] == ["n00", "n01", "n39"]
    assert set(scores) == set(names)
    assert ranking.notes[0].text.endswith("judged 3 of 40 candidates, 2 indices out of range, 1 indices given twice")
    assert "0 scores below 0 and 1 above 1" in ranking.notes[1].text
    server.rules = [results((0, 1.0)), reply(400)]
    ranking = stage(server, "tei", pool=40).apply(Query("q"), found(dict.fromkeys(names, 0.5)), snapshot)
    assert set(by_id(ranking)) == set(names)
    assert ranking.notes[0].kind == "degraded"


def test_two_requests_have_one_deadline(server):
    """Each takes half a second and would be in time alone; together they are not."""

    def slow(provider, request):
        time.sleep(0.5)
        return server.proper(provider, request)

    server.rules = [slow, slow]
    names = [f"n{place:02}" for place in range(40)]
    snapshot = MemorySnapshot([Chunk(name, "d", f"text {name}", 1) for name in names])
    step = stage(server, "tei", pool=40, timeout_s=0.9, deadline_s=0.9)
    ranking = step.apply(Query("q"), found(dict.fromkeys(names, 0.5)), snapshot)
    assert "no answer within" in ranking.notes[0].text
    assert set(by_id(ranking)) == set(names)


def test_a_chunk_from_elsewhere_stays(server):
    ranking = stage(server, "jina").apply(Query("q"), found({"a": 0.9, "elsewhere": 0.5}), SNAPSHOT)
    assert by_id(ranking) == pytest.approx({"a": 0.42, "elsewhere": 0.4})


def test_the_documentation_has_the_table_of_the_code():
    page = (Path(__file__).parents[2] / "docs" / "rerankers.md").read_text("utf-8")
    for name, row in PROVIDERS.items():
        url = f"`{row.url}`" if row.url else "this process"
        key = f"`{row.key_env}`{'' if row.needs_key else ', optional'}" if row.key_env else "none"
        model = f"`{row.model}`" if row.model else "the server's own"
        line = f"| `{name}` | {row.about} | {url} | {model} | {key} | {row.scale if row.wire else 'its own blend'} |"
        assert line in page
    listed = [line for line in page.splitlines() if line.startswith("| `") and line.count("|") == 7]
    assert len(listed) == len(PROVIDERS)


def test_requests_are_plain_json():
    for row in PROVIDERS.values():
        if row.wire:
            json.dumps(row.wire.body(row.model, "q", ["t"]))
