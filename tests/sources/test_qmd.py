"""QMD by its command line and over HTTP, against a real program and a real server that speak as it does."""

import json
import os
import time
from pathlib import Path

import pytest

from assay.config import from_dict, to_config
from assay.deadlines import Deadlines
from assay.errors import ConfigError, StoreError
from assay.sources.qmd import Qmd
from assay.sources.qmd_http import QmdHttp
from assay.sources.qmd_rows import one_line
from assay.testing.contracts import check_source
from assay.testing.sample import sample_snapshot
from assay.types import Query
from assay.where import parse

KEY = Query("signing key")
FILES = ["qmd://notes/keys.md", "qmd://notes/zeta.md", "qmd://notes/alpha.md"]


def ask(source, query=KEY, k=20):
    return source.find(query, sample_snapshot(), k)


def pipeline(source, **plan):
    return from_dict({"legs": {"second": {"source": source, **plan}}})


def test_flags_fields_and_order(qmd, tmp_path):
    found = ask(Qmd("notes", "search", qmd()))
    assert found.ids.tolist() == FILES, "equal scores keep QMD's order"
    assert found.score.tolist() == [0.9, 0.52, 0.52]
    first = found.chunks[0]
    assert (first.text, first.doc_id, first.title) == ("rotate the key", "qmd://notes/keys.md", "Keys")
    assert first.meta["docid"] == "#aaaaaa"
    assert ask(Qmd(mode="vsearch", command=qmd(), id="docid"), k=2).ids.tolist() == ["#aaaaaa", "#bbbbbb"]
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    assert calls == [
        ["search", "signing key", "-n", "20", "--json", "-c", "notes"],
        ["vsearch", "signing key", "-n", "2", "--json"],
    ]


def test_contracts(qmd, server):
    check_source(Qmd("notes", "search", qmd()))
    check_source(QmdHttp("notes", "query", server.url))


def test_a_question_is_one_line_and_never_an_option():
    assert one_line("what\nis  this\0?") == "what is this ?"
    assert one_line("--help") == " --help"
    assert one_line("  ") == ""


@pytest.mark.parametrize(
    ("how", "said"),
    [("crash", "ended with 3: Error: no such collection"), ("bad", "printed no JSON")],
)
def test_a_broken_program_says_how(qmd, how, said):
    with pytest.raises(StoreError, match=said):
        ask(Qmd(command=qmd(how)))


def test_progress_before_the_json_is_passed_over(qmd):
    assert ask(Qmd(command=qmd("noisy"))).ids.tolist() == FILES


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({}, "no list"),
        ([3], "has no 'file'"),
        ([{"file": "a"}], "no score"),
        ([{"file": "a", "score": True}], "no score"),
    ],
)
def test_rows_that_are_none(qmd, rows, said):
    with pytest.raises(StoreError, match=said):
        ask(Qmd(command=qmd(rows=rows)))


def test_a_missing_program_is_a_recorded_skip_or_an_error():
    source = {"use": "qmd", "command": "/nowhere/qmd"}
    open_ = pipeline(source).run(KEY, sample_snapshot())
    assert open_.verdict.degraded[0].startswith("second skipped: /nowhere/qmd cannot be run")
    assert open_.trace[0].fate == "failed"
    with pytest.raises(StoreError, match="cannot be run"):
        pipeline(source, required=True).run(KEY, sample_snapshot())


def test_an_empty_question_asks_nobody(qmd, tmp_path):
    assert len(ask(Qmd(command=qmd()), Query(" "))) == 0
    assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize("query", [Query("x", where=parse('lang = "en"')), Query("x", scope="me"), Query("x", at=5.0)])
def test_a_filter_it_cannot_apply_is_never_dropped(qmd, server, query):
    for source in (Qmd(command=qmd()), QmdHttp(url=server.url)):
        with pytest.raises(StoreError, match="cannot filter"):
            ask(source, query)
    assert server.asked == []


def test_past_its_cap_the_program_is_killed(qmd, tmp_path):
    slow = pipeline({"use": "qmd", "command": qmd("slow")}, cap_ms=2000.0)
    with Deadlines(time.monotonic) as keeper:
        answer = slow.run(KEY, sample_snapshot(), clock=time.monotonic, asker=keeper.query(slow.digest, None))
        (span,) = answer.trace
        assert span.fate == "out_of_time"
        assert "cancelled after" in span.skipped
        assert span.ms >= 2000.0, "the skip is recorded with what it cost"
        assert keeper.under_way == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path(f"{tmp_path / 'calls'}.pid").read_text()), 0)


def test_http_sends_what_the_server_takes(server):
    found = ask(QmdHttp("notes", "query", server.url), k=2)
    assert found.ids.tolist() == FILES[:2]
    both = [{"type": "lex", "query": "signing key"}, {"type": "vec", "query": "signing key"}]
    assert server.asked == [{"path": "/query", "searches": both, "limit": 2, "collections": ["notes"]}]
    ask(QmdHttp(mode="vsearch", url=f"{server.url}/"))
    assert server.asked[1] == {"path": "/query", "searches": both[1:], "limit": 20}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("crash", "does not answer"),
        ("bad", "no JSON"),
        ("error", '500 {"error": "no such collection"}'),
        ("list", "no list"),
    ],
)
def test_a_broken_server_says_how(server, how, said):
    server.how = how
    with pytest.raises(StoreError, match=said):
        ask(QmdHttp(url=server.url))


def test_nobody_at_the_address():
    with pytest.raises(StoreError, match="does not answer") as caught:
        ask(QmdHttp(url="http://127.0.0.1:9"))
    assert caught.value.cure == "start it: qmd mcp --http"


def test_past_its_cap_the_connection_is_closed(server):
    server.how = "slow"
    slow = pipeline({"use": "qmd_http", "url": server.url}, cap_ms=300.0)
    with Deadlines(time.monotonic) as keeper:
        answer = slow.run(KEY, sample_snapshot(), asker=keeper.query(slow.digest, None))
        assert answer.trace[0].fate == "out_of_time"
        assert server.hung_up.wait(30)
        assert keeper.under_way == 0


@pytest.mark.parametrize("url", ["", "localhost:8181", "ftp://x", "http://", "http://x:99999999"])
def test_an_address_that_is_none(url):
    with pytest.raises(ConfigError, match=r"qmd_http\.url"):
        QmdHttp(url=url)


def test_config_round_trips():
    made = pipeline({"use": "qmd", "collection": "notes", "mode": "search"}, cap_ms=600, cost_ms=40, required=True)
    again = from_dict(to_config(made))
    assert again == made
    assert again.digest == made.digest
    with pytest.raises(ConfigError, match="'sreach' is not one of"):
        pipeline({"use": "qmd", "mode": "sreach"})
    with pytest.raises(ConfigError) as caught:
        pipeline({"use": "qmdd"})
    assert "did you mean 'qmd'" in caught.value.cure
    with pytest.raises(ConfigError, match=r"qmd\.command"):
        Qmd(command=" ")
