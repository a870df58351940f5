"""POST /search/hybrid and the metrics of the vector cascade: the real process on the loopback interface."""

import itertools
import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from assay.cascade.bank.index_build import Recipe, build_index
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.questions import make_questions
from assay.cascade.service import make_cascade
from assay.score.tmd_layout import LAYOUTS
from assay.serve.http.hybrid import CascadeServer, _stage_times
from tests.cascade.bank.sample_bank import bank_of, columns, unit
from tests.cascade.planted_bank import open_planted, planted_folder, planted_sequences


@contextmanager
def listening(*options: str):
    made = planted_folder()
    given = ["--bank", made / "bank.npz", "--index", made / "index", "--address", "127.0.0.1:0", *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.cli", "serve-hybrid", *map(str, given)], stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        yield found[0], process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def server():
    made = planted_folder()
    # Quiet: nobody reads its log here, and a pipe that is full would stop it.
    given = ("--quiet", "--model", str(made / "lvm"), "--val", str(made / "sequences.npz"))
    with listening(*given) as (address, process):
        yield address, process


@pytest.fixture(scope="module")
def client(server):
    with httpx.Client(base_url=server[0], timeout=60) as found:
        yield found


@pytest.fixture(scope="module")
def planted_questions():
    return make_questions(open_planted().snapshot, planted_sequences().val, 40)


def body(question, **other):
    ask = question.request
    return {
        "query_vec": ask.vector.tolist(),
        "tmd_bits": ask.tmd_bits,
        "lane": ask.lane,
        "k0": 500,
        "k1": 50,
        "k": 10,
        "lambda_tmd": 0.7,
        "faiss": {"nprobe": 16},
        "return_fields": ["id", "score", "cos", "lvm", "tmd_bits", "lane"],
        "context_ids": list(ask.context_ids),
        "exclude_ids": list(ask.exclude_ids),
        **other,
    }


def test_the_request_and_the_response_of_the_specification(client, planted_questions):
    found = client.post("/search/hybrid", json=body(planted_questions[0]))
    assert found.status_code == 200, found.text
    payload = found.json()
    assert list(payload) == ["model_version", "index_version", "k0", "k1", "k", "results", "telemetry"]
    assert payload["model_version"] == "ridge_32_ctx4"
    assert payload["index_version"].endswith("_ivf_flat64")
    assert (payload["k0"], payload["k1"], payload["k"]) == (500, 50, 10)
    stages = ["faiss_ms", "lvm_ms", "tmd_ms", "total_ms"]
    assert list(payload["telemetry"]) == [*stages, "nprobe", "nprobe_used"]
    assert all(value > 0.0 for value in payload["telemetry"].values())
    assert len(payload["results"]) == 10
    assert list(payload["results"][0]) == ["id", "score", "cos", "lvm", "tmd_bits", "lane"]


def test_it_is_the_answer_of_the_library(client, planted_questions):
    for question in planted_questions[:5]:
        payload = client.post("/search/hybrid", json=body(question)).json()["results"]
        answer = open_planted().search(question.request)
        assert [str(one["id"]) for one in payload] == answer.chosen.ids.tolist()
        assert [one["score"] for one in payload] == answer.chosen.score.tolist()
        bank = open_planted().snapshot.bank
        for one in payload:
            row = int(bank.rows(np.array([one["id"]]))[0])
            assert (one["tmd_bits"], one["lane"]) == (int(bank.tmd_bits[row]), int(bank.lanes[row]))
            assert one["cos"] == pytest.approx(float(bank.vectors[row] @ question.request.vector), abs=1e-5)
            assert abs(one["score"] - 0.7 * one["lvm"]) <= 0.3 + 1e-9


def test_only_a_vector_is_enough(client, planted_questions):
    payload = client.post("/search/hybrid", json={"query_vec": planted_questions[0].request.vector.tolist()}).json()
    assert (payload["k0"], payload["k1"], payload["k"]) == (500, 50, 10)
    assert payload["degraded"] == ["tmd: the query has no code and no lane; cure: give tmd_bits or lane"]
    assert list(payload["results"][0]) == ["id", "score", "lvm", "cos", "tmd_bits", "lane"]


def test_return_fields_are_honoured(client, planted_questions):
    payload = client.post("/search/hybrid", json=body(planted_questions[0], return_fields=["lane", "id"])).json()
    assert [list(one) for one in payload["results"]] == [["lane", "id"]] * 10


def test_the_specifications_example_of_a_lane_that_fits_no_layout(client, planted_questions):
    assert client.post("/search/hybrid", json=body(planted_questions[0], tmd_bits=1234, lane=9)).status_code == 200


def test_whole_numbers_are_numbers(client):
    found = client.post("/search/hybrid", content=json.dumps({"query_vec": [1] + [0] * 31}))
    assert found.status_code == 200, found.text


def test_a_context_of_thousands_is_read_at_its_new_end(client, planted_questions):
    question = next(one for one in planted_questions if len(one.request.context_ids) == 4)
    every = open_planted().snapshot.bank.ids.tolist()
    long, short = (
        client.post("/search/hybrid", json=body(question, context_ids=[*before, *question.request.context_ids])).json()
        for before in (every, [])
    )
    assert long["results"] == short["results"]


def test_everything_may_be_excluded(client, planted_questions):
    every = open_planted().snapshot.bank.ids.tolist()
    for left in (0, 3):
        payload = client.post(
            "/search/hybrid", json=body(planted_questions[0], exclude_ids=every[left:], tmd_bits=1)
        ).json()
        assert sorted(one["id"] for one in payload["results"]) == every[:left]


def test_fewer_is_a_prefix(client, planted_questions):
    ten, five = (client.post("/search/hybrid", json=body(planted_questions[1], k=k)).json()["results"] for k in (10, 5))
    assert five == ten[:5]


VECTOR = [1.0] + [0.0] * 31
WRONG = {
    "no vector": ({"query_vec": None}, "query_vec"),
    "a short vector": ({"query_vec": [1.0]}, "query_vec"),
    "a long vector": ({"query_vec": [*VECTOR, 0.0]}, "query_vec"),
    "an empty vector": ({"query_vec": []}, "query_vec"),
    "length 2": ({"query_vec": [2.0] + [0.0] * 31}, "query_vec"),
    "length 0": ({"query_vec": [0.0] * 32}, "query_vec"),
    "words": ({"query_vec": ["1.0"] + [0.0] * 31}, "query_vec"),
    "a table": ({"query_vec": [VECTOR]}, "query_vec"),
    "huge": ({"query_vec": [1e300] * 32}, "query_vec"),
    "a code of 17 bits": ({"tmd_bits": 65_536}, "tmd_bits"),
    "a negative code": ({"tmd_bits": -1}, "tmd_bits"),
    "a code in words": ({"tmd_bits": "1234"}, "tmd_bits"),
    "true for a code": ({"tmd_bits": True}, "tmd_bits"),
    "a lane of 16 bits": ({"lane": 32_768}, "lane"),
    "k of none": ({"k": 0}, "k"),
    "k above k1": ({"k": 51}, "k"),
    "k1 above k0": ({"k1": 501}, "k1"),
    "k0 below k1": ({"k0": 20, "k1": None}, "k0"),
    "half a k": ({"k": 2.5}, "k"),
    "lambda above 1": ({"lambda_tmd": 1.1}, "lambda_tmd"),
    "nprobe of none": ({"faiss": {"nprobe": 0}}, "faiss"),
    "a setting of FAISS nobody knows": ({"faiss": {"nprobe": 4, "efSearch": 9}}, "faiss"),
    "a field nobody returns": ({"return_fields": ["id", "text"]}, "return_fields"),
    "no field": ({"return_fields": []}, "return_fields"),
    "more fields than there are": ({"return_fields": ["id"] * 7}, "return_fields"),
    "a million wrong fields": ({"return_fields": ["x"] * 500_000}, "return_fields"),
    "a number in words deep in a long vector": ({"query_vec": [*[0.0] * 5_000, "x"]}, "query_vec"),
    "an id below 0": ({"exclude_ids": [-1]}, "exclude_ids"),
    "an id in words": ({"context_ids": ["1000"]}, "context_ids"),
    "faiss without nprobe": ({"faiss": {}}, "faiss"),
    "a lane below 0": ({"lane": -1}, "lane"),
    "lambda in words": ({"lambda_tmd": "0.7"}, "lambda_tmd"),
    "k beyond all measure": ({"k": 10**30}, "k"),
    "an unknown field": ({"lambda": 0.7}, "lambda"),
    "a context the bank does not hold": ({"context_ids": [1]}, "context_ids"),
    "a current id the bank does not hold": ({"exclude_ids": [1]}, "exclude_ids"),
    "an answer the bank does not hold": ({"truth_id": 1}, "truth_id"),
    "an id beyond 64 bits": ({"truth_id": 2**63}, "truth_id"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_by_its_field(client, planted_questions, case):
    other, field = WRONG[case]
    given = {
        key: value
        for key, value in body(planted_questions[0], **other).items()
        if value is not None or key == "query_vec"
    }
    found = client.post("/search/hybrid", json=given)
    assert found.status_code == 422, found.text
    (problem, *_) = found.json()["detail"]
    assert problem["loc"][:2] == ["body", field]
    assert problem["msg"]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_is_refused_by_name(client, word):
    raw = json.dumps({"query_vec": VECTOR}).replace("1.0", word)
    found = client.post("/search/hybrid", content=raw, headers={"Content-Type": "application/json"})
    assert found.status_code == 422
    assert "query_vec" in found.text or "JSON" in found.text


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"query_vec": ' + b"[" * 5000])
def test_bodies_that_are_no_request(client, raw):
    assert client.post("/search/hybrid", content=raw).status_code == 422


def test_a_body_without_end(client):
    assert client.post("/search/hybrid", content=b" " * (5 * 1024 * 1024)).status_code == 413


def test_other_ways_in_are_closed(client):
    assert client.get("/search/hybrid").status_code == 405
    assert client.get("/search").status_code == 404
    assert client.post("/metrics/latency").status_code == 405
    assert client.get("/metrics/latency", headers={"Host": "evil.example"}).status_code == 400
    assert client.get("/metrics/latency", headers={"Origin": "http://evil.example"}).status_code == 403


def test_the_held_out_evaluation(client):
    payload = client.get("/metrics/hitk_offline", params={"limit": 40}).json()
    assert payload["questions"] == 40
    assert payload["settings"] == {"k0": 500, "k1": 50, "k": 10, "lambda_tmd": 0.7, "nprobe": 16}
    assert 0.0 < payload["hit@1"] <= payload["hit@5"] <= payload["hit@10"] <= 1.0
    assert payload["hit@5"] > 0.8
    assert payload["baselines"]["oracle"]["hit@1"] == 1.0
    assert payload["baselines"]["identity"]["hit@5"] < 0.3
    assert {"total", "faiss", "lvm", "tmd"} <= set(payload["latency_ms"])
    assert payload["doubts"] == []
    asked = 40 + payload["questions_added_for_lanes"]
    assert sum(payload["not_measured"].values()) + sum(one["questions"] for one in payload["lanes"].values()) == asked
    assert payload["lanes"], "every lane that has thirty held-out questions is measured, whatever the limit"
    other = client.post("/metrics/hitk_offline", json={"limit": 40, "baselines": False}).json()
    assert other["baselines"] == {}
    assert {key: other[key] for key in ("hit@1", "hit@5", "mrr@10")} == {
        k: payload[k] for k in ("hit@1", "hit@5", "mrr@10")
    }


@pytest.mark.parametrize(
    ("given", "field"),
    [({"limit": "x"}, "limit"), ({"limit": 0}, "limit"), ({"depth": 3}, "depth"), ({"baselines": 3}, "baselines")],
)
def test_what_is_wrong_with_an_evaluation(client, given, field):
    for found in (client.get("/metrics/hitk_offline", params=given), client.post("/metrics/hitk_offline", json=given)):
        assert found.status_code == 422
        assert found.json()["detail"][0]["loc"] == ["body", field]


def test_milliseconds_by_stage(planted_questions):
    """The model's share is its own and that of the cut to k1. The clock here counts how often it is looked at."""
    looked = itertools.count()
    answer = open_planted().search(planted_questions[0].request, lambda: float(next(looked) ** 2))
    spans = {span.name: span.ms for span in answer.trace}
    assert len(set(spans.values())) == len(spans)
    assert _stage_times(answer, 5.0) == {
        "faiss": spans["ivf"],
        "lvm": spans["lvm"] + spans["k1"],
        "tmd": spans["tmd"],
        "total": 5.0,
    }


def test_rollups_and_log_lines(planted_questions):
    made = planted_folder()
    with (
        listening("--model", str(made / "lvm")) as (address, process),
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        empty = client.get("/metrics/latency").json()
        assert empty == {
            "requests": 0,
            "kept": 0,
            "stages": {s: {"p50": None, "p95": None} for s in ("faiss", "lvm", "tmd", "total")},
        }
        truth = next(iter(planted_questions[0].answers))
        for nprobe, k0 in ((16, 500), (8, 1000), (8, 200)):
            given = body(planted_questions[0], k0=k0, faiss={"nprobe": nprobe}, truth_id=truth)
            assert client.post("/search/hybrid", json=given).status_code == 200
        assert client.post("/search/hybrid", json={"query_vec": [1.0]}).status_code == 422
        lines = [json.loads(process.stderr.readline()) for _ in range(3)]
        latency, routing = (client.get(f"/metrics/{name}").json() for name in ("latency", "routing"))
        assert client.get("/metrics/hitk_offline").status_code == 409
        deep = client.post("/search/hybrid", json=body(planted_questions[0], truth_id=truth)).json()
        ranks = [one["id"] for one in deep["results"]]
        assert truth in ranks
        low = ranks[7]
        shallow = client.post("/search/hybrid", json=body(planted_questions[0], truth_id=low, k=2)).json()
        assert shallow["results"] == deep["results"][:2]
        client.post("/search/hybrid", json=body(planted_questions[0], truth_id=low, exclude_ids=[low]))
        messages = [json.loads(process.stderr.readline()) for _ in range(3)]
    assert (messages[1]["hit5"], messages[1]["rank_true"], messages[1]["k"]) == (0, 8, 2)
    assert (messages[2]["hit5"], messages[2]["rank_true"]) == (0, None)
    # 4,096 vectors in 64 lists: eight lists hold some 512, fewer than a thousand
    used = {str(line["nprobe_used"]) for line in lines}
    assert [line["nprobe"] for line in lines] == [16, 8, 8]
    assert lines[1]["nprobe_used"] > 8
    assert set(routing.pop("nprobe_used")) == used
    assert routing == {"requests": 3, "kept": 3, "nprobe": {"8": 2, "16": 1}, "k0": {"200": 1, "500": 1, "1000": 1}}
    assert latency["requests"] == 3
    assert all(stage["p95"] >= stage["p50"] > 0.0 for stage in latency["stages"].values())
    line = lines[0]
    assert {key: line[key] for key in ("model", "k0", "k1", "k", "lambda_tmd", "nprobe", "lane")} == {
        "model": "ridge_32_ctx4",
        "k0": 500,
        "k1": 50,
        "k": 10,
        "lambda_tmd": 0.7,
        "nprobe": 16,
        "lane": planted_questions[0].request.lane,
    }
    assert {"index", "faiss_ms", "lvm_ms", "tmd_ms", "total_ms", "hit5", "rank_true"} <= set(line)
    assert line["hit5"] == int(line["rank_true"] is not None and line["rank_true"] <= 5)


def test_a_twin_of_the_truth_is_the_truth_in_the_log_too(tmp_path):
    """Three vectors of the same bytes: nothing tells them apart, so the best placed of them is where the truth is."""
    vectors = unit(40, 8)
    vectors[[11, 23]] = vectors[5]
    bank = bank_of(tmp_path, 40, 8, vectors=vectors)
    index = build_index(bank, tmp_path / "index", Recipe("exact"))
    server = CascadeServer(make_cascade(BankSnapshot(bank, index)), None)
    received: list[dict] = []

    def ranked(truth: int, **other) -> tuple[int, int | None]:
        given = {"query_vec": vectors[5].tolist(), "truth_id": truth, "k0": 40, "k1": 40, **other}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("assay.serve.http.hybrid.log_request", received.append)
            server.search(json.dumps(given).encode())
        return received[-1]["hit5"], received[-1]["rank_true"]

    assert [ranked(truth) for truth in (15, 21, 33)] == [(1, 1)] * 3  # ties go to the smaller id: 15, 21, 33
    assert ranked(15, exclude_ids=[15]) == (1, 1)
    assert ranked(33, exclude_ids=[15, 21, 33]) == (0, None)


def test_many_clients_at_once_get_the_same_answers(server, planted_questions):
    from concurrent.futures import ThreadPoolExecutor

    wanted = [open_planted().search(question.request).chosen.ids.tolist() for question in planted_questions]

    def once(place: int) -> bool:
        payload = httpx.post(f"{server[0]}/search/hybrid", json=body(planted_questions[place]), timeout=60).json()
        return [str(one["id"]) for one in payload["results"]] == wanted[place]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(once, range(len(planted_questions))))


def test_a_server_that_reads_codes_in_another_layout_says_so_when_it_starts(tmp_path):
    bank = bank_of(tmp_path, 40, 8, lane_indices=LAYOUTS["wide"].lanes(columns(40)["tmd_bits"]))
    build_index(bank, tmp_path / "index", Recipe("exact"))
    given = ["--bank", bank.path, "--index", tmp_path / "index", "--address", "0"]
    command = [sys.executable, "-m", "assay.cli", "serve-hybrid", *map(str, given)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        payload = [process.stderr.readline() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
    assert payload[0].startswith("warning: the bank's lanes are those of layout wide")
    assert payload[1].startswith("listening on")


def test_sigterm_ends_it():
    with listening() as (address, process):
        assert httpx.get(f"{address}/metrics/routing", timeout=60).status_code == 200
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        assert "Traceback" not in process.stderr.read()
