"""`assay search` and `assay explain`: what a person sees, what a script reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from assay import kb
from assay.embed import default_spec

Run = Callable[..., Result]


def steady(text: str) -> str:
    """The same text whatever the machine's speed and the platform's digests."""
    return re.sub(r"[\d.,]+ ms", "T", re.sub(r"\b[0-9a-f]{8}\b", "DIGEST", text))


def test_the_plain_view_of_an_answer(run: Run, made_store: Path) -> None:
    result = run("search", "rotate the signing key", "--store", made_store, "-k", 2, "--plain", "--pipeline", "rrf")
    assert result.exit_code == 0
    assert (
        steady(result.stdout)
        == """\
  1 Signing keys › Rotation                                                    2025-03-01 · d33snci6
    handbook/keys.md
    0.5000  bm25 #1 .0164 × normalise 30.5
    Rotate the signing key every ninety days. Run `keyctl rotate`, check the audit log, and announce
    it.

  2 Signing keys › Storage                                                     2025-03-01 · mt5wemhq
    handbook/keys.md
    0.4919  bm25 #2 .0161 × normalise 30.5
    The signing key lives in JINA_API_KEY. Never commit it.

! dense skipped: this store was made without an embedding model
  cure: assay model install, then assay optimize --embed
degraded · 2 of 3 candidates from 6 chunks · rrf DIGEST · v1 · T
embed skipped → bm25 3 in T → dense skipped → fuse 3 in T
"""
    )


def test_bars_and_no_trailing_blanks(run: Run, made_store: Path) -> None:
    shown = run("search", "signing key", "--store", made_store, "--pipeline", "bm25").stdout
    assert "key ━" in shown
    assert all(line == line.rstrip() for line in shown.splitlines())
    assert "\x1b" not in shown  # a pipe gets no colours


@pytest.mark.parametrize("width", [20, 40, 72, 200])
def test_any_width_works(run: Run, made_store: Path, width: int) -> None:
    shown = run("search", "signing key", "--store", made_store, "--pipeline", "bm25", width=width).stdout
    assert "Signing keys" in shown
    assert "mt5wemhq" in shown


def test_colours_only_where_they_are_wanted(run: Run, made_store: Path) -> None:
    questions = ("search", "signing key", "--store", made_store, "--pipeline", "bm25")
    coloured = run(*questions, env={"FORCE_COLOR": "1", "TERM": "xterm-256color"}).stdout
    assert "\x1b[1;33msigning\x1b[0m" in coloured
    bare = run(*questions, env={"FORCE_COLOR": "1", "TERM": "xterm-256color", "NO_COLOR": "1"}).stdout
    assert not re.search(r"\x1b\[[\d;]*3\dm", bare)
    assert "\x1b" not in run(*questions, "--plain", env={"FORCE_COLOR": "1"}).stdout


def test_json_is_the_answer_itself(run: Run, made_store: Path) -> None:
    payload = json.loads(run("search", "signing key", "--store", made_store, "-k", 1, "--json").stdout)
    with kb.open(made_store) as base:
        whole = base.search("signing key", k=1).to_json()
    for answer in (payload, whole):
        for step in answer["trace"]:
            step["ms"] = 0
    assert payload == json.loads(json.dumps(whole))


def test_one_line_per_result_and_warnings_elsewhere(run: Run, made_store: Path) -> None:
    result = run("search", "signing key", "--store", made_store, "-q")
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [row[4] for row in rows] == ["handbook/keys.md", "handbook/keys.md", "handbook/evil.txt"]
    assert result.stderr.startswith("degraded: dense skipped: ")


def test_nothing_found_is_an_answer_that_explains_itself(run: Run, made_store: Path) -> None:
    questions = ("search", "zzz", "--store", made_store, "--pipeline", "bm25")
    result = run(*questions)
    assert result.exit_code == 0
    assert "Nothing found for “zzz”.\n  The store has 6 chunks; bm25 found 0." in result.stdout
    assert "nothing found · 0 of 0 candidates from 6 chunks" in result.stdout
    assert "error" not in result.output
    assert run(*questions, "--fail-empty").exit_code == 1
    assert run("search", "key", "--store", made_store, "--fail-empty").exit_code == 0
    hidden = run(*questions, "--where", 'title = "Kitchen"', "--at", "2024-06-01", "--scope", "team").stdout
    assert 'The filter title = "Kitchen" keeps 1 of them.' in hidden
    assert "The scope 'team' holds 1 of them." in hidden
    assert "2 of them were created after 2024-06-01 and are hidden by --at." in hidden


def test_broken_never_looks_empty(run: Run, made_store: Path, tmp_path: Path) -> None:
    result = run("search", "signing key", "--store", made_store, "--pipeline", "dense")
    assert result.exit_code == 0
    assert "no leg could run" in result.stdout
    assert "! dense skipped" in result.stdout
    assert "nothing found, degraded" in result.stdout
    empty = tmp_path / "empty"
    kb.open(empty, embedder="none").close()
    assert "This store is empty at v0; fill it: assay add" in run("search", "x", "--store", empty).stdout
    assert "This store is empty at v0;" in run("search", "x", "--store", made_store, "--snapshot", "v0").stdout
    assert "the query is empty" in run("search", "", "--store", made_store).stdout


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--where", "lang = en"], 2, "text stands in quotes"),
        (["--where", 'titel = "x"'], 2, "did you mean 'title'"),
        (["--at", "yesterday"], 2, "is not a date"),
        (["--pipeline", "defualt"], 2, "did you mean 'default'"),
        (["--pipeline", "no.toml"], 2, "cannot be read"),
        (["--snapshot", "v99"], 3, "versions v0 to v1"),
        (["--budget", "0"], 2, "--budget"),
        (["-k", "0"], 2, "assay search --help"),
        (["--nonsense"], 2, "assay search --help"),
    ],
)
def test_a_wrong_question_is_an_error_with_a_cure(
    run: Run, made_store: Path, options: list[str], code: int, said: str
) -> None:
    result = run("search", "key", "--store", made_store, *options)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stderr.startswith("error: ")
    assert "\ncure: " in result.stderr
    assert result.stdout == ""


def test_budget_and_snapshot(run: Run, store: Path, handbook: Path) -> None:
    whole = json.loads(run("search", "signing key", "--store", store, "--json").stdout)
    small = json.loads(run("search", "signing key", "--store", store, "--budget", 40, "--json").stdout)
    assert [hit["id"] for hit in small["hits"]] == [hit["id"] for hit in whole["hits"]], "the hits stay"
    assert 0 < small["context"]["tokens"] <= 40
    assert "context" not in whole
    alone = run("search", "signing key", "--store", store, "--budget", 40, "--context")
    assert alone.stdout == small["context"]["text"] + "\n"
    shown = run("search", "signing key", "--store", store, "--budget", 40, "--plain").stdout
    assert f"{small['context']['tokens']} of 40 tokens" in shown
    assert "[1] +" in shown
    assert "left out of" in shown
    first = small["context"]["sources"][0]["id"]
    said = run("explain", "signing key", "--id", first, "--store", store, "--budget", 40).stdout
    assert re.search(r"context +#1 ", said)
    assert "tokens (" in said
    for options in (["--context"], ["--context", "--budget", 40, "--json"]):
        assert run("search", "signing key", "--store", store, *options).exit_code == 2
    assert run("tag", "before", "--store", store).stdout == "before is v1\n"
    run("rm", "handbook/keys.md", "--store", store)
    assert "Signing" not in run("search", "signing key", "-q", "--store", store).stdout
    for name in ("before", "v1", "1"):
        assert "Signing" in run("search", "signing key", "-q", "--store", store, "--snapshot", name).stdout


def test_a_column_with_a_blank_in_its_name_can_be_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("First Name,text\nAda,keeps the vault\nBob,guards the vault\n")
    run("add", tmp_path / "people.csv", "--store", tmp_path / "kb", "--embedder", "none")
    found = run("search", "vault", "--store", tmp_path / "kb", "--where", '`First Name` = "Ada"', "--json")
    assert [hit["meta"]["First Name"] for hit in json.loads(found.stdout)["hits"]] == ["Ada"]
    slip = run("search", "vault", "--store", tmp_path / "kb", "--where", '`First Nam` = "Ada"')
    assert "did you mean '`First Name`'?" in slip.stderr


def test_the_clock_is_read_at_the_edge(run: Run, made_store: Path) -> None:
    payload = json.loads(run("search", "key", "--store", made_store, "--at", "now", "--json").stdout)
    assert payload["query"]["at"] > 1_700_000_000
    payload = json.loads(run("search", "key", "--store", made_store, "--at", "2025-01-01", "--json").stdout)
    assert payload["query"]["at"] == 1_735_689_600.0
    assert "handbook/keys.md" not in {hit["doc_id"] for hit in payload["hits"]}


def test_which_store(run: Run, made_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("--store", made_store, "search", "key", "-q").exit_code == 0
    assert run("search", "key", "-q", env={"ASSAY_STORE": str(made_store)}).exit_code == 0
    assert run("--store", tmp_path / "no", "search", "key", "-q", "--store", made_store).exit_code == 0
    monkeypatch.chdir(tmp_path)
    missing = run("search", "key")
    assert missing.exit_code == 3
    assert "there is no store at .assay" in missing.stderr


def test_a_query_from_standard_input(run: Run, made_store: Path) -> None:
    result = run("search", "-", "-q", "--store", made_store, input=b"kitchen \xff\xfe")
    assert "Kitchen" in result.stdout


def test_explain_a_result(run: Run, made_store: Path) -> None:
    shown = run("explain", "signing key", "--id", "mt5w", "--store", made_store, "--plain", "--pipeline", "rrf").stdout
    assert shown.startswith("Signing keys › Storage\nhandbook/keys.md · mt5wemhq")
    assert re.search(r"Rank \d of 3 results, score 0\.\d{4}\.", shown)
    assert re.search(r"bm25 +#\d +\d\.\d{4} +key [\d.]+ \+ sign [\d.]+", shown)
    assert "skipped: this store was made without an embedding model" in shown
    assert re.search(r"normalise +× 30\.5 +=", shown)


def test_explain_an_absence(run: Run, made_store: Path) -> None:
    with kb.open(made_store) as base:
        (kitchen,) = (chunk.id for chunk in base.chunks('title = "Kitchen"'))
    shown = run("explain", "signing key", "--id", kitchen, "--store", made_store).stdout
    assert "Not in the answer, which has 3 results." in shown
    assert "• bm25 finds nothing of the query in it" in shown
    payload = json.loads(
        run("explain", "kitchen", "--id", kitchen, "--where", 'title = "x"', "--store", made_store, "--json").stdout
    )
    assert (payload["id"], payload["rank"], payload["hit"]) == (kitchen, None, None)
    assert payload["reasons"] == ['the filter hides it: title = "x"']
    hidden = run("explain", "kitchen", "--id", kitchen, "--scope", "team", "--store", made_store).stdout
    assert "• it is not in the scope 'team'" in hidden
    with kb.open(made_store) as base:
        last = [hit.id for hit in base.search("signing key", pipeline="bm25") if hit.title == "Signing keys"][-1]
    questions = ("explain", "signing key", "--id", last, "-k", 1, "--store", made_store, "--at")
    assert "• it was created after the moment asked about (--at)" in run(*questions, "2025-02-28").stdout
    on_the_day = run(*questions, "2025-03-01").stdout
    assert "• it is in the ranking, below the 1 that were asked for" in on_the_day
    assert "created after" not in on_the_day
    found = json.loads(run("explain", "kitchen", "--id", kitchen, "--store", made_store, "--json").stdout)
    assert found["rank"] == found["hit"]["rank"] == 1
    assert found["reasons"] == []


def test_a_step_may_be_called_like_a_leg(run: Run, made_store: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "p.toml"
    legs = "[legs.exact]\n[legs.bm25]\n[fuse]\nuse = 'rrf'\n"
    pipeline.write_text(f"{legs}[[step]]\nuse = 'importance'\nname = 'exact'\n[[step]]\nuse = 'top_k'\nk = 1\n")
    with kb.open(made_store) as base:
        last = base.search("signing key", pipeline="bm25")[-1].id
    shown = run("explain", "signing key", "--id", last, "--store", made_store, "--pipeline", pipeline).stdout
    assert "• exact finds nothing of the query in it" in shown


def test_explain_needs_one_chunk(run: Run, made_store: Path) -> None:
    for beginning, payload in (("zzzz", "no chunk of v1 has the id"), ("", "6 chunks begin with")):
        result = run("explain", "x", "--id", beginning, "--store", made_store)
        assert result.exit_code == 3
        assert payload in result.stderr


@pytest.mark.skipif(default_spec() == "none", reason="the embedding model is not installed")
def test_with_the_real_model(run: Run, handbook: Path, tmp_path: Path) -> None:
    assert "· minilm" in run("add", handbook, "--store", tmp_path / "kb").stdout
    shown = run(
        "search", "how do I change our secrets?", "-k", 1, "--pipeline", "rrf", "--store", tmp_path / "kb"
    ).stdout
    assert "Signing keys" in shown.splitlines()[0]
    assert "dense #1 ━━━━━━━━ .0164" in shown
    assert "\nanswered · 1 of " in shown
    assert re.search(r"embed [\d.,]+ ms → bm25 \d in", shown)


def test_another_order(run: Run, made_store: Path) -> None:
    def dates(*options: str) -> list[float]:
        payload = json.loads(run("search", "signing kitchen Bob", "--store", made_store, "--json", *options).stdout)
        return [-1.0 if hit["created"] is None else hit["created"] for hit in payload["hits"]]

    newest = dates("--sort", "recency")
    assert sorted(newest, reverse=True) == newest  # undated ones last
    assert len(set(newest)) == 3
    assert sorted(dates(), reverse=True) != dates()
    assert run("search", "x", "--store", made_store, "--sort", "size").exit_code == 2


def test_the_graph_explains_itself(run: Run, made_store: Path) -> None:
    shown = run("search", "JINA_API_KEY", "--store", made_store, "--pipeline", "weighted", "--json")
    legs = {one["leg"]: one for one in json.loads(shown.stdout)["legs"]}
    assert legs.keys() == {"bm25", "dense", "graph"}
    assert legs["dense"] == {"leg": "dense", "found": 0, "chosen": 0, "alone": 0}


def test_nonsense_is_said_to_be_impossible_and_withheld_on_request(run: Run, made_store: Path) -> None:
    options = ("--store", made_store, "--plain", "--pipeline", "bm25")
    shown = run("search", "zorbflax quimble", *options).stdout
    assert "impossible (out of scope): the store does not know 'zorbflax', 'quimble'" in shown
    unknown = ("search", "Which signing key has TKT-777777?", *options)
    assert "Signing keys" in run(*unknown).stdout
    withheld = run(*unknown, "--abstain").stdout
    assert "results withheld" in withheld
    assert "Signing keys" not in withheld
    assert "impossible" not in run("search", "signing key", *options).stdout
    quiet = run(*unknown, "-q")
    assert "impossible: out_of_scope: the store does not know 'TKT-777777'" in quiet.stderr


def test_a_pipeline_may_abstain(run: Run, made_store: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "silent.toml"
    pipeline.write_text("abstain = true\n[legs.bm25]\n", "utf-8")
    asked = ("search", "Which signing key has TKT-777777?", "--store", made_store, "--json", "--pipeline", pipeline)
    answer = json.loads(run(*asked).stdout)
    assert (answer["status"]["word"], answer["hits"]) == ("abstained", [])
    assert answer["trace"][-1]["notes"][0]["ids"]
    assert json.loads(run(*asked, "--no-abstain").stdout)["hits"]
