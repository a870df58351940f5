"""Config checks name the field, the value and the legal values."""

import math

import pytest

from assay.engine.checks import check_choice, check_number, check_whole, require_positive, require_unit
from assay.errors import ConfigError
from assay.types import Range


@pytest.mark.parametrize("value", [0.0, 1, 0.5, 1.0])
def test_numbers_in_range(value):
    check_number("x.y", value, 0.0, 1.0)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None, [0.5]])
def test_numbers_out_of_range(value):
    with pytest.raises(ConfigError, match=r"x\.y = .* is out of range\n  cure: give a number from 0 to 1"):
        check_number("x.y", value, 0.0, 1.0)
    with pytest.raises(ConfigError, match="a finite number from 2 upwards"):
        check_number("x.y", value, 2.0)


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None])
def test_whole_numbers(value):
    check_whole("x.y", 1, 1)
    with pytest.raises(ConfigError, match=r"x\.y = .*\n  cure: give a whole number from 1 upwards"):
        check_whole("x.y", value, 1)


def test_choices():
    check_choice("x.y", "skip", ("skip", "stop"))
    with pytest.raises(ConfigError, match=r"x\.y = 'stopp' .*\n  cure: did you mean 'stop'\? known: skip, stop"):
        check_choice("x.y", "stopp", ("skip", "stop"))


def test_scales():
    require_unit("x", Range("unit", 0.0, 1.0))
    require_positive("x", Range("raw", 0.0, math.inf))
    with pytest.raises(ConfigError, match="x needs unit scores, but is given raw scores from 0 to inf"):
        require_unit("x", Range("raw", 0.0, math.inf))
    for lowest in (-1.0, -math.inf, math.nan):
        with pytest.raises(ConfigError, match="x multiplies, but is given scores that may be negative"):
            require_positive("x", Range("raw", lowest, 1.0))
