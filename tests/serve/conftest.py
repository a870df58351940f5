"""No model in these tests: they are about the way in, and words are enough to see that the right memory comes back."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def no_model(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_HOME", str(tmp_path_factory.mktemp("home")))
        yield
