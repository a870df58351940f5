"""Old component names: they keep working, with a warning that names the present one."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.cli.main import cli
from assay.config.load import load, loads, to_config
from assay.config.registry import ALIASES, TABLES
from assay.errors import ConfigError, RenamedWarning
from assay.fuse.convex import Convex

CONFIG = '[legs.bm25]\n[legs.dense]\n[fuse]\nuse = "{fuser}"\nweights = {{ bm25 = 0.4 }}\n'


def test_an_alias_builds_the_same_pipeline() -> None:
    with pytest.warns(RenamedWarning, match='fuser "relative_score" is now called "convex"'):
        old = loads(CONFIG.format(fuser="relative_score"), "p")
    new = loads(CONFIG.format(fuser="convex"), "p")
    assert isinstance(old.fuser, Convex)
    assert old.digest == new.digest
    assert to_config(old)["fuse"]["use"] == "convex"


def test_present_names_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loads(CONFIG.format(fuser="convex"), "p")


def test_aliases_point_at_present_names_and_hide_none() -> None:
    for kind, aliases in ALIASES.items():
        assert set(aliases.values()) <= set(TABLES[kind])
        assert not set(aliases) & set(TABLES[kind])


def test_an_unknown_name_is_still_an_error() -> None:
    with pytest.raises(ConfigError, match="there is no fuser called 'relative_scores'"):
        loads(CONFIG.format(fuser="relative_scores"), "p")


def test_the_command_line_prints_the_warning_once(tmp_path: Path) -> None:
    file = tmp_path / "old.toml"
    file.write_text(CONFIG.format(fuser="relative_score"))
    for _ in range(2):  # every command line says it, however often it builds the pipeline
        result = CliRunner().invoke(cli, ["pipeline", "check", str(file)])
        assert result.exit_code == 0
        lines = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
        assert lines == [
            'warning: the fuser "relative_score" is now called "convex"; write use = "convex" in the configuration'
        ]
        assert "RenamedWarning" not in result.stderr
    with pytest.warns(RenamedWarning):
        load(str(file))
