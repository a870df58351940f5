"""Any bytes as a query, anything in a document: a clear answer or a clear error, and nothing a terminal obeys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

QUERIES = [
    "",
    " ",
    "🔑",
    "x" * 100_000,
    "rotate " * 14_000,
    '"unbalanced (quote AND key',
    "C++: foo? -bar +baz ~ ^ * [a TO b]",
    "[bold]key[/bold] [link=file:///etc/passwd]x[/link]",
    "\x1b]0;owned\x07\x1b[2J key",
    "\udcff\ud800 key",
    "\u202eyek\u202c מפתח חתימה",
    "'; DROP TABLE chunk; --",
    "%s %(x)s {0} {} \\",
    "--key",
]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_any_query_is_answered(run: Run, made_store: Path, query: str) -> None:
    for options in ([], ["--json"], ["-q"], ["--pipeline", "bm25"]):
        result = run("search", *options, "--store", made_store, "--", query)
        assert result.exit_code == 0, result.output[-500:]
        assert "\x1b" not in result.output
        assert "\x07" not in result.output
        if options == ["--json"]:
            assert json.loads(result.stdout)["status"]["found"] >= 0


def test_documents_do_not_reach_the_terminal(run: Run, made_store: Path) -> None:
    for command in (
        ["search", "evil signing"],
        ["search", "evil signing", "--json"],
        ["search", "evil signing", "-q"],
        ["ls", "-v"],
        ["ls", "-v", "--json"],
        ["export"],
    ):
        shown = run(*command, "--store", made_store).stdout
        assert "evil" in shown
        assert not set("\x1b\x07\x9b\u202e\r") & set(shown), command
    shown = run("search", "evil markup", "--store", made_store).stdout
    assert "[bold]markup[/bold]" in shown
    assert "␛[31mred" in shown


def test_hostile_names_everywhere(run: Run, handbook: Path, tmp_path: Path) -> None:
    name = "[red]\x1b[31mx\u202e.md"
    (handbook / name).write_text("# [blink]T\x1b[5m\nvault key")
    (handbook / "\x1b[2Jbad.docx").write_bytes(b"no")
    outputs = [run("add", handbook, "--store", tmp_path / "kb", "--embedder", "none")]
    outputs += [run(*command, "--store", tmp_path / "kb") for command in (["ls", "-v"], ["search", "vault"], ["stats"])]
    outputs.append(run("rm", f"handbook/{name}", "--store", tmp_path / "kb"))
    for result in outputs:
        assert not set("\x1b\u202e") & set(result.output)
    assert "1 chunk" in outputs[-1].stdout
    missing = run("rm", "\x1b[31m", "--store", tmp_path / "kb")
    assert missing.exit_code == 3
    assert "\x1b" not in missing.stderr


@pytest.mark.parametrize("argument", [b"\xff\xfe key \x80", b"kitchen\xc3"])
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_bytes_that_are_no_text(made_store: Path, argument: bytes, locale: str) -> None:
    """The shell hands over bytes; what no encoding knows is no reason to fail."""
    command = [
        os.fsencode(sys.executable),
        b"-m",
        b"assay.cli",
        b"search",
        argument,
        b"--store",
        os.fsencode(made_store),
    ]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "LC_ALL": locale}, check=False)
    assert done.returncode == 0, done.stderr
    assert b"from 6 chunks" in done.stdout


def test_a_terminal_without_unicode(made_store: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "assay.cli", "search", "signing key", "--store", str(made_store)]
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Signing keys ? Rotation" in done.stdout
    done = subprocess.run([*command, "--json", "--pipeline", "bm25"], capture_output=True, env=env, check=True)
    assert json.loads(done.stdout)["status"]["word"] == "answered"
