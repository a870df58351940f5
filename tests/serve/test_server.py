"""`assay serve` over real HTTP: search, documents, pipelines, errors."""

import re
import signal
import subprocess
import sys

import httpx
import pytest

import assay
from assay.serve.http.settings import ServerSettings
from tests.serve.server_fixtures import RECORDS, make_store, problem, serving


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("http") / "kb") as base:
        base.add(["Ada keeps the spare token."], name="notes")
        yield base


@pytest.fixture(scope="module")
def client(kb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipelines")
    (folder / "words.toml").write_text("k = 3\n[legs.bm25]\nk = 50\n")
    with serving(kb, ServerSettings(workers=2, waiting=8, pipelines=folder)) as (found, context):
        context.memory.store("The spare signing key is in the blue safe.", scope="user:ada")
        yield found


def test_an_answer_is_that_of_the_library(client, kb):
    found = client.post("/search", json={"text": "signing key", "k": 2, "where": 'lang = "en"'}).json()
    expected = kb.search("signing key", 2, where='lang = "en" and doc_id < "memories/"')
    assert [hit["id"] for hit in found["hits"]] == [hit.id for hit in expected]
    assert [hit["score"] for hit in found["hits"]] == [hit.score for hit in expected]
    assert found["hits"][0]["doc_id"] == "keys"
    assert {span["step"] for span in found["trace"]} >= {"bm25", "dense"}
    assert found["pipeline"] == "default"
    assert found["version"] == kb.store.version()


def test_memories_are_not_found_among_documents(client):
    found = client.post("/search", json={"text": "spare signing key blue safe", "k": 50}).json()
    assert all(not hit["doc_id"].startswith("memories/") for hit in found["hits"])
    assert found["hits"]
    names = [one["origin"] for one in client.get("/documents").json()["documents"]]
    assert not any(name.startswith("memories") for name in names)


def test_pipelines_by_name_and_inline_but_never_by_path(client, tmp_path):
    assert client.post("/search", json={"text": "key", "pipeline": "words"}).json()["pipeline"] == "words"
    inline = client.post("/search", json={"text": "key", "pipeline_toml": "k = 1\n[legs.bm25]\nk = 5\n"}).json()
    assert len(inline["hits"]) == 1
    (tmp_path / "mine.toml").write_text("[legs.bm25]\nk = 5\n")
    found = problem(client.post("/search", json={"text": "key", "pipeline": str(tmp_path / "mine.toml")}), 422)
    assert "words" in found["cure"]
    both = {"text": "key", "pipeline": "words", "pipeline_toml": "[legs.bm25]\nk = 5"}
    problem(client.post("/search", json=both), 422)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"text": "x", "kk": 1}, "kk"),
        ({"text": "x", "k": "3"}, "k"),
        ({"text": "x", "k": 0}, "k"),
        ({"text": "x" * 10_001}, "text"),
        ({"text": "x", "where": "lang ="}, "filter"),
        ({"text": "x", "at": "yesterday-ish"}, "date"),
        ({"text": "x", "pipeline_toml": "legs = 3"}, "legs"),
        ({"text": "x", "pipeline_toml": "k = = 3"}, "TOML"),
        ({"text": "x", "where": 'nosuchfield = "x"'}, "nosuchfield"),
    ],
)
def test_a_wrong_request_names_what_is_wrong(client, body, word):
    found = problem(client.post("/search", json=body), 422)
    assert word in found["detail"]
    assert found["cure"]


def test_no_json_and_no_such_route(client):
    problem(client.post("/search", content=b"{", headers={"content-type": "application/json"}), 422)
    problem(client.get("/nothing"), 404)
    problem(client.get("/search"), 405)


def test_a_snapshot_that_is_not_there(client):
    assert "v99999" in problem(client.post("/search", json={"text": "key", "snapshot": "v99999"}), 409)["detail"]


def test_documents_by_page_and_one_by_one(client):
    first = client.get("/documents", params={"limit": 3}).json()
    assert first["total"] == 4
    assert first["next_offset"] == 3
    rest = client.get("/documents", params={"limit": 3, "offset": 3}).json()
    assert rest["next_offset"] is None
    names = [one["origin"] for one in first["documents"] + rest["documents"]]
    assert sorted(names)[1:] == ["records/gauges", "records/keys", "records/tee"]
    by_origin = client.get("/documents/records/keys").json()
    by_id = client.get("/documents/keys").json()
    assert by_id["chunks"] == by_origin["chunks"]
    assert by_id["chunks"][0]["text"] == RECORDS[0]["text"]
    problem(client.get("/documents/memories/x"), 404)


def test_a_memory_is_no_document_by_its_chunk_id(client, kb):
    memory = next(chunk for chunk in kb.chunks() if chunk.doc_id.startswith("memories/"))
    problem(client.get(f"/documents/{memory.id}"), 404)
    problem(client.get(f"/documents/{memory.doc_id}"), 404)


def test_pipelines_and_preflight(client):
    found = {one["name"]: one for one in client.get("/pipelines").json()["pipelines"]}
    assert found["words"]["own"]
    assert not found["default"]["own"]
    assert 'use = "learned"' in client.get("/pipelines/default").json()["toml"]
    problem(client.get("/pipelines/nope"), 404)
    good = client.post("/pipelines/preflight", json={"toml": "k = 5\n[legs.bm25]\nk = 3\n"}).json()
    assert good["valid"]
    assert [one["code"] for one in good["findings"]] == ["leg_short"]
    bad = client.post("/pipelines/preflight", json={"toml": "[legs.nope]\nk = 3\n"}).json()
    assert not bad["valid"]
    assert bad["error"]["cure"]


def test_health_ready_and_the_description(client):
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/ready").json()["status"] == "ready"
    description = client.get("/openapi.json").json()
    assert description["openapi"].startswith("3.")
    assert description["components"]["schemas"]["SearchRequest"]["examples"]


def test_request_ids_are_echoed_if_they_are_harmless(client):
    assert client.get("/health", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    assert len(client.get("/health", headers={"x-request-id": "a b"}).headers["x-request-id"]) == 32


def test_large_answers_are_compressed(client):
    found = client.post("/search", json={"text": "key"}, headers={"accept-encoding": "gzip"})
    assert found.headers["content-encoding"] == "gzip"
    assert (
        "content-encoding"
        not in client.post("/search", json={"text": "key"}, headers={"accept-encoding": "identity"}).headers
    )


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_page_that_calls_this_machine_by_its_own_name_is_refused(client, host):
    problem(client.get("/health", headers={"host": host}), 421)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1"])
def test_pages_of_other_sites_are_refused(client, origin):
    problem(client.post("/search", json={"text": "key"}, headers={"origin": origin}), 403)
    own = str(client.base_url).rstrip("/")
    assert client.post("/search", json={"text": "key"}, headers={"origin": own}).status_code == 200
    problem(client.post("/search", json={"text": "key"}, headers=[("origin", own), ("origin", origin)]), 403)


def test_bodies_are_limited_with_and_without_a_length(client):
    large = b'{"text": "' + b"x" * (5 * 1024 * 1024) + b'"}'
    kind = {"content-type": "application/json"}
    problem(client.post("/search", content=large, headers=kind), 413)
    problem(client.post("/search", content=iter([large[:100], large[100:]]), headers=kind), 413)


def test_the_command_announces_its_address_and_drains(tmp_path):
    with assay.open(tmp_path / "kb", embedder="none") as base:
        base.add(RECORDS)
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.cli", "serve", "--store", str(tmp_path / "kb"), "--address", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stderr.readline()
    found = re.search(r"http://\S+", line)
    try:
        assert found, line + process.stderr.read()
        assert httpx.post(f"{found[0]}/search", json={"text": "signing"}).json()["hits"][0]["doc_id"] == "keys"
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
    assert "Traceback" not in rest
