"""Keys: hashed at rest, shown once, revoked at once; rights and scopes over real HTTP."""

import json
import stat

import pytest
from click.testing import CliRunner

from assay.cli.main import cli
from assay.errors import ConfigError, QueryError
from assay.serve.access import Unauthorized
from assay.serve.http.settings import ServerSettings, make_settings
from assay.serve.keys import KeyStore
from assay.serve.rate_limit import RateExceeded, RateLimit
from tests.serve.server_fixtures import make_store, problem, serving


@pytest.fixture
def keys(tmp_path):
    return KeyStore(tmp_path / "config" / "keys.json")


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def test_a_key_is_stored_as_a_hash_in_a_private_file(keys):
    made, text = keys.create("ada", "write", ["user:ada"], 1.0)
    stored = keys.path.read_text()
    assert text not in stored
    assert text.split("_", 2)[2] not in stored
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    caller = KeyStore(keys.path).find_caller(text)
    assert (caller.name, caller.right, caller.scopes) == ("ada", "write", ("user:ada",))
    assert made.id in stored


WRONG_KEYS = ("{key}x", "x{key}", "", "_", "assay", "assay_{id}_", "assay_00000000_x", "é" * 50, "{cut}", "{upper}")


@pytest.mark.parametrize("form", WRONG_KEYS)
def test_only_the_whole_key_is_a_key(keys, form):
    made, text = keys.create("ada", "read", None, 1.0)
    with pytest.raises(Unauthorized):
        keys.find_caller(form.format(key=text, id=made.id, cut=text[:-1], upper=text.upper()))


def test_a_revoked_key_stops_working_at_once_in_another_process(keys):
    _, text = keys.create("ada", "read", None, 1.0)
    other = KeyStore(keys.path)
    assert other.find_caller(text).name == "ada"
    keys.revoke("ada", 2.0)
    with pytest.raises(Unauthorized):
        other.find_caller(text)
    with pytest.raises(ConfigError, match="no valid key"):
        keys.revoke("ada", 3.0)
    assert keys.create("ada", "read", None, 4.0)[1] != text


BAD_KEYS = [
    ("", "read", None),
    ("a\nb", "read", None),
    ("a", "root", None),
    ("a", "read", ["user:*"]),
    ("x" * 101, "read", None),
]


@pytest.mark.parametrize(("name", "right", "scopes"), BAD_KEYS)
def test_bad_keys_are_refused_and_nothing_is_written(keys, name, right, scopes):
    with pytest.raises((ConfigError, QueryError)):
        keys.create(name, right, scopes, 1.0)
    assert not keys.path.exists()


def test_a_damaged_file_of_keys_opens_for_nobody(keys):
    keys.create("ada", "read", None, 1.0)
    keys.path.write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        keys.find_caller("assay_x_y")


def test_beyond_this_machine_a_server_needs_a_key(keys):
    with pytest.raises(ConfigError, match="needs keys"):
        make_settings(False, keys, False, ())
    _, _ = keys.create("ada", "read", None, 1.0)
    assert make_settings(False, keys, False, ()).keys_required
    assert make_settings(False, keys, False, ()).hosts == ("*",)
    assert not make_settings(True, keys, False, ()).keys_required
    keys.revoke("ada", 2.0)
    with pytest.raises(ConfigError, match="needs keys"):
        make_settings(True, keys, True, ())


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that requires keys, over documents of two scopes and none, and memories of two."""
    folder = tmp_path_factory.mktemp("guarded")
    keys = KeyStore(folder / "keys.json")
    made = {
        name: keys.create(name, right, scopes, 1.0)[1]
        for name, right, scopes in (
            ("reader", "read", ["user:ada"]),
            ("writer", "write", ["user:ada"]),
            ("nobody", "read", []),
            ("boss", "admin", None),
        )
    }
    with make_store(folder / "kb") as kb:
        kb.add([{"id": "hers", "text": "Ada hides the signing key.", "scope": "user:ada"},
                {"id": "his", "text": "Bo hides the signing key.", "scope": "user:bo"}])  # fmt: skip
        with serving(kb, ServerSettings(workers=2, waiting=8, keys_required=True), keys) as (client, context):
            context.memory.store("Ada likes tea.", scope="user:ada")
            context.memory.store("Bo likes coffee.", scope="user:bo")
            yield client, made


def test_without_a_key_only_health_is_answered(guarded):
    client, _ = guarded
    assert client.get("/health").status_code == 200
    assert client.get("/ready").status_code == 200
    assert client.get("/openapi.json").status_code == 200
    for method, path, body in (
        ("POST", "/search", {"text": "key"}),
        ("GET", "/documents", None),
        ("GET", "/metrics", None),
        ("POST", "/memories", {"text": "x"}),
        ("DELETE", "/documents/keys", None),
        ("GET", "/pipelines", None),
        ("POST", "/v1/embeddings", {"input": "x"}),
        ("GET", "/receipts", None),
    ):
        found = client.request(method, path, json=body)
        problem(found, 401)
        assert found.headers["www-authenticate"] == "Bearer"
    problem(client.get("/health", headers=bearer("assay_00000000_wrong")), 401)


def test_rights_include_those_before_them(guarded):
    client, keys = guarded
    for name, expected in (("reader", 403), ("writer", 201), ("boss", 201)):
        answer = client.post(
            "/documents", json={"records": [{"id": "n", "text": f"by {name}"}]}, headers=bearer(keys[name])
        )
        assert answer.status_code == expected
        assert client.post("/search", json={"text": "key"}, headers=bearer(keys[name])).status_code == 200
    purge = {"query": "tea", "purge": True}
    problem(client.post("/memories/forget", json=purge, headers=bearer(keys["writer"])), 403)


def test_scopes_decide_what_is_found_listed_read_and_explained(guarded):
    client, keys = guarded

    def found(name):
        hits = client.post("/search", json={"text": "hides signing key"}, headers=bearer(keys[name])).json()["hits"]
        return {hit["doc_id"] for hit in hits if hit["doc_id"] in ("hers", "his", "keys")}

    assert found("reader") == {"hers", "keys"}
    assert found("nobody") == {"keys"}
    assert found("boss") == {"hers", "his", "keys"}
    names = [one["origin"] for one in client.get("/documents", headers=bearer(keys["reader"])).json()["documents"]]
    assert "records/hers" in names
    assert "records/his" not in names
    assert client.get("/documents/his", headers=bearer(keys["boss"])).status_code == 200
    for path in ("/documents/his", "/documents/records/his"):
        problem(client.get(path, headers=bearer(keys["reader"])), 404)
    problem(client.delete("/documents/his", headers=bearer(keys["writer"])), 404)
    body = {"text": "hides", "document": "his"}
    problem(client.post("/explain", json=body, headers=bearer(keys["reader"])), 404)
    secret = client.post("/explain", json=body, headers=bearer(keys["boss"])).json()["id"]
    problem(client.post("/explain", json={"text": "hides", "id": secret}, headers=bearer(keys["reader"])), 409)
    problem(client.post("/search", json={"text": "x", "scope": "user:bo"}, headers=bearer(keys["reader"])), 403)
    where = 'scope = "user:bo" or doc_id = "his"'
    tricky = client.post("/search", json={"text": "hides", "where": where}, headers=bearer(keys["reader"])).json()
    assert tricky["hits"] == []


def test_scopes_decide_which_memories_are_reached(guarded):
    client, keys = guarded
    ask = {"query": "who likes what?", "limit": 10}

    def recalled(name, **more):
        answer = client.post("/memories/recall", json={**ask, **more}, headers=bearer(keys[name]))
        return answer.status_code, {hit["memory"]["scope"] for hit in answer.json().get("hits", ())}

    assert recalled("reader") == (200, {"user:ada"})
    assert recalled("reader", scope="user:bo") == (403, set())
    assert recalled("boss", scope="user:bo") == (200, {"user:bo"})
    assert recalled("nobody") == (422, set())
    stored = client.post("/memories", json={"text": "Ada moved to Porto."}, headers=bearer(keys["writer"])).json()
    assert stored["memory"]["scope"] == "user:ada"
    problem(client.post("/memories", json={"text": "x y z", "scope": "user:bo"}, headers=bearer(keys["writer"])), 403)


@pytest.mark.parametrize(
    "toml",
    [
        '[legs.other.source]\nuse = "store"\npath = "/tmp/other"\n',
        '[legs.other.source]\nuse = "qmd"\ncommand = "rm"\n',
        '[legs.bm25]\nk = 5\n[[step]]\nuse = "cross_encoder"\npath = "/etc"\n',
        '[legs.bm25]\nk = 5\n[[step]]\nuse = "late_interaction"\nmodel = "onnx:/etc"\n',
        '[legs.bm25]\nk = 5\n[[step]]\nuse = "provider_rerank"\nendpoint = "http://169.254.169.254/"\n',
        '[legs.in.legs.other.source]\nuse = "recorded"\npath = "/etc/passwd"\n',
    ],
)
def test_an_inline_pipeline_reaches_nothing_outside(guarded, toml):
    client, keys = guarded
    ask = {"text": "x", "pipeline_toml": toml}
    problem(client.post("/search", json=ask, headers=bearer(keys["reader"])), 403)
    checked = client.post("/pipelines/preflight", json={"toml": toml}, headers=bearer(keys["reader"])).json()
    assert not checked["valid"]


def test_not_even_an_administrator_starts_programs_that_are_not_allowed(guarded):
    client, keys = guarded
    ask = {"text": "x", "pipeline_toml": '[legs.other.source]\nuse = "qmd"\ncommand = "rm"\n'}
    found = problem(client.post("/search", json=ask, headers=bearer(keys["boss"])), 403)
    assert "assay allow program:rm" in found["cure"]


def test_a_bucket_refills_with_time():
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    limit.count("a")
    limit.count("a")
    with pytest.raises(RateExceeded) as error:
        limit.count("a")
    assert error.value.retry_after == 30
    limit.count("b")
    now[0] = 30.0
    limit.count("a")
    with pytest.raises(RateExceeded):
        limit.count("a")


def test_too_many_requests_of_one_key_are_refused_and_guesses_count(tmp_path):
    keys = KeyStore(tmp_path / "keys.json")
    _, text = keys.create("ada", "read", None, 1.0)
    with make_store(tmp_path / "kb") as kb, serving(kb, ServerSettings(per_minute=3), keys) as (client, _):
        for _ in range(3):
            assert client.get("/health", headers=bearer(text)).status_code == 200
        found = client.get("/health", headers=bearer(text))
        problem(found, 429)
        assert int(found.headers["retry-after"]) == 20
        for _ in range(3):
            problem(client.get("/health", headers=bearer("assay_x_y")), 401)
        problem(client.get("/health", headers=bearer("assay_x_y")), 429)


def test_the_commands_make_list_and_revoke(tmp_path):
    path = str(tmp_path / "keys.json")
    runner = CliRunner()
    made = runner.invoke(cli, ["key", "create", "ada", "--right", "write", "--scope", "user:ada", "--keys", path])
    assert made.exit_code == 0, made.output
    text = made.stdout.strip()
    assert KeyStore(tmp_path / "keys.json").find_caller(text).right == "write"
    listed = runner.invoke(cli, ["key", "list", "--keys", path])
    assert "ada" in listed.stdout
    assert "user:ada" in listed.stdout
    assert text.rsplit("_", 1)[1] not in listed.stdout
    assert runner.invoke(cli, ["key", "revoke", "ada", "--keys", path]).exit_code == 0
    rows = json.loads(runner.invoke(cli, ["key", "list", "--json", "--keys", path]).stdout)
    assert rows[0]["revoked"] is not None
    assert "hash" not in rows[0]
