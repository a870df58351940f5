"""Says what pip-audit found, and how many packages it could look up at all.

pip-audit -f json | python -m tools.check_pip_audit

pip-audit itself prints "No known vulnerabilities found" and succeeds when its service knew none of the packages, as
behind a mirror, and ends with a traceback when there is no network.
"""

from __future__ import annotations

import json
import sys
from typing import Any

NO_NETWORK = (
    "pip-audit: NOT AUDITED, the vulnerability service gave no answer; run it where https://pypi.org can be reached"
)


def describe(report: dict[str, Any]) -> tuple[list[str], bool]:
    """Lines for people, and whether every package was looked up and none has a known vulnerability."""
    packages = report["dependencies"]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    lines = [
        f"{one['name']} {one['version']}: {found['id']}, fixed in {', '.join(found['fix_versions']) or 'no release'}"
        for one in packages
        for found in one.get("vulns", ())
    ]
    known = len(lines)
    audited = len(packages) - len(skipped)
    if not audited:
        return [NO_NETWORK], False
    if skipped:
        lines.append(f"pip-audit: NOT AUDITED, unknown to the service: {', '.join(skipped)}")
    lines.append(f"pip-audit: {audited} of {len(packages)} packages looked up, {known} known vulnerabilities")
    return lines, not known and not skipped


def main() -> int:
    try:
        lines, passed = describe(json.load(sys.stdin))
    except (ValueError, KeyError):
        lines, passed = [NO_NETWORK], False
    print("\n".join(lines))
    return int(not passed)


if __name__ == "__main__":
    sys.exit(main())
