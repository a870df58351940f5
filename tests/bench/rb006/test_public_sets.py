"""The flat baseline on public sets: a tiny set in their place, resumed from its receipts, shown beside the paper's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.bench.dataset_writer import write_folder
from assay.bench.rb006 import public_sets
from assay.bench.rb006.public_sets import METRICS, SYSTEMS, measure_public
from assay.bench.rb006.report.public_section import make_public_section
from assay.bench.rb006.runner.plan import RunSettings
from assay.cli.main import cli
from assay.embed.installed_models import find_model
from assay.errors import ConfigError

TEXTS = {"a": "lithium batteries in cold weather", "b": "the price of copper", "c": "batteries for bicycles"}


@pytest.fixture
def scifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_folder(
        tmp_path / "scifact",
        documents=[{"_id": name, "title": "", "text": text, "metadata": {}} for name, text in TEXTS.items()],
        queries=[{"_id": name, "text": "copper price", "metadata": {}} for name in ("p", "q")],
        splits={"train": [("p", "a", 1)], "test": [("q", "b", 1)]},
        evidence=[],
        meta={"name": "scifact", "label": "synthetic", "maker": "test", "source": "test"},
    )
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.skipif(find_model("minilm") is None, reason="no embedding model is installed")
def test_a_set_is_measured_once_and_shown_beside_published_values(scifact: Path) -> None:
    (line,) = measure_public(["scifact"], scifact / "out", rerank="late_interaction", cache=scifact / "cache")
    assert line["queries"] == 1
    assert set(line["systems"]) == set(SYSTEMS)
    assert all(line["systems"][name][metric] == 1.0 for name in ("bm25", "flat-strong") for metric in METRICS)
    tasks: list[str] = []
    again = measure_public(
        ["scifact"],
        scifact / "out",
        rerank="late_interaction",
        cache=scifact / "cache",
        progress=lambda task, *_: tasks.append(task),
    )
    assert again == [line]
    assert "flat-strong" not in tasks, "receipts of a finished set are read"
    section = make_public_section({"public": json.loads(json.dumps([line]))})
    assert section is not None
    assert section.table is not None
    assert ("scifact", "1", "published: bm25", ".665", "–") in [
        (a, b, c, d.lstrip("0"), e) for a, b, c, d, e in section.table.rows
    ]


def test_an_unknown_set_is_refused_before_anything_runs() -> None:
    with pytest.raises(ConfigError, match="no public set 'scifakt'"):
        RunSettings(public=("scifakt",))
    assert set(public_sets.PUBLISHED) == {"scifact", "nfcorpus"}
    assert make_public_section({"public": []}) is None


@pytest.mark.skipif(find_model("minilm") is None, reason="no embedding model is installed")
def test_the_command_writes_what_the_page_is_made_from(scifact: Path) -> None:
    out = scifact / "public"
    result = CliRunner().invoke(cli, ["bench", "rb006", "public", "scifact", "--out", str(out)])
    assert result.exit_code == 0, result.output
    written = json.loads((out / "public_sets.json").read_text("utf-8"))["measured"]
    assert written["rerank"] == "late_interaction"
    assert [line["set"] for line in written["sets"]] == ["scifact"]
    assert "flat-strong" in result.stdout
    assert "published: bm25" in result.stdout
    again = CliRunner().invoke(cli, ["bench", "rb006", "public", "scifakt"])
    assert again.exit_code == 2
    assert "did you mean 'scifact'" in again.output
