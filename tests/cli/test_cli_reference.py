"""The references say what the code says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

import assay.errors
from assay.cli.failures import EXIT_CODES
from assay.cli.main import COMMANDS, cli
from assay.config.registry import TABLES
from tools.docs.cli_reference import cli_markdown, config_markdown, main, stale_pages

Run = Callable[..., Result]

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def test_the_generated_pages_are_in_step() -> None:
    assert stale_pages(DOCS) == [], "run: make docs"


def test_a_page_out_of_date_is_noticed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path), "--check"]) == 0
    (tmp_path / "cli.md").write_text("old")
    assert stale_pages(tmp_path) == [tmp_path / "cli.md"]
    assert main([str(tmp_path), "--check"]) == 1
    assert capsys.readouterr().out.endswith("cli.md is out of date; cure: make docs\n")


def test_every_command_and_component_is_there() -> None:
    commands, components = cli_markdown(), config_markdown()
    assert all(f"## assay {name}\n" in commands for name in COMMANDS)
    assert all(f"### {name}\n" in components for table in TABLES.values() for name in table)


def test_every_command_has_help(run: Run) -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        assert command.help
        first = command.help.partition("\n")[0]
        assert len(first) <= 62, f"{name}: its first line is cut off in `assay --help`"
        result = run(name, "--help")
        assert result.exit_code == 0
    assert "..." not in run("--help").stdout.replace("[ARGS]...", "")


def test_every_error_has_a_documented_exit_code() -> None:
    kinds = [
        kind
        for kind in vars(assay.errors).values()
        if isinstance(kind, type) and issubclass(kind, assay.errors.AssayError)
    ]
    assert {kind.exit_code for kind in kinds} <= set(EXIT_CODES)


def test_the_answer_is_as_documented(run: Run, made_store: Path) -> None:
    schema = json.loads(re.search(r"```json\n(.*?)```", (DOCS / "answer.md").read_text("utf-8"), re.S)[1])
    for options in ([], ["--pipeline", "weighted", "--where", 'lang = "en"'], ["--at", "now", "--budget", 20]):
        for query in ("signing key", "zzz", ""):
            payload = json.loads(run("search", query, *options, "--json", "--store", made_store).stdout)
            conform(payload, schema, "answer")


def test_the_schema_check_can_fail(run: Run, made_store: Path) -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": ["integer", "null"]}}}
    conform({"a": None}, schema, "")
    for wrong in ({}, {"a": 1.5}, {"a": 1, "b": 2}, []):
        with pytest.raises(AssertionError):
            conform(wrong, schema, "")


def conform(value: Any, schema: dict[str, Any], where: str) -> None:
    """The few words of JSON Schema that answer.md uses; keys it does not name are undocumented, so they fail."""
    if "enum" in schema:
        assert value in schema["enum"], where
        return
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    known = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "null": type(None)}
    assert any(isinstance(value, known[kind]) and not isinstance(value, bool) for kind in kinds), f"{where}: {value!r}"
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema["required"]) <= set(value) <= set(schema["properties"]), where
        assert set(schema["properties"]) - set(schema["required"]) <= {"context", "data"}, (
            "only a context and data may be absent"
        )
        for key, inner in value.items():
            conform(inner, schema["properties"][key], f"{where}.{key}")
    if isinstance(value, list):
        for place, inner in enumerate(value):
            conform(inner, schema["items"], f"{where}[{place}]")
