"""Checks that every finding of bandit is triaged in bandit_findings.toml, and that nothing triaged is gone.

bandit -q -r assay -f json | python -m tools.check_bandit
"""

from __future__ import annotations

import json
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

TRIAGED = Path(__file__).with_name("bandit_findings.toml")


def find_untriaged(report: dict[str, Any], triaged: dict[str, Any]) -> list[str]:
    """One line for each finding that nobody judged, and for each judgement without a finding."""
    found = [(one["test_id"], one["filename"].removeprefix("./"), one["line_number"]) for one in report["results"]]
    lines = [
        f"{path}:{line}: {test} is not triaged"
        for test, path, line in found
        if not any(fnmatch(path, pattern) for pattern in triaged.get(test, {}).get("files", ()))
    ]
    tests = {test for test, _, _ in found}
    return [*lines, *(f"{test} is triaged and no longer found" for test in triaged if test not in tests)]


def main() -> int:
    report = json.load(sys.stdin)
    lines = find_untriaged(report, tomllib.loads(TRIAGED.read_text("utf-8")))
    for line in lines:
        print(line)
    print(f"bandit: {len(report['results'])} findings, {len(lines)} not triaged")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
