"""No test here may reach a provider on the network: keys that happen to be set are out of sight."""

import pytest

from assay.rerank.providers import transport
from assay.rerank.providers.table import PROVIDERS
from tests.permissions import allow_test_servers

__all__ = ["allow_test_servers"]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for row in PROVIDERS.values():
        if row.key_env:
            monkeypatch.delenv(row.key_env, raising=False)


@pytest.fixture(autouse=True)
def _no_connections_left():
    yield
    transport.close_connections()
