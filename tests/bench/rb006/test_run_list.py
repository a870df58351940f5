"""The list of runs: oldest first, and only the first on a frozen suite is the verdict of record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assay.bench.rb006.run_list import DEV, LATER, PARTIAL, RECORD, list_runs
from assay.bench.receipt import Receipt, ReceiptError, write
from assay.cli.bench.rb006_run import runs


def save(path: Path, clock: str, *, templates: str = "frozen", base: str = "simulated", judged: int = 50_000) -> None:
    canonical: dict[str, Any] = {
        "settings": {"rerank": "late_interaction", "quick": False},
        "suite": {"templates": templates, "base": base, "digest": f"suite-{templates}"},
        "judged_at": judged,
        "declared": {"scale": 50_000},
        "scales": {"10000": {}, str(judged): {}},
        "verdicts": [{"name": "H1a", "outcome": "KILL"}],
        "serial": path.name,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write(Receipt("rb006", canonical, {"clock": clock, "note": f"note of {path.stem}"}), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "b.json", "2026-02-02T00:00:00+00:00")
    save(tmp_path / "a.json", "2026-02-03T00:00:00+00:00")
    save(tmp_path / "deep" / "real.json", "2026-02-04T00:00:00+00:00", base="real")
    save(tmp_path / "dev.json", "2026-01-01T00:00:00+00:00", templates="dev")
    save(tmp_path / "small.json", "2026-02-01T00:00:00+00:00", judged=10_000)
    write(Receipt("gate", {"x": 1}), tmp_path / "gate.json")
    (tmp_path / "notes.json").write_text("[1, 2]")
    return tmp_path


def test_the_first_complete_run_of_each_suite_is_the_verdict(folder: Path) -> None:
    found = [(run.path.name, run.standing) for run in list_runs([folder])]
    assert found == [
        ("dev.json", DEV),
        ("small.json", PARTIAL),
        ("b.json", RECORD),
        ("a.json", LATER),
        ("real.json", RECORD),
    ]


def test_a_receipt_is_listed_once(folder: Path) -> None:
    assert len(list_runs([folder, folder / "a.json", folder / "deep"])) == 5


def test_a_named_file_must_be_a_run(folder: Path) -> None:
    with pytest.raises(ReceiptError, match="kind 'gate'"):
        list_runs([folder / "gate.json"])
    with pytest.raises(ReceiptError):
        list_runs([folder / "notes.json"])


def test_the_command_says_when_what_and_why(folder: Path) -> None:
    said = CliRunner().invoke(runs, [str(folder)])
    assert said.exit_code == 0
    assert (
        "2026-02-02T00:00  frozen, simulated, 10,000, 50,000 chunks, late_interaction: verdict of record" in said.output
    )
    assert "note of real" in said.output
    data = json.loads(CliRunner().invoke(runs, [str(folder), "--json"]).output)
    assert [one["standing"] for one in data].count(RECORD) == 2


def test_a_receipt_that_cannot_be_trusted_is_not_passed_over_in_silence(folder: Path) -> None:
    text = (folder / "a.json").read_text("utf-8")
    (folder / "edited.json").write_text(text.replace("KILL", "GO"), "utf-8")
    (folder / "torn.json").write_text(text[:-40], "utf-8")
    said: list[str] = []
    assert len(list_runs([folder], lambda error: said.append(str(error)))) == 5
    assert [Path(message.split(" ")[0]).name for message in said] == ["edited.json", "torn.json"]
    assert "was changed after it was written" in said[0]
    result = CliRunner().invoke(runs, [str(folder)])
    assert result.exit_code == 0
    assert "edited.json was changed after it was written" in result.stderr
    assert "notes.json" not in result.stderr
