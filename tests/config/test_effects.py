"""What a pipeline reads is listed before it runs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assay.cli.main import cli
from assay.config.effects import find_reads
from assay.config.load import from_dict

LEG = {"legs": {"words": {"use": "bm25", "k": 5}}, "fuse": {"use": "rrf"}}


def pipeline_with(source: dict[str, str], **more: object) -> dict[str, object]:
    return {**LEG, "legs": {**LEG["legs"], "other": {"source": source, "k": 5}}, **more}


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ({"use": "store", "path": "/elsewhere/kb", "pipeline": "bm25"}, "/elsewhere/kb"),
        ({"use": "recorded", "path": "/etc/passwd"}, "/etc/passwd"),
        ({"use": "lance_table", "path": "/home/ada/memories.lance", "table": "t"}, "/home/ada/memories.lance"),
    ],
)
def test_the_files_of_a_source(source: dict[str, str], path: str) -> None:
    assert find_reads(from_dict(pipeline_with(source), "given")) == [("legs.other", path)]


def test_a_server_is_no_file() -> None:
    address = {"use": "store", "path": "postgres://ada@host/db", "pipeline": "bm25"}
    assert find_reads(from_dict(pipeline_with(address), "given")) == []


def test_the_folder_of_a_model() -> None:
    step = {"use": "cross_encoder", "path": "/models/mine"}
    assert find_reads(from_dict({**LEG, "step": [step]}, "given")) == [("step cross_encoder", "/models/mine")]


def test_the_command_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "given.toml"
    path.write_text(
        '[legs.words]\nuse = "bm25"\nk = 5\n'
        '[legs.other]\nsource = { use = "recorded", path = "/etc/passwd" }\nk = 5\n[fuse]\nuse = "rrf"\n'
    )
    shown = CliRunner().invoke(cli, ["pipeline", "check", str(path)])
    assert "legs.other reads /etc/passwd" in shown.output
    data = json.loads(CliRunner().invoke(cli, ["pipeline", "check", str(path), "--json"]).output)
    assert data["reads"] == [{"where": "legs.other", "path": "/etc/passwd"}]
