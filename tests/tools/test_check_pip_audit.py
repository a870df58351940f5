"""What pip-audit looked up is told apart from what it knows nothing about."""

import io
import sys

import pytest

from tools.check_pip_audit import NO_NETWORK, describe, main

SOUND = {"name": "numpy", "version": "2.4", "vulns": []}
UNKNOWN = {"name": "faiss-cpu", "skip_reason": "Dependency not found on PyPI"}
BAD = {"name": "yaml", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}


@pytest.mark.parametrize(
    ("packages", "lines", "passed"),
    [
        ([SOUND], ["pip-audit: 1 of 1 packages looked up, 0 known vulnerabilities"], True),
        ([UNKNOWN], [NO_NETWORK], False),
        ([], [NO_NETWORK], False),
        (
            [SOUND, UNKNOWN],
            [
                "pip-audit: NOT AUDITED, unknown to the service: faiss-cpu",
                "pip-audit: 1 of 2 packages looked up, 0 known vulnerabilities",
            ],
            False,
        ),
        (
            [SOUND, BAD],
            ["yaml 1.0: PYSEC-1, fixed in 1.1", "pip-audit: 2 of 2 packages looked up, 1 known vulnerabilities"],
            False,
        ),
    ],
)
def test_what_was_looked_up(packages: list[dict], lines: list[str], passed: bool) -> None:
    assert describe({"dependencies": packages}) == (lines, passed)


@pytest.mark.parametrize("output", ["", "Traceback (most recent call last):", "{}"])
def test_no_answer_is_no_success(output: str, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(output))
    assert main() == 1
    assert capsys.readouterr().out.strip() == NO_NETWORK
