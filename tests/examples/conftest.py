"""What the examples need: the real model."""

from __future__ import annotations

import pytest

from assay.embed import default_spec


@pytest.fixture(scope="session")
def model() -> None:
    if default_spec() == "none":
        pytest.skip("the embedding model is not installed; cure: assay model install")
