"""LATTICE against a loopback server: a model that reads, one that babbles, one that dies; answers are cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.bench.rb006.judge.chat_votes import JudgeFailed
from assay.bench.rb006.measure.suite_bench import SuiteBench
from assay.bench.rb006.runner.plan import RunSettings, list_stages
from assay.bench.rb006.subject import Subject, SuiteQuery
from assay.bench.rb006.systems import find_systems, list_not_run
from assay.bench.rb006.systems.catalogue import BenchmarkSystem
from assay.bench.rb006.systems.lattice import STEPS, read_grades
from assay.bench.types import Dataset, Evidence, Topic
from assay.bench.workspace import IndexSettings, Workspace, prepare
from assay.errors import ConfigError
from tests.bench.rb006.loopback_chat import Answer, LoopbackChat

FACT = "The signature of Anna Reis is needed in Berlin."
QUERY = SuiteQuery("q", "Who has to sign over there?")
"""Shares no word with the fact: only a model that reads finds it."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with prepare(make_dataset(), IndexSettings("none"), cache=tmp_path_factory.mktemp("lattice")) as opened:
        yield opened


def make_dataset() -> Dataset:
    records = [{"id": "d", "title": "", "text": FACT}]
    records += [
        {"id": f"n{n}", "title": "", "text": f"The canteen serves soup number {n} at noon."} for n in range(300)
    ]
    evidence = {"q": (Evidence("d", 0, len(FACT), FACT, 0),)}
    topics = {"q": Topic("q", QUERY.text, meta={"answers": ["Anna Reis"]})}
    return Dataset("facts", "all", "d", "synthetic", records, len(records), topics, {"q": {"d": 1}}, evidence)


@pytest.fixture
def bench(workspace: Workspace) -> SuiteBench:
    return SuiteBench(Subject("facts", make_dataset(), (QUERY,), {}), workspace)


def make(server: LoopbackChat) -> BenchmarkSystem:
    (system,) = find_systems([], lattice=f"http://127.0.0.1:{server.server.server_port}/v1#reader")
    return system


def read_well(prompt: str) -> str:
    """Grades what mentions a signature high, everything else low."""
    listing = [line for line in prompt.split("\n") if line.partition(". ")[0].isdigit()]
    return "\n".join(f"{line.partition('. ')[0]}: {95 if 'Anna' in line else 5}" for line in listing)


def test_a_model_that_reads_finds_what_words_do_not(bench: SuiteBench, serve: Callable[[Answer], LoopbackChat]) -> None:
    server = serve(read_well)
    record = bench.measure(make(server), QUERY)
    assert record["A"]["200"] == 1.0
    assert 2 <= len(server.prompts) <= STEPS
    assert all(QUERY.text in prompt for prompt in server.prompts)
    assert bench.measure(find_systems(["bm25"])[0], QUERY)["A"]["pool"] == 0.0


def test_answers_are_cached(bench: SuiteBench, serve: Callable[[Answer], LoopbackChat]) -> None:
    server = serve(read_well)
    first = bench.measure(make(server), QUERY)
    asked = len(server.prompts)
    again = SuiteBench(bench.subject, bench.workspace).measure(make(server), QUERY)
    assert again == first
    assert len(server.prompts) == asked


@pytest.mark.parametrize("said", ["I cannot help with that.", "1: 900\n77: 50\n0: 3\n-2: 4", ""])
def test_a_model_that_babbles_costs_its_ranking_alone(
    bench: SuiteBench, serve: Callable[[Answer], LoopbackChat], said: str
) -> None:
    record = bench.measure(make(serve(lambda _: said)), QUERY)
    assert "failed" not in record
    assert record["tokens"]["400"] <= 400


def test_a_server_that_dies_ends_the_run_and_leaves_no_record(
    bench: SuiteBench, serve: Callable[[Answer], LoopbackChat]
) -> None:
    with pytest.raises(JudgeFailed, match="language model of lattice"):
        bench.measure(make(serve(lambda _: 400)), QUERY)


def test_grades_are_read_by_number() -> None:
    assert read_grades("1: 90\n3 = 40", 3) == [0.9, 0.0, 0.4]
    assert read_grades("2: 250", 2) == [0.0, 1.0]
    assert read_grades("nothing", 2) == [0.0, 0.0]


def test_it_is_listed_as_not_run_without_an_endpoint() -> None:
    assert "lattice" in list_not_run(find_systems())
    with_model = find_systems(["race"], lattice="http://127.0.0.1:9/v1#m")
    assert [system.name for system in with_model] == ["race", "lattice"]
    assert list_not_run(with_model) == {}
    assert with_model[1].digest != find_systems([], lattice="http://127.0.0.1:9/v1#other")[0].digest
    with pytest.raises(ConfigError, match="an address and a name"):
        find_systems(["race"], lattice="http://127.0.0.1:9/v1")


def test_a_run_with_an_endpoint_asks_it_with_the_curves() -> None:
    stages = {stage.name: stage for stage in list_stages(RunSettings(lattice="http://127.0.0.1:9/v1#m"))}
    assert all("lattice" in part.systems for part in stages["curves"].parts)
