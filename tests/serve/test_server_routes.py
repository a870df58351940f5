"""Batch, explain, compare, memories, documents, receipts and metrics over real HTTP."""

import json
import shutil
from pathlib import Path

import pytest

from assay.serve.http.settings import ServerSettings
from tests.serve.server_fixtures import make_store, problem, serving

LAB = Path(__file__).resolve().parents[2] / "receipts" / "lab"


@pytest.fixture(scope="module")
def receipts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("receipts")
    (folder / "lab").mkdir()
    for name in ("cranfield.dev.bm25.json", "cranfield.dev.default.json"):
        shutil.copy(LAB / name, folder / "lab" / name)
    (folder / "damaged.json").write_text("{")
    return folder


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with make_store(tmp_path_factory.mktemp("routes") / "kb") as base:
        yield base


@pytest.fixture(scope="module")
def client(kb, receipts):
    with serving(kb, ServerSettings(workers=2, waiting=8, receipts=receipts, upload_bytes=100_000)) as (found, _):
        yield found


def test_a_batch_answers_in_order_what_single_searches_answer(client):
    texts = ["signing key", "Teeküche", "", "workshop gauge"]
    batch = client.post("/search/batch", json={"texts": texts, "k": 2}).json()["answers"]
    single = [client.post("/search", json={"text": text, "k": 2}).json() for text in texts]
    assert [one["digests"]["answer"] for one in batch] == [one["digests"]["answer"] for one in single]
    problem(client.post("/search/batch", json={"texts": []}), 422)
    problem(client.post("/search/batch", json={"texts": ["x"] * 257}), 422)


def test_a_request_may_set_its_own_time_budget(client):
    two = '[legs.first]\nuse = "bm25"\n[legs.second]\nuse = "bm25"\n[fuse]\nuse = "rrf"\n'
    ask = {"text": "signing key", "pipeline_toml": two}
    patient = client.post("/search", json=ask).json()
    hurried = client.post("/search", json={**ask, "budget_ms": 0.001}).json()
    assert not patient["status"]["degraded"]
    assert "second" in str(hurried["status"]["degraded"])
    assert hurried["hits"][0]["id"] == patient["hits"][0]["id"]  # the first leg always answers
    for bad in (0, -5, "1", 700_000):
        problem(client.post("/search", json={**ask, "budget_ms": bad}), 422)


def test_why_is_this_document_here_and_why_not(client):
    ask = {"text": "signing key", "pipeline": "bm25"}
    here = client.post("/explain", json={**ask, "document": "keys"}).json()
    assert here["rank"] == 1
    assert here["document"] == "keys"
    assert {part["part"] for part in here["hit"]["why"]} == {"key", "sign"}
    gone = client.post("/explain", json={**ask, "document": "tee"}).json()
    assert gone["rank"] is None
    assert gone["reasons"] == ["bm25 finds nothing of the query in it"]
    hidden = client.post("/explain", json={**ask, "document": "keys", "where": 'lang = "de"'}).json()
    assert "filter" in hidden["reasons"][0]
    by_id = client.post("/explain", json={**ask, "id": here["id"][:10]}).json()
    assert by_id["steps"] == here["steps"]
    problem(client.post("/explain", json={**ask, "document": "nope"}), 404)
    problem(client.post("/explain", json={**ask}), 422)
    problem(client.post("/explain", json={**ask, "id": "zzz"}), 409)


def test_two_pipelines_side_by_side(client):
    body = {"text": "key gauge", "a": {"pipeline": "bm25", "k": 1}, "b": {"pipeline": "bm25", "k": 2}}
    found = client.post("/compare", json=body).json()
    ids = {side: [hit["id"] for hit in found[side]["hits"]] for side in "ab"}
    assert found["common"] == ids["a"]
    assert found["only_a"] == []
    assert found["only_b"] == ids["b"][1:]
    (moved,) = found["moved"]
    assert (moved["before"], moved["after"]) == (None, 2)
    assert moved["why_before"].endswith("below the 1 asked for")


def test_a_memory_from_birth_to_oblivion(client):
    stored = client.post("/memories", json={"text": "Ada lives in Lisbon.", "scope": "user:ada", "tags": ["home"]})
    assert stored.status_code == 201
    made = stored.json()["id"]
    again = client.post("/memories", json={"text": "Ada lives in Lisbon.", "scope": "user:ada"})
    assert (again.status_code, again.json()["action"]) == (200, "skipped")
    recalled = client.post("/memories/recall", json={"query": "Where does Ada live?", "scope": "user:ada"}).json()
    assert [hit["memory"]["text"] for hit in recalled["hits"]] == ["Ada lives in Lisbon."]
    other = client.post("/memories/recall", json={"query": "Where does Ada live?"}).json()
    assert other["hits"] == []
    problem(client.patch(f"/memories/{made}", json={"text": "Ada lives in Porto."}), 404)
    changed = client.patch(f"/memories/{made}", json={"text": "Ada lives in Porto.", "scope": "user:ada"}).json()
    assert changed["text"] == "Ada lives in Porto."
    assert changed["tags"] == ["home"]
    states = client.get(f"/memories/{made}/history", params={"scope": "user:ada"}).json()["states"]
    assert [state["memory"]["text"] for state in states] == ["Ada lives in Lisbon.", "Ada lives in Porto."]
    listed = client.get("/memories", params={"scope": "user:ada", "tag": "home"}).json()
    assert [one["id"] for one in listed["memories"]] == [made]
    assert client.get("/memories/stats", params={"scope": "user:ada"}).json()["memories"] == 1
    assert client.delete(f"/memories/{made}", params={"scope": "user:ada"}).json()["done"]
    problem(client.get(f"/memories/{made}", params={"scope": "user:ada"}), 404)
    problem(client.delete("/memories/nope", params={"scope": "user:ada"}), 404)


def test_forgetting_by_query_asks_first(client):
    client.post("/memories", json={"text": "The blue bicycle stands in the cellar.", "scope": "user:bo"})
    ask = {"query": "bicycle", "scope": "user:bo"}
    shown = client.post("/memories/forget", json=ask).json()
    assert not shown["done"]
    assert client.post("/memories/forget", json={**ask, "confirm": shown["token"]}).json()["done"]
    problem(client.post("/memories/forget", json={}), 422)


def test_secrets_are_refused_by_the_memory(client):
    answer = client.post("/memories", json={"text": "The token is ghp_" + "a1" * 20})
    assert answer.json()["action"] == "refused"


def test_records_are_added_replaced_and_removed(client, kb):
    record = {"id": "tides", "text": "Read the tide table before the ferry leaves.", "port": "north"}
    added = client.post("/documents", json={"records": [record]})
    assert (added.status_code, added.json()["added"]) == (201, 1)
    assert client.post("/documents", json={"records": [record]}).json()["unchanged"] == 1
    found = client.post("/search", json={"text": "ferry", "where": 'port = "north"'}).json()
    assert [hit["doc_id"] for hit in found["hits"]] == ["tides"]
    assert client.delete("/documents/tides").json() == {"name": "tides", "chunks": 1}
    problem(client.delete("/documents/tides"), 404)
    assert client.post("/search", json={"text": "ferry"}).json()["hits"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"records": []},
        {"records": [{}]},
        {"records": [{"text": "good"}, {"text": "bad", "created": "no date"}]},
        {"records": ["x"], "folder": "memories"},
        {"records": ["x"], "folder": "../up"},
    ],
)
def test_bad_records_change_nothing(client, kb, body):
    before = kb.store.version()
    problem(client.post("/documents", json=body), 422)
    assert kb.store.version() == before


@pytest.mark.parametrize("name", ["memories", "memories/x", "records", ""])
def test_folders_and_memories_are_not_removed(client, name):
    assert client.delete(f"/documents/{name}").status_code in (404, 405)


def events(response):
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    blocks = [block.split("\n") for block in response.text.strip().split("\n\n")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in blocks]


def test_an_upload_reports_its_progress_and_can_be_searched(client):
    text = "# Ferry\n\nThe ferry to Skagen leaves at noon.\n"
    sent = events(client.post("/documents/upload", params={"name": "ferry.md"}, content=text.encode()))
    assert sent[0] == ("received", {"name": "ferry.md", "bytes": len(text)})
    assert ("progress", {"name": "uploads/ferry.md", "done": 1, "total": 1, "chunks": 1}) in sent
    assert {data["name"] for event, data in sent if event == "progress"} == {"uploads/ferry.md"}
    assert sent[-1][0] == "done"
    assert sent[-1][1]["added"] == 1
    found = client.post("/search", json={"text": "Skagen"}).json()["hits"][0]
    assert (found["doc_id"], found["title"]) == ("uploads/ferry.md", "Ferry")
    later = events(client.post("/documents/upload", params={"name": "ferry.md"}, content=b"# Ferry\n\nAt two now.\n"))
    assert later[-1][1]["changed"] == 1
    assert client.post("/search", json={"text": "Skagen"}).json()["hits"] == []


def test_an_upload_says_under_which_name_it_is_found_and_removed(client):
    sent = events(client.post("/documents/upload", params={"name": "tide.md"}, content=b"# Tide\n\nHigh at six.\n"))
    (name,) = [data["name"] for event, data in sent if event == "done"]
    assert name == "uploads/tide.md"
    assert client.delete(f"/documents/{name}").json()["chunks"] == 1


def test_a_document_is_read_in_the_order_of_its_text(client):
    parts = [f"## Step {number}\n\nDo the {number}th thing.\n" for number in range(12)]
    name = "steps.md"
    events(client.post("/documents/upload", params={"name": name}, content="\n".join(parts).encode()))
    read = client.get(f"/documents/uploads/{name}").json()
    assert [one["section"] for one in read["chunks"]] == [f"Step {number}" for number in range(12)]
    client.delete(f"/documents/uploads/{name}")
    rows = "text\n" + "".join(f"row number {number}\n" for number in range(12))
    events(client.post("/documents/upload", params={"name": "rows.csv"}, content=rows.encode()))
    read = client.get("/documents/uploads/rows.csv").json()
    assert [one["text"] for one in read["chunks"]] == [f"row number {number}" for number in range(12)]
    client.delete("/documents/uploads/rows.csv")


def test_requests_that_a_new_user_gets_wrong_are_told_the_cure(client):
    json_text = '{"text": "signing key"}'
    plain = problem(client.post("/search", content=json_text), 422)
    assert plain["cure"] == "send JSON, with the header Content-Type: application/json"
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl -d sends
    assert problem(client.post("/search", content=json_text, headers=form), 422)["cure"] == plain["cure"]
    cut = problem(client.post("/search", content='{"text": ', headers={"Content-Type": "application/json"}), 422)
    assert cut["detail"] == "the body is not JSON: Expecting value at character 9"
    unknown = problem(client.post("/search", json={"query": "signing key"}), 422)
    assert unknown["detail"] == "'text' is required; there is no field 'query'"
    assert unknown["cure"].startswith("this route takes: text, k, pipeline,")
    inner = problem(client.post("/compare", json={"text": "key", "a": {"name": "bm25"}, "b": {}}), 422)
    assert inner["detail"] == "there is no field 'a.name'"
    assert inner["cure"].startswith("a takes: k, pipeline")
    assert problem(client.post("/search", json={}), 422)["detail"] == "'text' is required"
    big = problem(client.post("/search", json={"text": "x" * 5_000_000}), 413)
    assert "upload" in big["cure"]


def test_an_upload_that_cannot_be_read_says_why(client):
    zipped = events(client.post("/documents/upload", params={"name": "x.zip"}, content=b"PK"))
    assert ".md" in zipped[-1][1]["problems"][0]["cure"]
    sent = events(client.post("/documents/upload", params={"name": "x.pdf"}, content=b"no pdf"))
    assert sent[-1][1]["problems"][0]["detail"].startswith("x.pdf: is something else")
    assert sent[-1][0] == "done"
    assert sent[-1][1]["problems"][0]["name"] == "x.pdf"
    for name in ("../x.md", ".hidden", "a/b.md", ".."):
        problem(client.post("/documents/upload", params={"name": name}, content=b"x"), 422)
    problem(client.post("/documents/upload", params={"name": "big.txt"}, content=b"x" * 100_001), 413)


def test_receipts_are_listed_read_and_compared(client):
    listed = client.get("/receipts").json()
    assert [one["name"] for one in listed["receipts"]] == [
        "damaged.json",
        "lab/cranfield.dev.bm25.json",
        "lab/cranfield.dev.default.json",
    ]
    assert "error" in listed["receipts"][0]
    assert listed["receipts"][1]["system"] == "bm25"
    whole = client.get("/receipts/lab/cranfield.dev.bm25.json").json()
    assert whole["digest"] == json.loads((LAB / "cranfield.dev.bm25.json").read_text())["digest"]
    broken = problem(client.get("/receipts/damaged.json"), 409)
    assert "damaged.json" in broken["detail"]  # by its name, not "a path on the server"
    assert problem(client.post("/compare/receipts", json={"receipts": ["damaged.json"] * 2}), 409)["cure"]
    problem(client.get("/receipts/../pyproject.toml"), 404)
    problem(client.get("/receipts/lab%2F..%2F..%2Fpyproject.toml"), 404)
    names = ["lab/cranfield.dev.bm25.json", "lab/cranfield.dev.default.json"]
    tested = client.post("/compare/receipts", json={"receipts": names, "metrics": ["nDCG@10"]}).json()
    assert tested["kind"] == "comparison"
    assert tested["canonical"]["baseline"] == "bm25"


def test_metrics_count_what_happened(client):
    client.post("/search", json={"text": "signing key"})
    client.post("/search", json={"text": "signing key", "pipeline": "bm25"})
    client.post("/search", json={"text": "signing key", "pipeline_toml": "[legs.bm25]\nk = 5\n"})
    text = client.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines['assay_http_requests_total{method="POST",route="/search",status="200"}']) >= 2
    assert float(lines['assay_stage_outcomes_total{kind="leg",outcome="ran",step="bm25"}']) >= 1
    assert float(lines['assay_stage_outcomes_total{kind="leg",outcome="unable",step="dense"}']) >= 1
    assert float(lines['assay_stage_outcomes_total{kind="leg",outcome="ran",step="inline"}']) >= 1
    assert float(lines['assay_stage_seconds_count{kind="leg",step="bm25"}']) >= 1
    assert float(lines["assay_pool_capacity"]) == 10


def test_models_without_a_model_say_so(client):
    assert "assay optimize --embed" in problem(client.post("/v1/embeddings", json={"input": "x"}), 409)["cure"]
    problem(client.post("/v1/rerank", json={"query": "x", "documents": ["y"]}), 409)
    problem(client.post("/v1/rerank", json={"query": "x", "documents": ["y"], "model": "../x"}), 409)
    assert client.get("/v1/models").json()["data"] == []
