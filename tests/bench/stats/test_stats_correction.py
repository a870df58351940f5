"""Adjusted p-values: hand-computed, against scipy, and the laws both corrections keep."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.stats import StatisticsError, benjamini_hochberg, holm


def test_holm_by_hand() -> None:
    """Sorted .005 .01 .03 .04 times 4 3 2 1 is .02 .03 .06 .04; .04 rises to .06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02], abs=1e-15)


def test_benjamini_hochberg_by_hand() -> None:
    """Sorted .005 .01 .03 .04 times 4/1 4/2 4/3 4/4 is .02 .02 .04 .04."""
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02], abs=1e-15)


def test_the_fifteen_p_values_of_the_paper() -> None:
    """Benjamini and Hochberg 1995, section 3.2: of fifteen, four stay at .05; Holm keeps three."""
    ps = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
    ps += [0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert (benjamini_hochberg(ps) <= 0.05).sum() == 4
    assert (holm(ps) <= 0.05).sum() == 3


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_nothing_one_thing_and_ones(adjust: Callable[[list[float]], np.ndarray]) -> None:
    assert adjust([]).tolist() == []
    assert adjust([0.03]).tolist() == [0.03]
    assert adjust([1.0, 1.0]).tolist() == [1.0, 1.0]
    assert adjust([0.0, 0.0]).tolist() == [0.0, 0.0]


chances = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=20)


@given(chances)
def test_laws(ps: list[float]) -> None:
    raw = np.array(ps)
    places = np.random.default_rng(len(ps)).permutation(len(ps))
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust(raw)
        assert ((adjusted >= raw) & (adjusted <= 1.0)).all()
        assert (np.diff(adjusted[np.argsort(raw, kind="stable")]) >= 0.0).all()
        assert adjust(raw[places]).tolist() == adjusted[places].tolist()
    assert (benjamini_hochberg(raw) <= holm(raw) + 1e-15).all()


@given(chances)
def test_benjamini_hochberg_agrees_with_scipy(ps: list[float]) -> None:
    stats = pytest.importorskip("scipy.stats")
    np.testing.assert_allclose(benjamini_hochberg(ps), stats.false_discovery_control(ps), rtol=0, atol=1e-12)


@pytest.mark.parametrize("bad", [[1.1], [-0.1], [np.nan], [[0.1]]])
def test_what_is_no_chance_is_refused(bad: object) -> None:
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(StatisticsError):
            adjust(bad)  # type: ignore[arg-type]
