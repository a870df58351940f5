"""The laws, over every selector in the table."""

from importlib import import_module

import pytest

from assay.select import SELECTORS
from assay.testing.contracts import check_selector
from assay.types import Range

SETTINGS = {"where": {"where": 'lang = "en"'}, "top_k": {"k": 3}, "budget": {"tokens": 20}}


def build_selector(name):
    module, _, cls = SELECTORS[name].partition(":")
    return getattr(import_module(module), cls)(**SETTINGS.get(name, {}))


@pytest.mark.parametrize("name", sorted(SELECTORS))
def test_unit_scores(name):
    check_selector(build_selector(name))


@pytest.mark.parametrize("name", sorted(set(SELECTORS) - {"min_score", "mmr"}))
def test_raw_scores(name):
    check_selector(build_selector(name), within=Range("raw", -1.0, 40.0))
