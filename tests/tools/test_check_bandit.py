"""Findings of bandit: each is triaged, and a triage without a finding is noticed."""

import tomllib

from tools.check_bandit import TRIAGED, find_untriaged


def finding(test: str, path: str) -> dict[str, object]:
    return {"test_id": test, "filename": path, "line_number": 3}


def test_what_nobody_judged_is_listed() -> None:
    triaged = {"B1": {"files": ["assay/store/*"]}, "B2": {"files": ["assay/*"]}}
    report = {"results": [finding("B1", "assay/store/a.py"), finding("B1", "assay/kb.py"), finding("B9", "assay/x.py")]}
    assert find_untriaged(report, triaged) == [
        "assay/kb.py:3: B1 is not triaged",
        "assay/x.py:3: B9 is not triaged",
        "B2 is triaged and no longer found",
    ]


def test_every_triage_has_a_reason() -> None:
    for entry in tomllib.loads(TRIAGED.read_text("utf-8")).values():
        assert entry["reason"]
        assert entry["files"]
