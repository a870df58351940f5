"""The laws, over every scorer in the table."""

from importlib import import_module

import pytest

from assay.score import SCORERS
from assay.testing.contracts import check_stage
from assay.testing.sample import sample_snapshot
from assay.types import Range

SETTINGS = {"field_boost": {"where": 'lang = "en"', "factor": 3.0}}


def build_stage(name):
    module, _, cls = SCORERS[name].partition(":")
    return getattr(import_module(module), cls)(**SETTINGS.get(name, {}))


@pytest.mark.parametrize("name", sorted(SCORERS))
def test_unit_scores(name):
    check_stage(build_stage(name))


@pytest.mark.parametrize("name", sorted(name for name in SCORERS if "vector" not in build_stage(name).needs))
def test_without_vectors(name):
    check_stage(build_stage(name), snapshot=sample_snapshot(vectors=False))


@pytest.mark.parametrize("name", ["decay", "field_boost", "importance", "length"])
def test_raw_scores(name):
    check_stage(build_stage(name), within=Range("raw", 0.0, 40.0))
