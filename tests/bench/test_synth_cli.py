"""`assay bench synth` as a person runs it, and with a model behind a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assay import kb
from assay.bench.collection import from_folder
from assay.bench.synth.model_queries import QuestionWriter
from assay.bench.synth.suite import QueryKind, build_suite
from assay.cli.main import cli
from assay.errors import ModelError
from tests.bench.small_docs import write_docs


def run(*args: object) -> Result:
    return CliRunner(env={"COLUMNS": "100", "ASSAY_STORE": None}).invoke(cli, [str(a) for a in args])


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_docs(tmp_path / "docs")


def test_it_says_what_it_made_and_what_to_do_next(docs: Path) -> None:
    result = run("bench", "synth", docs, "--queries", 200)
    assert result.exit_code == 0, result.output
    assert "200 were asked for; these documents give no more" in result.output
    assert "favours bm25" in result.output
    assert "next: assay bench run docs-suite --systems bm25,dense,default" in result.output
    meta = json.loads(Path("docs-suite/meta.json").read_text())
    assert meta["counts"]["queries"] < 200
    assert str(docs.parent) not in Path("docs-suite/meta.json").read_text()


def test_a_store_serves_as_well(docs: Path, tmp_path: Path) -> None:
    with kb.open(tmp_path / "kb", embedder="none") as base:
        base.add(docs)
    assert run("bench", "synth", "--store", tmp_path / "kb", "--queries", 12, "--out", "a").exit_code == 0
    assert run("bench", "synth", docs, "--queries", 12, "--out", "b").exit_code == 0
    for name in ("corpus.jsonl", "queries.jsonl", "evidence.jsonl", "qrels/test.tsv"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()


def test_other_hash_seeds_give_the_same_bytes(docs: Path) -> None:
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-m",
            "assay.cli",
            "bench",
            "synth",
            str(docs),
            "--queries",
            "20",
            "--out",
            f"s{seed}/x",
        ]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed})
    assert Path("s1/x/meta.json").read_bytes() == Path("s2/x/meta.json").read_bytes()  # it holds every file's sha256


def test_json_is_the_meta_file(docs: Path) -> None:
    result = run("bench", "synth", docs, "--queries", 5, "--json")
    meta = json.loads(result.output)
    assert meta["counts"]["queries"] == 5
    assert meta["label"] == "synthetic"
    assert meta["folder"] == "docs-suite"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nothing"], "does not exist"),
        ([], "name one place"),
        (["docs", "--store", "kb"], "name one place"),
        (["--store", "kb"], "there is no store"),
        (["docs", "--endpoint", "http://127.0.0.1:1/v1"], "go together"),
        (["docs", "--language", "klingon"], "no stemmer"),
    ],
)
def test_mistakes_are_named(docs: Path, args: list[str], says: str) -> None:
    result = run("bench", "synth", *args)
    assert result.exit_code in (2, 3)
    assert says in result.output
    assert "cure:" in result.output


def test_an_empty_folder_is_an_error_with_a_cure(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run("bench", "synth", tmp_path / "empty")
    assert result.exit_code == 2
    assert "no document has any text" in result.output


class Chat(BaseHTTPRequestHandler):
    """Answers with a question made of the first words of the passage; counts what it is asked."""

    requests: list[dict[str, Any]]
    says: Any = ""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).requests.append(body)
        words = body["messages"][0]["content"].split("Title: ")[1].split()
        content = self.says or f"What about {' '.join(words[:8])} number {len(type(self).requests)}?"
        data = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[tuple[str, type[Chat]]]:
    handler = type("OneChat", (Chat,), {"requests": []})
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/v1", handler
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def test_a_model_writes_questions_once(server: tuple[str, type[Chat]], docs: Path, tmp_path: Path) -> None:
    url, handler = server
    writer = QuestionWriter(url, "small", tmp_path / "cache")
    kinds = {"question": QueryKind(1, writer.make, "")}
    first = build_suite(from_folder(docs), 3, kinds=kinds)
    assert [len(query.relevant) for query in first.queries["question"]] == [1, 1, 1]
    assert {(body["model"], body["temperature"]) for body in handler.requests} == {("small", 0)}
    sent = len(handler.requests)
    again = build_suite(from_folder(docs), 3, kinds=kinds)
    assert len(handler.requests) == sent
    assert again.queries == first.queries


def test_a_question_about_something_else_is_not_used(
    server: tuple[str, type[Chat]], docs: Path, tmp_path: Path
) -> None:
    url, handler = server
    handler.says = "Which planets orbit yonder purple star?"
    writer = QuestionWriter(url, "small", tmp_path / "cache")
    assert list(writer.make(build_suite(from_folder(docs), 3).index, 0)) == []


def test_a_server_that_gives_no_message_is_an_error(server: tuple[str, type[Chat]], docs: Path, tmp_path: Path) -> None:
    url, handler = server
    handler.says = {"no": "text"}
    writer = QuestionWriter(url, "small", tmp_path / "cache")
    with pytest.raises(ModelError, match="without a message"):
        build_suite(from_folder(docs), 3, kinds={"question": QueryKind(1, writer.make, "")})
    assert not (tmp_path / "cache").exists()


def test_the_command_asks_the_endpoint(
    server: tuple[str, type[Chat]], docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_HOME", str(docs.parent / "home"))
    result = run("bench", "synth", docs, "--queries", 8, "--endpoint", server[0], "--model", "small")
    assert result.exit_code == 0, result.output
    assert "question" in result.output
    assert server[1].requests
