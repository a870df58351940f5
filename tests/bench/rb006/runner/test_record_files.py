"""Records on disk survive interruptions, and are never mixed with those of another run."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.bench.rb006.runner.record_files import RecordError, RecordFile

INPUTS = {"system": "s", "index": "i", "dataset": "d"}


def make(folder: Path, **changed: str) -> RecordFile:
    return RecordFile(folder / "records" / "race.jsonl", {**INPUTS, **changed})


def test_records_come_back(tmp_path: Path) -> None:
    file = make(tmp_path)
    assert file.read() == {}
    file.append([{"query": "q1", "A": {"400": 1.0}}, {"query": "q2", "A": {"400": None}}])
    file.append([{"query": "q3", "A": {}}])
    assert list(file.read()) == ["q1", "q2", "q3"]
    assert file.read()["q2"] == {"query": "q2", "A": {"400": None}}


def test_a_torn_line_is_measured_again(tmp_path: Path) -> None:
    file = make(tmp_path)
    file.append([{"query": "q1"}, {"query": "q2"}])
    with file.path.open("a") as stream:
        stream.write('{"query": "q3", "A": {"40')
    assert list(file.read()) == ["q1", "q2"]
    file.append([{"query": "q3", "A": 1}])
    assert list(file.read()) == ["q1", "q2", "q3"]
    assert file.read()["q3"] == {"query": "q3", "A": 1}


def test_a_torn_first_line_starts_anew_and_keeps_the_file(tmp_path: Path) -> None:
    file = make(tmp_path)
    file.path.parent.mkdir()
    file.path.write_text('{"form')
    assert file.read() == {}
    file.append([{"query": "q1"}])
    assert list(file.read()) == ["q1"]


@pytest.mark.parametrize("changed", ["system", "index", "dataset"])
def test_records_of_something_else_are_put_aside(tmp_path: Path, changed: str) -> None:
    make(tmp_path).append([{"query": "q1"}])
    before = make(tmp_path).path.read_text()
    other = make(tmp_path, **{changed: "other"})
    assert other.read() == {}
    other.append([{"query": "q9"}])
    assert list(other.read()) == ["q9"]
    aside = other.path.with_name("race.old1.jsonl")
    assert aside.read_text() == before
    assert make(tmp_path).read() == {}
    assert other.path.with_name("race.old2.jsonl").exists()


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"other": 1}', "NaN{"])
def test_a_broken_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    file = make(tmp_path)
    file.append([{"query": "q1"}])
    with file.path.open("a") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(RecordError, match="line 3"):
        file.read()


def test_nan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        make(tmp_path).append([{"query": "q1", "A": float("nan")}])
