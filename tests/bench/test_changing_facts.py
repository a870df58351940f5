"""The suite of changing facts: its files follow from the templates, and its two halves share nothing."""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from assay.bench.datasets import load
from benchmarks.changing_facts.generate import HERE, SPLITS, TARGET, build, render

HELD_OUT = "9fcce28f6a7d8b50e8df47fea27e98aa124dde5f45ed2a50fa2a7bd5e8ac4613"
"""The held-out templates as they were written, before there was any code that they measure."""


def test_the_held_out_templates_are_the_ones_that_were_frozen() -> None:
    assert hashlib.sha256((HERE / "held_out.toml").read_bytes()).hexdigest() == HELD_OUT


def test_the_shipped_files_are_those_of_the_generator() -> None:
    for name, content in render(build()).items():
        assert (TARGET / name).read_text("utf-8") == content, name


@pytest.mark.parametrize("field", ["values", "state", "change", "ask"])
def test_the_two_halves_share_no_template_and_no_value(field: str) -> None:
    halves = []
    for names in SPLITS.values():
        sources = [tomllib.loads(Path(HERE / f"{name}.toml").read_text("utf-8")) for name in names]
        halves.append({text for source in sources for attribute in source["attribute"] for text in attribute[field]})
    assert not halves[0] & halves[1]


def test_it_is_a_dataset_of_the_lab_with_enough_cases() -> None:
    suite = [load("changing_facts", split) for split in ("dev", "test")]
    kinds = Counter(topic.meta["type"] for dataset in suite for topic in dataset.topics.values())
    assert sum(kinds.values()) >= 150
    assert set(kinds) == {"present", "past", "previous", "as_of", "apart"}
    assert sum(topic.meta["type"] == "present" for topic in suite[1].topics.values()) >= 75
