"""Receipts of strangers: replaying one starts nothing, contacts nobody and reads no variable without permission."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.receipt import Receipt, compute_digest, read
from assay.bench.replay import replay, replay_all
from assay.bench.runner import RunPlan
from assay.bench.systems import load_systems
from assay.bench.workspace import IndexSettings, prepare
from tests.bench.datasets.dataset_folder import write


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Receipt:
    cache = tmp_path_factory.mktemp("cache")
    found = load("tiny")
    with prepare(found, IndexSettings(embedder="none"), cache=cache) as workspace:
        result = lab.run(found, load_systems(["bm25"]), workspace, RunPlan(("nDCG@10",)))
    return result.receipts["bm25"]


def test_an_older_receipt_that_calls_unlabelled_judgements_human_still_replays(tmp_path: Path) -> None:
    folder = write(tmp_path / "plain")  # says nothing about who judged
    found = load(str(folder), "test")
    with prepare(found, IndexSettings(embedder="none"), cache=tmp_path / "cache") as workspace:
        new = lab.run(found, load_systems(["bm25"]), workspace, RunPlan(("nDCG@10",))).receipts["bm25"]
    assert new.canonical["dataset"]["label"] == "unstated"
    old = replace(new, canonical={**new.canonical, "dataset": {**new.canonical["dataset"], "label": "human"}})
    for receipt in (new, old):
        assert replay(receipt, str(folder)).same
    wrong = replace(new, canonical={**new.canonical, "dataset": {**new.canonical["dataset"], "label": "weak"}})
    assert not replay(wrong, str(folder)).same


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a mark when it is started."""
    path = tmp_path / "canary.sh"
    path.write_text(f"#!/bin/sh\ntouch {tmp_path / 'started'}\necho '[]'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that writes down every request."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests.append({"headers": dict(self.headers), "body": body})
            self.send_response(500)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}", requests
        listening.shutdown()


def forge(honest: Receipt, path: Path, *, spec: dict[str, Any] | None = None, **index: Any) -> Receipt:
    """A receipt with another system or index, whose digest was computed again, as anybody can."""
    content = json.loads(honest.dumps())
    canonical = content["canonical"]
    if spec is not None:
        canonical["system"]["spec"] = spec
    source = index.pop("source", None)
    canonical["index"] |= index
    if source:
        canonical["dataset"]["source"] = source
    content["digest"] = compute_digest(canonical)
    path.write_text(json.dumps(content))
    return read(path)


def hostile_specs(program: Path, url: str) -> list[dict[str, Any]]:
    qmd = {"source": {"use": "qmd", "command": str(program)}}
    http = {"source": {"use": "qmd_http", "url": url}}
    rerank = {"use": "provider_rerank", "provider": "jina_shaped", "endpoint": f"{url}/v1/rerank", "key_env": "SECRET"}
    words = {"bm25": {"norm": "ideal"}}
    return [
        {"legs": {"qmd": qmd}},
        {"legs": {"bm25": {}, "qmd": qmd}, "fuse": {"use": "rrf"}},
        {"legs": {"first": {"legs": {"bm25": {}, "qmd": qmd}, "fuse": {"use": "rrf"}}}},
        {"legs": {"http": http}},
        {"legs": words, "step": [rerank]},
        {"legs": words, "step": [{**rerank, "provider": "jina"}]},
        {"legs": {"other": {"source": {"use": "store", "path": "postgres://127.0.0.1:1/kb"}}}},
    ]


def test_hostile_receipts_do_nothing(
    honest: Receipt,
    program: Path,
    server: tuple[str, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, requests = server
    monkeypatch.setenv("SECRET", "hunter2")
    for place, spec in enumerate(hostile_specs(program, url)):
        receipt = forge(honest, tmp_path / f"{place}.json", spec=spec)
        result = replay(receipt)
        assert result.outcome == "not replayable", spec
        assert "running this receipt would" in result.details[0]
        assert "hunter2" not in result.details[0]
    assert requests == []
    assert not (tmp_path / "started").exists()


def test_a_hostile_embedder_or_dataset_does_nothing(
    honest: Receipt, server: tuple[str, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, requests = server
    monkeypatch.setenv("ASSAY_EMBED_KEY", "hunter2")
    embedder = forge(honest, tmp_path / "embedder.json", embedder=f"http:{url}/v1#m")
    download = forge(honest, tmp_path / "download.json", source="ir_datasets:beir/scifact/test")
    results = dict(replay_all({"embedder": embedder, "download": download}))
    assert "contact the host 127.0.0.1" in results["embedder"].details[0]
    assert "contact the host ir_datasets" in results["download"].details[0]
    assert requests == []


def test_what_is_allowed_runs(
    honest: Receipt,
    program: Path,
    server: tuple[str, list[dict[str, Any]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same receipts, allowed: so the tests above would notice if nothing were ever started."""
    url, requests = server
    monkeypatch.setenv("ASSAY_ALLOW", f"program:{program},host:127.0.0.1,variable:SECRET")
    monkeypatch.setenv("SECRET", "hunter2")
    specs = hostile_specs(program, url)
    replay(forge(honest, tmp_path / "0.json", spec=specs[0]))
    assert (tmp_path / "started").exists()
    replay(forge(honest, tmp_path / "4.json", spec=specs[4]))
    assert any(request["headers"].get("Authorization") == "Bearer hunter2" for request in requests)
