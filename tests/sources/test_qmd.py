"""QMD by its command line and over HTTP, against a real program and a real server that speak as it does."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.config.load import from_dict, to_config
from assay.engine.deadline_executor import Deadlines
from assay.errors import ConfigError, StoreError
from assay.sources import qmd as program
from assay.sources import qmd_http as http_server
from assay.sources.qmd import Qmd
from assay.sources.qmd_http import QmdHttp
from assay.sources.qmd_rows import one_line, stem
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
    [
        ("crash", "ended with 3: Error: no such collection"),
        ("killed", "ended with -9: it says nothing"),
        ("bad", "printed no JSON: 'Loading model ...'"),
        ("rubbish", "printed no JSON"),
        ("bytes", "printed no JSON"),
        ("endless", "printed more than 8,000,000 bytes"),
    ],
)
def test_a_broken_program_says_how(qmd, how, said):
    with pytest.raises(StoreError, match=said):
        ask(Qmd(command=qmd(how)))


def test_a_collection_that_is_none(qmd):
    with pytest.raises(StoreError, match="ended with 1: Collection not found: nots"):
        ask(Qmd("nots", command=qmd()))


def test_a_child_that_lives_on_holds_nobody_up(qmd, tmp_path):
    """It inherits the pipes, so their end never comes."""
    try:
        assert ask(Qmd(command=qmd("orphan"))).ids.tolist() == FILES
    finally:
        os.kill(int(Path(f"{tmp_path / 'calls'}.pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("how", ["slow", "deaf"])
def test_without_a_cap_a_program_that_hangs_is_ended_all_the_same(qmd, tmp_path, monkeypatch, how):
    monkeypatch.setattr(program, "TIMEOUT_S", 1.0)
    with pytest.raises(StoreError, match="did not end within 1 s"):
        ask(Qmd(command=qmd(how)))
    assert gone(tmp_path)


def gone(tmp_path):
    """Has the process that wrote its number ended? One that nobody has waited for yet has, too."""
    number = Path(f"{tmp_path / 'calls'}.pid")
    state = Path("/proc") / (number.read_text() if number.exists() else "") / "stat"
    while state != Path("/proc/stat") and state.exists() and " Z " not in state.read_text():
        time.sleep(0.01)
    return True


def test_progress_before_the_json_is_passed_over(qmd):
    assert ask(Qmd(command=qmd("noisy"))).ids.tolist() == FILES


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({}, "no list"),
        ([3], "has no 'file'"),
        ([{"file": "", "score": 1}], "has no 'file'"),
        ([{"file": "a", "score": 10**400}], "no score"),
        ([{"file": "a", "score": float("nan")}], "no score"),
        ([{"file": "a"}], "no score"),
        ([{"file": "a", "score": True}], "no score"),
    ],
)
def test_rows_that_are_none(qmd, rows, said):
    with pytest.raises(StoreError, match=said):
        ask(Qmd(command=qmd(rows=rows)))


def test_a_missing_program_is_a_recorded_skip_or_an_error(tmp_path):
    (tmp_path / "no program").write_text("")
    for command in ("/nowhere/qmd", str(tmp_path), str(tmp_path / "no program")):
        source = {"use": "qmd", "command": command}
        open_ = pipeline(source).run(KEY, sample_snapshot())
        assert open_.status.degraded[0].startswith(f"second skipped: {command} cannot be run")
        assert "; cure: install QMD" in open_.status.degraded[0]
        assert open_.trace[0].outcome == "failed"
        with pytest.raises(StoreError, match="cannot be run"):
            pipeline(source, required=True).run(KEY, sample_snapshot())


def test_a_question_that_no_program_takes(qmd):
    with pytest.raises(StoreError, match="cannot be run"):
        ask(Qmd(command=qmd()), Query("a lone \ud800 surrogate"))


def test_a_document_may_be_the_files_stem(qmd, server):
    for source in (Qmd(command=qmd(), doc="stem"), QmdHttp(url=server.url, doc="stem")):
        assert [chunk.doc_id for chunk in ask(source).chunks] == ["keys", "zeta", "alpha"]
    assert stem("qmd://notes/2024/s1.md?index=work") == "s1"
    assert stem("notes/s1.txt") == "s1"
    assert stem("qmd://notes") == "qmd://notes"


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
    with Deadlines(time.monotonic) as deadlines:
        answer = slow.run(KEY, sample_snapshot(), clock=time.monotonic, executor=deadlines.executor(slow.digest, None))
        (span,) = answer.trace
        assert span.outcome == "out_of_time"
        assert "cancelled after" in span.skipped
        assert span.ms >= 2000.0, "the skip is recorded with what it cost"
        assert deadlines.late_jobs == 0
    assert gone(tmp_path)


ASKS = """
import signal, sys, time
from assay.config.load import from_dict
from assay.engine.deadline_executor import Deadlines
from assay.testing.sample import sample_snapshot
from assay.types import Query

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
pipeline = from_dict({"legs": {"second": {"source": {"use": "qmd", "command": sys.argv[1]}, **eval(sys.argv[2])}}})
pipeline.run(Query("x"), sample_snapshot(), executor=Deadlines(time.monotonic).executor("p", None))
"""


@pytest.mark.parametrize("plan", [{}, {"cap_ms": 600_000.0}], ids=["without a cap", "under a cap"])
def test_ctrl_c_ends_the_program_too(qmd, tmp_path, plan):
    """It runs in a session of its own, so the terminal's Ctrl-C does not reach it."""
    command = [sys.executable, "-c", ASKS, qmd("slow"), repr(plan)]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env={"PYTHONPATH": ":".join(sys.path), "ASSAY_ALLOW": "program:*"}
    ) as asking:
        number = Path(f"{tmp_path / 'calls'}.pid")
        while not (number.exists() and number.read_text()):
            assert asking.poll() is None
            time.sleep(0.01)
        asking.send_signal(signal.SIGINT)
        said = asking.communicate()[1]
    assert b"KeyboardInterrupt" in said
    assert gone(tmp_path)


def test_past_its_cap_a_program_inside_a_leg_is_killed_with_its_children(qmd, tmp_path):
    """A first stage of two searches: the one that runs is ended, the next is not begun."""
    inner = {"one": {"source": {"use": "qmd", "command": qmd("orphaned slow")}}, "two": {"source": {"use": "qmd"}}}
    slow = from_dict({"legs": {"first": {"legs": inner, "fuse": {"use": "rrf"}, "cap_ms": 2000.0}}})
    with Deadlines(time.monotonic) as deadlines:
        answer = slow.run(KEY, sample_snapshot(), executor=deadlines.executor(slow.digest, None))
        assert answer.trace[0].outcome == "out_of_time"
        assert deadlines.late_jobs == 0
    assert gone(tmp_path)
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


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


def test_a_server_that_says_too_much(server, monkeypatch):
    monkeypatch.setattr(http_server, "MOST_BYTES", 10)
    with pytest.raises(StoreError, match="answered with more than 10 bytes"):
        ask(QmdHttp(url=server.url))


def test_nobody_at_the_address():
    with pytest.raises(StoreError, match="does not answer") as caught:
        ask(QmdHttp(url="http://127.0.0.1:9"))
    assert caught.value.cure == "start it: qmd mcp --http"


def test_a_name_that_no_address_can_have():
    with pytest.raises(StoreError, match="does not answer"):
        ask(QmdHttp(url=f"http://{'x' * 70}.example"))


def test_without_a_cap_a_server_that_never_ends_is_hung_up_on(server, monkeypatch):
    monkeypatch.setattr(http_server, "TIMEOUT_S", 0.5)
    server.how = "trickle"
    with pytest.raises(StoreError, match="took too long, and was hung up on"):
        ask(QmdHttp(url=server.url))
    assert server.hung_up.wait(30)


def test_a_connection_that_was_closed_under_it_may_end_in_an_error(server, monkeypatch):
    """A server that writes at that moment makes a reset of it."""
    request = QmdHttp(url=server.url).begin(KEY, sample_snapshot(), 2)

    def reset(*_: object) -> bytes:
        request.cancel()
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(http.client.HTTPResponse, "read", reset)
    with pytest.raises(StoreError, match="took too long, and was hung up on"):
        request.result()


def test_a_password_stays_out_of_pipelines():
    with pytest.raises(ConfigError, match="holds a password") as caught:
        QmdHttp(url="http://me:secret@localhost:8181")
    assert "secret" not in str(caught.value)


def test_past_its_cap_the_connection_is_closed(server):
    server.how = "slow"
    slow = pipeline({"use": "qmd_http", "url": server.url}, cap_ms=300.0)
    with Deadlines(time.monotonic) as deadlines:
        answer = slow.run(KEY, sample_snapshot(), executor=deadlines.executor(slow.digest, None))
        assert answer.trace[0].outcome == "out_of_time"
        assert server.hung_up.wait(30)
        assert deadlines.late_jobs == 0


@pytest.mark.parametrize("url", ["", "localhost:8181", "ftp://x", "http://", "http://x:99999999"])
def test_an_address_that_is_none(url):
    with pytest.raises(ConfigError, match=r"qmd_http\.url"):
        QmdHttp(url=url)


def test_config_round_trips():
    made = pipeline({"use": "qmd", "collection": "notes", "mode": "search"}, cap_ms=600, cost_ms=40, required=True)
    again = from_dict(to_config(made))
    assert again == made
    assert again.digest == made.digest
    with pytest.raises(ConfigError, match="'sreach' is not one of its values") as caught:
        pipeline({"use": "qmd", "mode": "sreach"})
    assert "did you mean 'search'" in caught.value.cure
    with pytest.raises(ConfigError) as caught:
        pipeline({"use": "qmdd"})
    assert "did you mean 'qmd'" in caught.value.cure
    with pytest.raises(ConfigError, match=r"qmd\.command"):
        Qmd(command=" ")
