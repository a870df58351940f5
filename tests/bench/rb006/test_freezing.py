"""Freezing a suite: the stored one comes out again, and nothing that is tuned on, shared or half-written is frozen."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.rb006 import freezing
from assay.bench.rb006.freezing import freeze_suite, read_handwritten
from assay.bench.rb006.frozen_suite import FrozenSuite, read_suite
from assay.bench.rb006.world import world as worlds
from assay.bench.rb006.world.templates_frozen import FROZEN
from assay.cli.main import cli
from assay.errors import ConfigError

STORED = Path(freezing.__file__).parent / "suites" / "frozen.json"


@pytest.fixture
def suite() -> FrozenSuite:
    stored = read_suite("frozen")
    assert stored is not None
    return stored


@pytest.fixture
def texts(suite: FrozenSuite, tmp_path: Path) -> Path:
    path = tmp_path / "handwritten.jsonl"
    rows = [{"id": name, "text": one.text} for name, one in suite.handwritten.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_the_stored_suite_comes_out_again(
    suite: FrozenSuite, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "read_suite", lambda _: None)  # as before it was frozen
    out = tmp_path / "frozen.json"
    command = ["bench", "rb006", "freeze", str(texts), "--world", "frozen", "--seed", "2026", "--out", str(out)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    again, stored = json.loads(out.read_text("utf-8")), json.loads(STORED.read_text("utf-8"))
    assert {**again, "frozen_on": ""} == {**stored, "frozen_on": ""}
    assert suite.sha256[:12] in result.stdout


@pytest.mark.parametrize(
    ("world", "says"), [("dev", "tuned on"), ("frozen", "frozen already"), ("nobody", "no template")]
)
def test_what_cannot_be_frozen(world: str, says: str, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "suite.json"
    result = CliRunner().invoke(
        cli, ["bench", "rb006", "freeze", str(texts), "--world", world, "--seed", "7", "--out", str(out)]
    )
    assert result.exit_code == 2
    assert says in result.output
    assert not out.exists()


def test_templates_that_another_world_has_are_refused(suite: FrozenSuite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "TEMPLATE_SETS", worlds.TEMPLATE_SETS | {"fresh": replace(FROZEN, name="fresh")})
    with pytest.raises(ConfigError, match="contamination"):
        freeze_suite("fresh", suite.seed, {name: one.text for name, one in suite.handwritten.items()}, "2026-12-01")


def test_a_fifth_of_the_queries_is_written_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "read_suite", lambda _: None)
    with pytest.raises(ConfigError, match="60 hand-written queries, not 1"):
        freeze_suite("frozen", 2026, {"q001": "what about the kits?"}, "2026-12-01")


@pytest.mark.parametrize("line", ["{", '{"id": "q001"}', '{"id": "q001", "text": " "}', '["q001", "x"]'])
def test_a_broken_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": "q002", "text": "fine"}\n' + line + "\n", "utf-8")
    with pytest.raises(ConfigError, match="line 2"):
        read_handwritten(path)


def test_a_query_that_is_written_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": "q002", "text": "one"}\n{"id": "q002", "text": "two"}\n', "utf-8")
    with pytest.raises(ConfigError, match="q002 twice"):
        read_handwritten(path)
