"""A real server that misbehaves: no candidate is lost, nothing is raised, all of it is on the trace."""

from __future__ import annotations

import json
import logging
import socket
import sys
import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from rerank_server import KEY, Server, reply, results

from assay.config.load import from_dict, to_config
from assay.engine.laws import check_ranking, check_same_ids
from assay.rerank.provider_rerank import ProviderRerank
from assay.rerank.providers import client, transport
from assay.rerank.providers.breaker import Breakers
from assay.testing.build import found
from assay.testing.memory_snapshot import MemorySnapshot
from assay.types import Chunk, Query

TEXTS = {"a": "alpha", "b": "beta", "c": "gamma", "d": "delta"}
VECTORS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]], np.float32)
SNAPSHOT = MemorySnapshot([Chunk(name, "d", text, 1) for name, text in TEXTS.items()], VECTORS)
QUERY = Query("which?", vector=np.array([1.0, 0.0], np.float32))
GIVEN = found({"a": 0.5, "b": 0.8, "c": 0.7, "d": 0.6})
COSINE = {"a": 0.35 + 0.3, "b": 0.56 + 0.18, "c": 0.49, "d": 0.42 - 0.3}
"""70 % of the score, 30 % of the cosine: 1, 0.6, 0 and −1."""
JUDGED = {"a": 0.06 + 0.2, "b": 0.12 + 0.32, "c": 0.3 + 0.28, "d": 0.6 + 0.24}
"""60 % of 0.1, 0.2, 0.5 and 1.0, 40 % of the score."""


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(client, "BREAKERS", Breakers(clock))
    return clock


@pytest.fixture
def server(clock, monkeypatch):
    monkeypatch.setenv("TEST_RERANK_KEY", KEY)
    monkeypatch.setattr(transport, "PAUSE_S", 0.01)
    server = Server()
    server.scores = {"alpha": 0.1, "beta": 0.2, "gamma": 0.5, "delta": 1.0}
    yield server
    server.close()


def stage(server, provider="jina", **settings):
    return ProviderRerank(
        **{"provider": provider, "endpoint": server.url(provider), "key_env": "TEST_RERANK_KEY"} | settings
    )


def run(step, given=GIVEN, query=QUERY):
    ranking = step.apply(query, given, SNAPSHOT)
    check_ranking(ranking, "provider_rerank")
    check_same_ids(given, ranking, "provider_rerank")
    return ranking


def by_id(ranking):
    return dict(zip(ranking.ids.tolist(), ranking.score.tolist(), strict=True))


def fell_back(ranking):
    """The text of the note that says why the cosine stepped in."""
    assert by_id(ranking) == pytest.approx(COSINE, abs=1e-7)
    assert [part.name for part in ranking.parts] == ["found", "cosine.keep", "cosine"]
    assert [note.kind for note in ranking.notes] == ["degraded", "info"]
    assert "cure: " in str(ranking.notes[0].reason)
    return str(ranking.notes[0].reason)


# -- no answer


def test_slow_past_the_timeout(server):
    def slow(provider, request):
        server.closing.wait(20)
        return server.proper(provider, request)

    server.rules = [slow]
    text = fell_back(run(stage(server, timeout_s=0.3)))
    assert "no answer within 0.3 s; breaker closed, 1 failure in a row" in text
    assert len(server.requests) == 1  # what was slow once is not asked again


def test_a_byte_at_a_time_past_the_deadline(server):
    def dripping(provider, request):
        status, _, body = server.proper(provider, request)
        return status, {"Slowly": "0.05"}, body + b" " * 2000

    server.rules = [dripping]
    assert "no answer within 0.3 s" in fell_back(run(stage(server, timeout_s=0.3, deadline_s=0.3)))


@contextmanager
def talker(talk):
    """A server of one connection that says what it likes: `talk(send)` until done, or until nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.settimeout(20)
                connection.recv(65536)
                talk(connection.sendall)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        thread.join()


def test_headers_without_end(server):
    """No socket timeout ever fires here, so only a deadline of our own ends the wait, long before the server does."""
    returned, waited_to_the_end = threading.Event(), threading.Event()

    def drip(send):
        send(b"HTTP/1.1 200 OK\r\nX-Long: ")
        for _ in range(400):
            if returned.wait(0.05):
                return
            send(b"x")
        waited_to_the_end.set()

    with talker(drip) as endpoint:
        text = fell_back(run(stage(server, endpoint=endpoint, timeout_s=0.3, deadline_s=0.3)))
        assert not waited_to_the_end.is_set()
        returned.set()
    assert "no answer within 0.3 s" in text


def test_a_body_without_end(server):
    def pour(send):
        send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while True:
            send(b" " * 65536)

    with talker(pour) as endpoint:
        text = fell_back(run(stage(server, endpoint=endpoint, timeout_s=60.0, deadline_s=60.0)))
    assert "longer than 4,000,000 bytes" in text


def test_connection_refused(server):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    text = fell_back(run(stage(server, endpoint=f"http://127.0.0.1:{port}/v1/rerank")))
    assert "refused (try 2)" in text


def test_hanging_up_is_tried_once_more(server):
    server.rules = [reply(0)]
    assert by_id(run(stage(server))) == pytest.approx(JUDGED)
    server.rules = [reply(0), reply(0)]
    assert "(try 2)" in fell_back(run(stage(server)))
    assert len(server.requests) == 4


def test_a_name_that_does_not_exist(server):
    text = fell_back(run(stage(server, endpoint="http://nowhere.invalid/rerank", timeout_s=0.5, deadline_s=0.5)))
    assert "did not judge" in text


# -- refusals


def test_429_with_retry_after_within_the_deadline(server):
    server.rules = [reply(429, Retry_After="0"), reply(429, Retry_After="0")]
    ranking = run(stage(server))
    assert by_id(ranking) == pytest.approx(JUDGED)
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_past_the_deadline_is_not_waited_for(server, status):
    server.rules = [reply(status, Retry_After="3600")]
    assert f"{status} busy; it asks for 3600 s, which is past the deadline" in fell_back(run(stage(server)))
    assert len(server.requests) == 1


@pytest.mark.parametrize("header", [{}, {"Retry_After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {"Retry_After": "-1"}])
def test_429_that_names_no_seconds_is_not_repeated(server, header):
    server.rules = [reply(429, **header)]
    assert "429 busy; breaker" in fell_back(run(stage(server)))
    assert len(server.requests) == 1


def test_tries_are_bounded(server):
    server.rules = [reply(429, Retry_After="0")] * 9
    assert "429 busy (try 3)" in fell_back(run(stage(server)))
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_500_is_tried_once_more(server, status):
    server.rules = [reply(status)]
    assert by_id(run(stage(server))) == pytest.approx(JUDGED)
    server.rules = [reply(status), reply(status)]
    assert f"{status} busy (try 2)" in fell_back(run(stage(server)))
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("status", "cure"), [(400, "model's name"), (401, "TEST_RERANK_KEY"), (403, "TEST_RERANK_KEY"), (404, "address")]
)
def test_refusals_are_not_repeated_and_name_a_cure(server, status, cure):
    server.rules = [reply(status, b"no\r\n  such thing")]
    text = fell_back(run(stage(server)))
    assert f"did not judge: {status} no such thing; " in text
    assert cure in text.split("cure: ")[1]
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(server, status):
    other = Server()
    try:
        server.rules = [reply(status, b"", Location=other.url("jina"))]
        assert f"did not judge: {status}" in fell_back(run(stage(server)))
        assert other.requests == []
    finally:
        other.close()


# -- answers that are none


NONSENSE = {
    "truncated": (reply(200, b'{"results": [{"index": 0, "relevance_sco'), "not JSON"),
    "empty": (reply(200, b""), "not JSON"),
    "html": (reply(200, b"<html>hello</html>"), "not JSON"),
    "not utf-8": (reply(200, b"\xff\xfe\x00"), "not JSON"),
    "nested without end": (reply(200, b"[" * 200_000), "not JSON"),
    "a number without end": (reply(200, b'{"results": ' + b"1" * 10_000 + b"}"), "not JSON"),
    "null": (reply(200, b"null"), "no list of results under results"),
    "another format": (reply(200, b'[{"index": 0, "score": 0.5}]'), "no list of results under results"),
    "results of another type": (reply(200, b'{"results": "none"}'), "no list of results under results"),
    "no results": (results(), "no usable score"),
    "strings": (reply(200, b'{"results": ["a", "b"]}'), "no usable score, 2 malformed entries"),
    "only NaN": (results((0, float("nan")), (1, float("inf"))), "2 scores that are no finite number"),
    "not gzip": (reply(200, b"hello", Content_Encoding="gzip"), "did not judge"),
    "huge": (reply(200, b" " * (transport.MAX_BYTES + 1)), "longer than 4,000,000 bytes"),
    "nothing to say": (reply(204, b""), "did not judge: 204"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_leads_to_the_cosine(server, name):
    rule, trouble = NONSENSE[name]
    server.rules = [rule, rule]
    assert trouble in fell_back(run(stage(server)))


@pytest.mark.parametrize("provider", ["cohere", "voyage", "pinecone", "dashscope", "tei", "siliconflow", "jina_shaped"])
def test_truncated_json_of_every_format(server, provider):
    def cut(name, request):
        status, headers, body = server.proper(name, request)
        return status, headers, body[:-9]

    server.rules = [cut]
    assert "not JSON" in fell_back(run(stage(server, provider)))


def test_a_body_cut_short_is_tried_once_more(server):
    server.rules = [lambda *_: (200, {"Content-Length": "9999", "Connection": "close"}, b'{"results": [')]
    server.http.RequestHandlerClass.timeout = 0.2
    assert by_id(run(stage(server))) == pytest.approx(JUDGED)


# -- answers that are something


@pytest.mark.parametrize("provider", ["jina", "pinecone", "dashscope", "tei"])
def test_odd_answers_are_believed_as_far_as_they_go(server, provider):
    server.rules = [
        results((2, 0.5), (9, 0.9), (2, 0.1), (-1, 0.3), (0, float("nan")), ("1", 0.4), (3, 1.0), (0, None))
    ]
    ranking = run(stage(server, provider))
    # Sent in the order b c d a. b and c are left at 0.8 of .8 and .7; d is .6 · .5 + .4 · .6, a is .6 · 1 + .4 · .5
    assert by_id(ranking) == pytest.approx({"a": 0.8, "b": 0.64, "c": 0.56, "d": 0.54})
    assert [part.name for part in ranking.parts] == ["found", "rerank.keep", "rerank", "unreturned"]
    (note,) = ranking.notes
    assert note.kind == "degraded"
    for message in ("judged 2 of 4", "2 indices out of range", "1 indices given twice", "2 scores", "1 malformed"):
        assert message in note.text


def test_fewer_than_asked(server):
    server.rules = [results((1, 1.0))]
    ranking = run(stage(server))
    assert by_id(ranking) == pytest.approx({"a": 0.4, "b": 0.64, "c": 0.88, "d": 0.48})
    assert ranking.notes[0].text.endswith("judged 1 of 4 candidates")


# -- the breaker


def test_the_breaker_stops_hammering_and_recovers(server, clock):
    step, dead = stage(server), [reply(404)] * 4
    server.rules = list(dead)
    for failures in ("1 failure", "2 failures"):
        assert f"breaker closed, {failures} in a row" in fell_back(run(step))
    assert "breaker open, 3 failures in a row, next try in 30 s" in fell_back(run(step))
    for _ in range(20):
        assert "it is not asked for now; breaker open, 3 failures" in fell_back(run(step))
    assert len(server.requests) == 3
    clock.now = 30.0
    assert "breaker open, 4 failures in a row, next try in 30 s" in fell_back(run(step))  # half-open, and failed
    assert len(server.requests) == 4
    clock.now = 60.0
    assert by_id(run(step)) == pytest.approx(JUDGED)
    assert by_id(run(step)) == pytest.approx(JUDGED)
    assert len(server.requests) == 6


def test_another_address_has_a_breaker_of_its_own(server):
    server.rules = [reply(404)] * 3
    for _ in range(3):
        run(stage(server))
    assert "not asked for now" in fell_back(run(stage(server)))
    assert by_id(run(stage(server, "cohere"))) == pytest.approx(JUDGED)


@pytest.mark.parametrize("status", [401, 403, 404, 418])
def test_a_refusal_that_is_about_the_endpoint_counts(server, status):
    server.rules = [reply(status)] * 3
    for _ in range(3):
        message = fell_back(run(stage(server)))
    assert "breaker open, 3 failures in a row" in message
    assert "it is not asked for now" in fell_back(run(stage(server)))
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_is_refused_says_nothing_about_the_endpoint(server, status):
    server.rules = [reply(status)] * 5
    for _ in range(5):
        assert "breaker closed; " in fell_back(run(stage(server)))
    assert len(server.requests) == 5


def test_many_threads_at_once(server):
    step, answers = stage(server), []
    threads = [threading.Thread(target=lambda: answers.append(by_id(run(step)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [pytest.approx(JUDGED)] * 8


# -- the key


def pipeline(server):
    return from_dict(
        {
            "legs": {"dense": {"norm": "clamp"}},
            "step": [
                {
                    "use": "provider_rerank",
                    "endpoint": server.url("jina"),
                    "key_env": "TEST_RERANK_KEY",
                    "timeout_s": 0.3,
                }
            ],
        }
    )


@pytest.mark.parametrize(
    "rule",
    [
        reply(401, f"no such key: {KEY}, Bearer {KEY}".encode()),
        reply(500, json.dumps({"error": {"message": f"bad header Authorization: Bearer {KEY}"}}).encode()),
        reply(200, KEY.encode()),
        reply(200, json.dumps({"results": [{"index": KEY, "relevance_score": KEY}]}).encode()),
        reply(302, b"", Location="http://127.0.0.1:9/"),
        reply(0),
        None,
    ],
    ids=["401", "500", "not json", "entries", "redirect", "hang up", "proper"],
)
def test_the_key_is_nowhere(server, rule, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    server.rules = [rule, rule] if rule else []
    plan = pipeline(server)
    answer = plan.run(QUERY, SNAPSHOT)
    assert len(answer.chosen) == 4
    assert any(KEY in header for headers in server.headers for header in headers.values())  # it was used
    out, err = capfd.readouterr()
    for message in (repr(answer.trace), json.dumps(answer.to_json()), repr(plan), json.dumps(to_config(plan))):
        assert KEY not in message
    assert KEY not in caplog.text + out + err


def test_a_request_does_not_show_its_key():
    request = transport.ProviderRequest("http://x/", {"Authorization": f"Bearer {KEY}"}, {}, KEY, "K", 1.0, 1.0)
    assert KEY not in f"{request} {request!r}"


@pytest.mark.parametrize("value", ["sk-\u00e9secret", "sk secret", "sk\nsecret", "sk\x7fsecret"])
def test_what_cannot_be_a_key_is_not_sent_and_not_shown(server, monkeypatch, value):
    monkeypatch.setenv("TEST_RERANK_KEY", value)
    text = fell_back_from_local(run(stage(server, local_model="none")))
    assert "TEST_RERANK_KEY holds something that is not a key" in text
    assert "secret" not in text
    assert server.requests == []


def fell_back_from_local(ranking):
    assert by_id(ranking) == pytest.approx(COSINE, abs=1e-7)
    return " ".join(str(note.reason) for note in ranking.notes)


def test_without_the_extra(server, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    assert "pip install -e '.[http]'" in fell_back_from_local(run(stage(server, local_model="none")))


def test_settings_of_the_machine_that_stop_the_client(server, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "gopher://user:hunter2@127.0.0.1:9")
    text = fell_back(run(stage(server)))
    assert "the HTTP client cannot start" in text
    assert "hunter2" not in text
