"""The packer of a pipeline in TOML: read, written, part of the digest, and given a budget."""

from __future__ import annotations

import pytest

from assay.cli.toml import resolved_toml
from assay.config.load import from_dict, load, loads, to_config
from assay.config.resolve import resolve
from assay.errors import ConfigError
from assay.select.context.coverage import Coverage
from assay.select.context.naive import Naive

LEG = "k = 5\n[legs.bm25]\nk = 5\n"
BUDGET_STEP = "80b740f7d9b9ca26"
"""The digest of a pipeline with the step `budget` of 300 tokens, older than packers."""


def test_the_budget_step_keeps_its_digest() -> None:
    assert loads(f'{LEG}[[step]]\nuse = "budget"\ntokens = 300\n').digest.startswith(BUDGET_STEP)


def test_a_packer_is_read_written_and_digested() -> None:
    pipeline = loads(f'{LEG}[context]\nuse = "coverage"\ntokens = 300\nhops = 0\n')
    assert pipeline.packer == Coverage(tokens=300, hops=0.0)
    assert from_dict(to_config(pipeline)).digest == pipeline.digest != loads(LEG).digest
    assert loads(resolved_toml(pipeline)).digest == pipeline.digest
    assert loads(LEG).packer is None
    assert loads(f'{LEG}[context]\nuse = "adagres"\n').needs("vector")
    assert not pipeline.needs("vector")


def test_a_budget_goes_to_the_packer_of_the_pipeline_or_to_coverage() -> None:
    assert resolve("default", 300).packer == Coverage(tokens=300)
    naive = loads(f'{LEG}[context]\nuse = "naive"\npool = 7\n')
    assert resolve(naive, 300).packer == Naive(tokens=300, pool=7)
    assert resolve(naive) is naive
    assert resolve("default", 300).digest not in (load("default").digest, resolve("default", 301).digest)
    assert resolve("default", 300).steps == load("default").steps


@pytest.mark.parametrize("budget", [0, -400, 1.5])
def test_a_bad_budget(budget: int) -> None:
    with pytest.raises(ConfigError, match="budget = ") as caught:
        resolve("default", budget)
    assert "whole number from 1" in caught.value.cure


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[context]\ntokens = 3\n", "does not say what it uses"),
        ('[context]\nuse = "covrage"\n', "there is no packer called 'covrage'"),
        ('[context]\nuse = "naive"\ntoken = 3\n', "no setting 'token'"),
        ('[context]\nuse = "naive"\ntokens = 0\n', "naive.tokens = 0"),
        ('[[context]]\nuse = "naive"\n', "context must be a table"),
        ('[legs.second.legs.bm25]\nk = 3\n[legs.second.context]\nuse = "naive"\n', "context"),
    ],
)
def test_what_cannot_be_read(table: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace(".", r"\.")) as caught:
        loads(LEG + table)
    assert caught.value.cure
