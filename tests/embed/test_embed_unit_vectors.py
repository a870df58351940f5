from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.embed.unit_vectors import compute_digest, normalise_rows
from assay.errors import ModelError


def test_unit_by_hand() -> None:
    assert normalise_rows(np.array([[3.0, 4.0], [0.0, -2.0]]), "x").tolist() == [
        [np.float32(0.6), np.float32(0.8)],
        [0.0, -1.0],
    ]


@settings(deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.floats(-1e300, 1e300)))
def test_rows_have_length_one_or_are_refused(rows: np.ndarray) -> None:
    if (np.abs(rows).max(1) == 0).any():
        with pytest.raises(ModelError):
            normalise_rows(rows, "x")
    else:
        found = normalise_rows(rows, "x")
        assert found.dtype == np.float32
        assert np.linalg.norm(found.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]])
def test_what_has_no_direction_is_refused(bad: list[float]) -> None:
    with pytest.raises(ModelError, match="acme"):
        normalise_rows(np.array([[1.0, 0.0], bad]), "acme")


def test_no_rows_are_no_trouble() -> None:
    assert normalise_rows(np.empty((0, 3)), "x").shape == (0, 3)


def test_the_digest_sees_every_fact_and_no_order() -> None:
    assert compute_digest({"a": 1, "b": "é"}) == compute_digest({"b": "é", "a": 1})
    assert compute_digest({"a": 1}) != compute_digest({"a": 2})
    assert len(compute_digest({"a": "\ud800"})) == 32
