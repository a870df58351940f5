"""No model in these tests: they are about the way there and back."""

from tests.serve.conftest import no_model

__all__ = ["no_model"]
