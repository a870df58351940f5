"""The suite of changing facts: its files follow from the templates, and every memory is one of its own."""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter

import pytest

from assay.bench.datasets import load
from benchmarks.changing_facts.generate import HERE, SPLITS, TARGET, build, render

HELD_OUT = "595b0471523b8dee925cc6df0c837eb3099275d4bd84f629691789fd263f74bc"
"""The held-out templates as their author wrote them."""


def test_the_held_out_templates_are_the_ones_that_were_frozen() -> None:
    assert hashlib.sha256((HERE / "held_out_4.toml").read_bytes()).hexdigest() == HELD_OUT


def test_the_shipped_files_are_those_of_the_generator() -> None:
    for name, content in render(build()).items():
        assert (TARGET / name).read_text("utf-8") == content, name


@pytest.mark.parametrize("field", ["state", "change", "ask"])
def test_the_two_halves_share_no_template(field: str) -> None:
    halves = []
    for names in SPLITS.values():
        sources = [tomllib.loads((HERE / f"{name}.toml").read_text("utf-8")) for name in names]
        halves.append({text for source in sources for attribute in source["attribute"] for text in attribute[field]})
    assert not halves[0] & halves[1]


def test_it_is_a_dataset_of_the_lab_with_enough_cases() -> None:
    for split in SPLITS:
        topics = load("changing_facts", split).topics.values()
        kinds = Counter(topic.meta["type"] for topic in topics)
        assert sum(kinds.values()) >= 150
        assert kinds["present"] >= 75
        assert set(kinds) == {"present", "past", "previous", "as_of", "apart"}


def test_no_memory_is_newer_than_the_questions_about_the_present() -> None:
    suite = build()
    asked = max(question["at"] for question in suite.questions)
    assert max(memory["metadata"]["created"] for memory in suite.documents) < asked
