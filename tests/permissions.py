"""Permission for the programs, servers and variables that tests make themselves."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def allow_test_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow everything: the tests that use it start their own programs and servers."""
    monkeypatch.setenv("ASSAY_ALLOW", "program:*,variable:*,host:*")
